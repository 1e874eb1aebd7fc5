"""kafka-configs: settings, quotas and SCRAM credentials, and what is wrong with a command line."""

from tests.integration.tools.scenario import Rule, Scenario, Step, Way, new_topic, step

_CONFIGS = "kafka-configs --bootstrap-server {bootstrap}"
_SYNONYMS: Rule = (r"synonyms=\{.*\}", "synonyms={...}")
# Kafka prints its arguments, then the reason with its class and a stack trace; we print both in one line.
_REASON: Rule = (
    (
        r"(Error while executing config command with args '.*')"
        r"(?:\njava\S+: (?:org\S+: )?|: )(.*)(?:\n\t.*|\nCaused.*)*"
    ),
    r"\1: \2",
)
_NO_QUOTAS = {
    Way.THEIRS_AT_BARNABAS: "our broker serves no quotas and credentials yet",
    Way.OURS_AT_BARNABAS: "our broker serves no quotas and credentials yet",
}


def _refused(words: str, message: str) -> Step:
    """What the tool finds out by itself."""
    return step(f"{_CONFIGS} {words}", expected="", expected_stderr=message + "\n", code=1)


_MECHANISMS: Rule = (r"(SCRAM-SHA-512=\S+), (SCRAM-SHA-256=\S+)", r"\2, \1")
"""Brokers return the mechanisms of a user in any order."""

