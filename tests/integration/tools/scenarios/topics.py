"""kafka-topics: create, list, describe, add partitions, delete, and the errors on the way."""

from tests.integration.tools.scenario import Scenario, Way, step

_TOPICS = "kafka-topics --bootstrap-server {bootstrap}"

SCENARIOS = [
    Scenario(
        "a topic from its creation to its end",
        (
            step(
                f"{_TOPICS} --create --topic {{topic}} --partitions 2 --replication-factor 1",
                expected="Created topic {topic}.\n",
                code=0,
            ),
            step(f"{_TOPICS} --list", lines_with="{topic}", until="{topic}", expected="{topic}\n"),
            step(
                f"{_TOPICS} --describe --topic {{topic}}",
                until="Partition: 1\tLeader: 1",
                expected=(
                    "Topic: {topic}\tTopicId: {id}\tPartitionCount: 2\tReplicationFactor: 1\t"
                    "Configs: min.insync.replicas=1,file.delete.delay.ms=1000\n"
                    "\tTopic: {topic}\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
                    "\tTopic: {topic}\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
                ),
            ),
            step(f"{_TOPICS} --alter --topic {{topic}} --partitions 3", expected="", code=0),
            step(f"{_TOPICS} --describe --topic {{topic}}", until="Partition: 2\tLeader: 1"),
            step(f"{_TOPICS} --delete --topic {{topic}}", expected="", code=0),
            step(
                f"{_TOPICS} --describe --topic {{topic}}",
                until="does not exist",
                expected="Error while executing topic command : Topic '{topic}' does not exist as expected\n",
                code=1,
            ),
        ),
    ),
    Scenario(
        "settings of a new topic are described",
        (
            step(
                f"{_TOPICS} --create --topic {{topic}} "
                "--config cleanup.policy=compact --config retention.ms=60000",
            ),
            step(f"{_TOPICS} --describe --topic {{topic}}", until="Leader: 1"),
            step(f"{_TOPICS} --describe --topics-with-overrides --topic {{topic}}"),
        ),
    ),
    Scenario(
        "a topic that exists already is refused",
        (
            step(f"{_TOPICS} --create --topic {{topic}}"),
            step(f"{_TOPICS} --list", lines_with="{topic}", until="{topic}"),
            step(
                f"{_TOPICS} --create --topic {{topic}}",
                expected="Error while executing topic command : Topic '{topic}' already exists.\n",
                code=1,
            ),
            step(f"{_TOPICS} --create --topic {{topic}} --if-not-exists", expected="", code=0),
        ),
    ),
    Scenario(
        "a topic that is missing is an error unless it may be",
        (
            step(
                f"{_TOPICS} --delete --topic {{topic}}",
                expected="Error while executing topic command : Topic '{topic}' does not exist as expected\n",
                code=1,
            ),
            step(f"{_TOPICS} --delete --topic {{topic}} --if-exists", expected="", code=0),
            step(f"{_TOPICS} --describe --topic {{topic}} --if-exists", expected="", code=0),
            step(f"{_TOPICS} --alter --topic {{topic}} --partitions 2", code=1),
            step(f"{_TOPICS} --alter --topic {{topic}} --partitions 2 --if-exists", expected="", code=0),
        ),
    ),
    Scenario(
        "what the broker refuses",
        (
            step(f"{_TOPICS} --create --topic {{topic}} --partitions 2"),
            step(f"{_TOPICS} --describe --topic {{topic}}", until="Partition: 1\tLeader: 1"),
            step(f"{_TOPICS} --alter --topic {{topic}} --partitions 1", code=1),
            step(f"{_TOPICS} --alter --topic {{topic}} --partitions 2", code=1),
            step(f"{_TOPICS} --create --topic {{topic2}} --replication-factor 3", code=1),
            step(f"{_TOPICS} --create --topic {{topic2}} --partitions 0", code=1),
            step(f"{_TOPICS} --create --topic 'not/legal'", code=1),
            step(f"{_TOPICS} --create --topic {{topic2}} --config no.such.setting=1", code=1),
        ),
    ),
    Scenario(
        "several topics at once, by an expression and by a list",
        (
            step(f"{_TOPICS} --create --topic {{topic}} --partitions 1", code=0),
            step(f"{_TOPICS} --create --topic {{topic2}} --partitions 2", code=0),
            step(
                f"{_TOPICS} --list --topic '{{topic}},{{topic2}}'",
                until="topic2",
                expected="{topic}\n{topic2}\n",
            ),
            step(f"{_TOPICS} --list --topic ' {{topic}} , no-such-topic'", expected="{topic}\n", code=0),
            step(f"{_TOPICS} --list --topic '{{topic2}}.*'", expected="{topic2}\n"),
            step(f"{_TOPICS} --list --topic no-such-topic", expected="\n", code=0),
            step(
                f"{_TOPICS} --list --topic '['",
                expected="Error while executing topic command : [ is an invalid regex.\n",
                code=1,
            ),
            step(
                f"{_TOPICS} --describe --topic '{{topic}}|{{topic2}}'", until="Leader: 1", in_any_order=True
            ),
            step(
                f"{_TOPICS} --describe --topic '{{topic2}}' --partition-size-limit-per-response 1",
                until="Partition: 1\tLeader: 1",
                code=0,
            ),
            step(f"{_TOPICS} --alter --topic '{{topic}}|{{topic2}}' --partitions 3", expected="", code=0),
            step(f"{_TOPICS} --describe --topic '{{topic}}'", until="Partition: 2\tLeader: 1"),
            step(f"{_TOPICS} --delete --topic '{{topic}},{{topic2}}'", expected="", code=0),
            step(f"{_TOPICS} --list --topic '{{topic}},{{topic2}}'", until="^\n", expected="\n"),
        ),
    ),
    Scenario(
        "partitions by their health",
        (
            step(f"{_TOPICS} --create --topic {{topic}} --partitions 2", code=0),
            step(f"{_TOPICS} --describe --topic {{topic}}", until="Partition: 1\tLeader: 1"),
            *(
                step(f"{_TOPICS} --describe --topic {{topic}} --{report}", expected="", code=0)
                for report in (
                    "under-replicated-partitions",
                    "unavailable-partitions",
                    "under-min-isr-partitions",
                )
            ),
            step(
                f"{_TOPICS} --describe --topic {{topic}} --at-min-isr-partitions",
                expected=(
                    "\tTopic: {topic}\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
                    "\tTopic: {topic}\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
                ),
            ),
        ),
    ),
    Scenario(
        "replicas that are assigned by hand",
        (
            step(
                f"{_TOPICS} --create --topic {{topic}} --replica-assignment 1,1",
                expected="Created topic {topic}.\n",
            ),
            step(f"{_TOPICS} --describe --topic {{topic}}", until="Partition: 1\tLeader: 1"),
            step(
                f"{_TOPICS} --alter --topic {{topic}} --partitions 3 --replica-assignment 1,1,1",
                expected="",
                code=0,
            ),
            step(f"{_TOPICS} --describe --topic {{topic}}", until="Partition: 2\tLeader: 1"),
            step(f"{_TOPICS} --create --topic {{topic2}} --replica-assignment 1:1", code=1),
            step(f"{_TOPICS} --create --topic {{topic2}} --replica-assignment 1,1:2", code=1),
            step(f"{_TOPICS} --create --topic {{topic2}} --replica-assignment one", code=1),
            step(f"{_TOPICS} --create --topic {{topic2}} --replica-assignment 77", code=1),
        ),
    ),
    Scenario(
        "names that could collide are warned about",
        (
            step(
                f"{_TOPICS} --create --topic {{topic}}.a_b",
                expected=(
                    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore "
                    "('_') could collide. To avoid issues it is best to use either, but not both.\n"
                    "Created topic {topic}.a_b.\n"
                ),
                code=0,
            ),
            step(f"{_TOPICS} --list", lines_with="{topic}", until="{topic}"),
            step(f"{_TOPICS} --create --topic {{topic}}_a.b", code=1),
        ),
    ),
    Scenario(
        "a topic by its id",
        (
            step(f"{_TOPICS} --describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ", code=1),
            step(f"{_TOPICS} --describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ --if-exists", expected="", code=0),
            step(
                f"{_TOPICS} --describe --topic {{topic}} --topic-id AAAAAAAAAAAAAAAAAAAAAQ --if-exists",
                code=0,
            ),
        ),
    ),
    Scenario(
        "command lines that are refused",
        tuple(
            step(f"{_TOPICS} {words}", code=1, expected="")
            for words in (
                "--list --create --topic x",
                "--topic x",
                "--create",
                "--alter --topic x",
                "--alter --topic x --partitions 2 --config a=b",
                "--describe --config a=b",
                "--list --partitions 2",
                "--list --if-exists",
                "--create --topic x --replica-assignment 1 --partitions 1",
                "--describe --topics-with-overrides --unavailable-partitions",
                "--create --topic x --exclude-internal",
                "--describe --if-exists",
                "--list --no-such-option",
            )
        ),
    ),
    Scenario(
        "settings that are no settings",
        (
            step(f"{_TOPICS} --create --topic {{topic}} --config retention.ms", code=1),
            step(f"{_TOPICS} --create --topic {{topic}} --config a=b=c", code=1),
            step(
                f"{_TOPICS} --create --topic {{topic}} --config retention.ms=soon",
                code=1,
                deviates={
                    Way.OURS_AT_BARNABAS: "Kafka's tool checks the value itself, ours leaves it to the broker"
                },
            ),
            step(f"{_TOPICS} --create --topic {{topic}} --replication-factor 0", code=1),
            step(f"{_TOPICS} --list --delete-config a", lines_with="{topic}", compare_stderr=True, code=0),
        ),
    ),
]
