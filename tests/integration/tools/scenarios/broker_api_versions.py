"""kafka-broker-api-versions: every line, of both brokers."""

from tests.integration.tools.scenario import Scenario, Way, step

_VERSIONS = "kafka-broker-api-versions --bootstrap-server {bootstrap}"

SCENARIOS = [
    Scenario(
        "what Apache Kafka serves",
        (step(_VERSIONS, code=0),),
        without={
            Way.THEIRS_AT_BARNABAS: "another broker serves other versions",
            Way.OURS_AT_BARNABAS: "another broker serves other versions",
        },
    ),
    Scenario(
        "what our broker serves",
        (
            step(_VERSIONS, code=0),
            step(
                _VERSIONS,
                lines_with=r"^127|Fetch\(1\)|UpdateFeatures|^\)",
                expected=(
                    "{bootstrap} (id: 1 rack: null isFenced: false) -> (\n\tFetch(1): 4 to 18 [usable: 18],\n"
                    "\tUpdateFeatures(57): UNSUPPORTED,\n)\n"
                ),
            ),
        ),
        without={
            Way.THEIRS_AT_APACHE: "another broker serves other versions",
            Way.OURS_AT_APACHE: "another broker serves other versions",
        },
    ),
]