SCENARIOS = [
    Scenario(
        "settings of a topic are set, described and deleted",
        (
            *new_topic(),
            step(
                f"{_CONFIGS} --alter --topic {{topic}} "
                "--add-config retention.ms=3600000,cleanup.policy=[compact,delete]",
                until="Completed",
                expected="Completed updating config for topic {topic}.\n",
                code=0,
            ),
            step(
                f"{_CONFIGS} --describe --topic {{topic}}",
                until="retention",
                expected=(
                    "Dynamic configs for topic {topic} are:\n"
                    "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:"
                    "cleanup.policy=compact,delete, DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
                    "  retention.ms=3600000 sensitive=false "
                    "synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=3600000}\n"
                ),
                code=0,
            ),
            step(
                f"{_CONFIGS} --entity-type topics --entity-name {{topic}} --alter "
                "--add-config-file {file:more} --delete-config cleanup.policy",
                code=0,
            ),
            step(f"{_CONFIGS} --describe --topic {{topic}}", until="segment.ms"),
            step(f"{_CONFIGS} --describe --topic {{topic}} --all", lines_with="(?:are:|retention|segment)"),
            step(f"{_CONFIGS} --alter --topic {{topic}} --delete-config retention.ms,segment.ms"),
            step(
                f"{_CONFIGS} --describe --topic {{topic}}",
                until="are:\n$",
                expected="Dynamic configs for topic {topic} are:\n",
            ),
            step(f"{_CONFIGS} --describe --entity-type topics", lines_with="{topic}"),
        ),
        files={"more": "segment.ms = 86400000\nretention.ms: 7200000\n"},
    ),
    Scenario(
        "a setting that the broker rejects",
        (
            *new_topic(),
            step(
                f"{_CONFIGS} --alter --topic {{topic}} --add-config retention.ms=1,no.such.setting=1",
                expected="",
                code=1,
                compare_stderr=True,
            ),
            step(f"{_CONFIGS} --alter --topic {{topic}} --add-config retention.ms=soon", code=1),
            step(f"{_CONFIGS} --alter --topic {{topic2}} --add-config retention.ms=1", code=1),
            step(f"{_CONFIGS} --alter --broker 1 --add-config log.cleaner.threads=none", code=1),
            step(f"{_CONFIGS} --alter --group {{group}} --add-config no.such.setting=1", compare_stderr=True),
        ),
        rules=(_REASON,),
    ),
    Scenario(
        "a topic that is not there",
        (
            step(
                f"{_CONFIGS} --describe --topic {{topic}}",
                expected="The topic '{topic}' doesn't exist and doesn't have dynamic config.\n",
                code=0,
            ),
            step(
                f"{_CONFIGS} --describe --topic not/legal",
                expected="",
                expected_stderr=(
                    "Topic name is invalid: 'not/legal' contains one or more characters other than "
                    "ASCII alphanumerics, '.', '_' and '-'\n"
                ),
                code=1,
                compare_stderr=True,
            ),
        ),
    ),
    Scenario(
        "settings of a broker and of all brokers",
        (
            step(
                f"{_CONFIGS} --alter --broker 1 --add-config log.cleaner.threads=2",
                expected="Completed updating config for broker 1.\n",
            ),
            step(
                f"{_CONFIGS} --alter --entity-type brokers --entity-default "
                "--add-config log.retention.ms=100000",
                expected="Completed updating default config for brokers in the cluster.\n",
            ),
            step(
                f"{_CONFIGS} --describe --entity-type brokers --entity-name 1",
                until="threads",
                expected=(
                    "Dynamic configs for broker 1 are:\n"
                    "  log.cleaner.threads=2 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:"
                    "log.cleaner.threads=2, DEFAULT_CONFIG:log.cleaner.threads=1}\n"
                ),
            ),
            step(
                f"{_CONFIGS} --describe --broker-defaults",
                until="retention",
                lines_with="(?:are:|retention)",
                expected=(
                    "Default configs for brokers in the cluster are:\n"
                    "  log.retention.ms=100000 sensitive=false "
                    "synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=100000}\n"
                ),
            ),
            step(f"{_CONFIGS} --describe --entity-type brokers", lines_with="(?:are:|threads|retention)"),
            step(f"{_CONFIGS} --describe --broker 1 --all", lines_with="(?:are:|threads=2|node.id)"),
            step(
                f"{_CONFIGS} --describe --broker 77",
                expected="The broker '77' doesn't exist and doesn't have dynamic config.\n",
            ),
            step(f"{_CONFIGS} --alter --broker 1 --delete-config log.cleaner.threads"),
            step(f"{_CONFIGS} --alter --broker-defaults --delete-config log.retention.ms"),
            step(f"{_CONFIGS} --describe --broker 1", until="are:\n$"),
            step(
                f"{_CONFIGS} --describe --broker-defaults",
                lines_with="(?:are:|retention)",
                until="are:\n$",
            ),
        ),
    ),
    Scenario(
        "levels of a broker's loggers",
        (
            step(f"{_CONFIGS} --describe --broker-logger 1", lines_with="(?:are:|root=)"),
            step(
                f"{_CONFIGS} --alter --broker-logger 1 --add-config no.such.logger=DEBUG",
                expected_stderr="Invalid broker logger(s): no.such.logger\n",
                compare_stderr=True,
                code=1,
            ),
        ),
        rules=((r"root=\w+", "root={level}"),),
    ),
    Scenario(
        "settings of a group",
        (
            step(f"{_CONFIGS} --alter --group {{group}} --add-config consumer.session.timeout.ms=50000"),
            step(
                f"{_CONFIGS} --describe --group {{group}}",
                until="session",
                expected=(
                    "Dynamic configs for group {group} are:\n"
                    "  consumer.session.timeout.ms=50000 sensitive=false synonyms={...}\n"
                ),
            ),
            step(f"{_CONFIGS} --alter --group {{group}} --delete-config consumer.session.timeout.ms"),
        ),
        rules=(_SYNONYMS,),
    ),
    Scenario(
        "settings of client metrics",
        (
            step(f"{_CONFIGS} --describe --client-metrics {{group}}"),
            step(
                f"{_CONFIGS} --alter --client-metrics {{group}} --add-config interval.ms=1000,metrics=[a,b]"
            ),
            step(f"{_CONFIGS} --describe --client-metrics {{group}}", until="interval"),
            step(f"{_CONFIGS} --describe --entity-type client-metrics"),
            step(f"{_CONFIGS} --alter --client-metrics {{group}} --delete-config interval.ms,metrics"),
            step(f"{_CONFIGS} --describe --client-metrics {{group}}", until="(?:exist|are:\n$)"),
        ),
        without={
            Way.THEIRS_AT_BARNABAS: "our broker has no client metrics",
            Way.OURS_AT_BARNABAS: "our broker has no client metrics",
        },
    ),
    Scenario(
        "quotas of users, clients and addresses",
        (
            step(
                f"{_CONFIGS} --alter --user {{topic}} "
                "--add-config producer_byte_rate=1024,consumer_byte_rate=2e7"
            ),
            step(f"{_CONFIGS} --describe --user {{topic}}", until="producer"),
            step(f"{_CONFIGS} --alter --user {{topic}} --client app --add-config request_percentage=0.5"),
            step(f"{_CONFIGS} --describe --user {{topic}} --client app", until="request"),
            step(
                f"{_CONFIGS} --alter --entity-type users --entity-default --entity-type clients "
                "--entity-name {group} --add-config controller_mutation_rate=5"
            ),
            step(
                f"{_CONFIGS} --describe --entity-type users --entity-default --entity-type clients "
                "--entity-name {group}",
                until="mutation",
            ),
            step(f"{_CONFIGS} --describe --entity-type users --entity-type clients", lines_with="{group}"),
            step(f"{_CONFIGS} --alter --client-defaults --add-config consumer_byte_rate=10000000"),
            step(f"{_CONFIGS} --describe --client-defaults", until="1.0E7"),
            step(f"{_CONFIGS} --alter --client-defaults --delete-config consumer_byte_rate"),
            step(
                f"{_CONFIGS} --alter --client-defaults --delete-config producer_byte_rate",
                compare_stderr=True,
            ),
            step(f"{_CONFIGS} --alter --ip 127.0.0.9 --add-config connection_creation_rate=10"),
            step(f"{_CONFIGS} --describe --entity-type ips", until="127.0.0.9"),
            step(f"{_CONFIGS} --alter --ip 127.0.0.9 --delete-config connection_creation_rate"),
            step(f"{_CONFIGS} --alter --client app --add-config foo=1,bar=2", compare_stderr=True, code=1),
            step(f"{_CONFIGS} --alter --client app --delete-config foo,bar", compare_stderr=True, code=1),
            step(f"{_CONFIGS} --alter --user app --add-config foo=1", compare_stderr=True, code=1),
            step(f"{_CONFIGS} --alter --ip 127.0.0.9 --add-config foo=1", compare_stderr=True, code=1),
            step(f"{_CONFIGS} --alter --client app --add-config producer_byte_rate=x", compare_stderr=True),
        ),
        without=_NO_QUOTAS,
    ),
    Scenario(
        "SCRAM credentials of users",
        (
            step(
                f"{_CONFIGS} --alter --user {{topic}} --add-config SCRAM-SHA-256=[iterations=8192,password=x]"
            ),
            step(f"{_CONFIGS} --alter --user {{topic}} --add-config SCRAM-SHA-512=[password=x]"),
            step(f"{_CONFIGS} --describe --user {{topic}}", until="512"),
            step(f"{_CONFIGS} --describe --entity-type users", lines_with="{topic}"),
            step(f"{_CONFIGS} --alter --user {{topic}} --delete-config SCRAM-SHA-256"),
            step(f"{_CONFIGS} --describe --user {{topic}}", until="are SCRAM-SHA-512=iterations=4096\n"),
            step(
                f"{_CONFIGS} --alter --user {{topic}} --delete-config SCRAM-SHA-256",
                compare_stderr=True,
                code=1,
            ),
            step(
                f"{_CONFIGS} --alter --user u --add-config SCRAM-SHA-256=[password=]",
                compare_stderr=True,
                code=1,
            ),
            step(f"{_CONFIGS} --alter --user u --add-config SCRAM-SHA-256=x", compare_stderr=True, code=1),
            step(
                f"{_CONFIGS} --alter --user u --add-config SCRAM-SHA-256=[iterations=1,password=x]",
                compare_stderr=True,
                code=1,
            ),
            step(
                f"{_CONFIGS} --alter --user-defaults --add-config SCRAM-SHA-256=[password=x]",
                compare_stderr=True,
            ),
            step(
                f"{_CONFIGS} --alter --user u --add-config SCRAM-SHA-256=[password=x],producer_byte_rate=1",
                compare_stderr=True,
                code=1,
            ),
        ),
        rules=(_REASON, _MECHANISMS),
        without=_NO_QUOTAS,
    ),
    Scenario(
        "what is wrong with a command line",
        (
            step(
                "kafka-configs --describe --topic a",
                expected_stderr="Either --bootstrap-server or --bootstrap-controller must be specified.\n",
                code=1,
            ),
            _refused("--describe", "At least one entity type must be specified"),
            _refused(
                "--describe --entity-type topicz",
                "Invalid entity type topicz, the entity type must be one of topics, clients, users, brokers, "
                "ips, client-metrics, groups, broker-loggers with a --bootstrap-server or "
                "--bootstrap-controller argument",
            ),
            _refused(
                "--describe --topic a --client b",
                "Only 'users' and 'clients' entity types may be specified together",
            ),
            _refused(
                "--describe --entity-type topics --topic a",
                "Duplicate entity type(s) specified: topics",
            ),
            _refused(
                "--describe --entity-type users --client a",
                "--entity-{type,name,default} should not be used in conjunction with specific entity flags",
            ),
            _refused(
                "--describe --broker one",
                "The entity name for brokers must be a valid integer broker id, but it is: one",
            ),
            _refused(
                "--describe --ip not.a.host.invalid",
                "The entity name for ips must be a valid IP or resolvable host, "
                "but it is: not.a.host.invalid",
            ),
            _refused(
                "--describe --entity-type topics --entity-default",
                "--entity-default must not be specified with --describe of topics",
            ),
            _refused(
                "--describe --entity-type broker-loggers",
                "An entity name must be specified with --describe of broker-loggers",
            ),
            _refused(
                "--alter --entity-type topics --add-config a=b",
                "An entity name must be specified with --alter of topics",
            ),
            _refused(
                "--alter --entity-type brokers --add-config a=b",
                "An entity-name or default entity must be specified with --alter of "
                "users, clients, brokers or ips",
            ),
            _refused(
                "--alter --topic a",
                "At least one of --add-config, --add-config-file, or --delete-config must be specified "
                "with --alter",
            ),
            _refused(
                "--alter --topic a --add-config a=b --add-config-file c",
                "Only one of --add-config or --add-config-file must be specified",
            ),
            _refused(
                "--bootstrap-controller a:2 --describe --topic a",
                "Only one of --bootstrap-server or --bootstrap-controller can be specified",
            ),
            _refused(
                "--alter --entity-type users --entity-type clients --entity-name a "
                "--add-config producer_byte_rate=1",
                "An entity name must be specified for every entity type",
            ),
            _refused(
                "--alter --topic a --add-config retention.ms",
                "requirement failed: Invalid entity config: all configs to be added must be in the format "
                '"key=val" or  "key=[val1,val2]" to group values which contain commas.',
            ),
            _refused(
                "--alter --topic a --add-config 'a b=1'",
                "Invalid character found for config key: a b",
            ),
        ),
    ),
]
