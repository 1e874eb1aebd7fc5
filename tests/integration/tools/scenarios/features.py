"""kafka-features: levels of a cluster, updates that are checked or refused, and the tables of 4.3."""

from tests.integration.tools.scenario import Rule, Scenario, Way, step

_FEATURES = "kafka-features --bootstrap-server {bootstrap}"
_EPOCH: Rule = (r"Epoch: \d+", "Epoch: {n}")
_WHO: Rule = (r"The (node|broker) does not support", "The node does not support")
_FIXED = {
    Way.THEIRS_AT_BARNABAS: "our broker's features are fixed",
    Way.OURS_AT_BARNABAS: "our broker's features are fixed",
}

SCENARIOS = [
    Scenario(
        "levels of a feature",
        (
            step(
                f"{_FEATURES} describe",
                lines_with="group.version",
                expected=(
                    f"Feature: {'group.version':<40}  SupportedMinVersion: {'0':<15}  "
                    f"SupportedMaxVersion: {'1':<15}  FinalizedVersionLevel: {'1':<15}  Epoch: {{n}}\n"
                ),
                code=0,
            ),
            step(f"{_FEATURES} describe --node-id 1", lines_with="group.version", code=0),
            step(
                f"{_FEATURES} describe --node-id -1",
                expected_stderr="Invalid node id -1: must be non-negative.\n",
                compare_stderr=True,
                code=1,
            ),
        ),
        rules=(_EPOCH,),
    ),
    Scenario(
        "all features of Apache Kafka",
        (
            step(f"{_FEATURES} describe", code=0),
            step(f"{_FEATURES} upgrade --feature no.such=2", compare_stderr=True, code=1),
            step(f"{_FEATURES} upgrade --feature metadata.version=29 --dry-run", compare_stderr=True, code=1),
            step(f"{_FEATURES} upgrade --metadata 4.3 --dry-run", code=0),
            step(f"{_FEATURES} upgrade --release-version 4.3 --dry-run", compare_stderr=True),
            step(
                f"{_FEATURES} downgrade --release-version 4.2 --dry-run --unsafe", compare_stderr=True, code=1
            ),
            step(
                f"{_FEATURES} disable --feature share.version --dry-run",
                expected="share.version can be disabled.\n",
                code=0,
            ),
        ),
        rules=(_EPOCH,),
        without=_FIXED,
    ),
    Scenario(
        "features that cannot be updated",
        (
            step(
                f"{_FEATURES} upgrade --feature group.version=1",
                expected="Could not upgrade group.version to 1. The node does not support UPDATE_FEATURES\n",
                expected_stderr="1 out of 1 operation(s) failed.\n",
                compare_stderr=True,
                code=1,
            ),
            step(
                f"{_FEATURES} disable --feature group.version --dry-run",
                expected="Can not disable group.version. The node does not support UPDATE_FEATURES\n",
                compare_stderr=True,
                code=1,
            ),
        ),
        rules=(_WHO,),
        without={
            Way.THEIRS_AT_APACHE: "Apache Kafka updates its features",
            Way.OURS_AT_APACHE: "Apache Kafka updates its features",
        },
    ),
    Scenario(
        "tables of releases and dependencies",
        (
            step(
                "kafka-features version-mapping",
                expected=(
                    "metadata.version=30 (4.3-IV0)\nkraft.version=1\ntransaction.version=2\n"
                    "group.version=1\neligible.leader.replicas.version=1\nshare.version=1\n"
                    "streams.version=1\n"
                ),
                code=0,
            ),
            *(
                step(f"kafka-features version-mapping --release-version {release}", code=0)
                for release in ("3.3-IV3", "3.9", "4.0-IV1", "4.0.1", "4.1", "4.2-IV0", "4.4-IV0")
            ),
            *(
                step(
                    f"kafka-features version-mapping --release-version {release}", compare_stderr=True, code=1
                )
                for release in ("2.8", "4.4", "x")
            ),
            step(
                "kafka-features feature-dependencies --feature metadata.version=21 "
                "--feature eligible.leader.replicas.version=1 --feature kraft.version=0",
                expected=(
                    "metadata.version=21 (3.9-IV0) has no dependencies.\n"
                    "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\n"
                    "kraft.version=0 has no dependencies.\n"
                ),
                code=0,
            ),
            *(
                step(f"kafka-features feature-dependencies --feature {text}", compare_stderr=True, code=1)
                for text in ("no.such=1", "group.version=9", "metadata.version=99", "group.version", "a=b")
            ),
        ),
    ),
    Scenario(
        "updates that are rejected without a request",
        (
            step(f"{_FEATURES} upgrade", compare_stderr=True, code=1),
            step(f"{_FEATURES} upgrade --release-version 4.2 --feature a=1", compare_stderr=True, code=1),
            step(f"{_FEATURES} downgrade --feature a=1 --feature a=2", compare_stderr=True, code=1),
            step(f"{_FEATURES} disable --feature a --feature a", compare_stderr=True, code=1),
            step("kafka-features describe", expected="", code=1),
            step(f"{_FEATURES} nothing", expected="", code=1),
        ),
    ),
]
