"""kafka-reassign-partitions on one broker: proposals, moves that have nothing to move, bad plans."""

import re

from tests.integration.tools.scenario import Scenario, new_topic, step

_REASSIGN = "kafka-reassign-partitions --bootstrap-server {bootstrap}"
_SAME_ASSIGNMENT = (
    '{"version":1,"partitions":[{"topic":"{topic}","partition":0,"replicas":[1],"log_dirs":["{log_dir}"]},'
    '{"topic":"{topic}","partition":1,"replicas":[1],"log_dirs":["{log_dir}"]}]}'
)
_TOPIC = (
    *new_topic(2),
    step(
        f"{_REASSIGN} --generate --topics-to-move-json-file {{file:topics.json}} --broker-list 1",
        until=re.escape(_SAME_ASSIGNMENT),
        expected=(
            f"Current partition replica assignment\n{_SAME_ASSIGNMENT}\n\n"
            "Proposed partition reassignment configuration\n"
            + _SAME_ASSIGNMENT.replace("{log_dir}", "any")
            + "\n"
        ),
        code=0,
    ),
)
_TOPIC_FILE = {"topics.json": '{"version":1,"topics":[{"topic":"{topic}"}]}'}

SCENARIOS = [
    Scenario(
        "a proposal for one broker changes nothing",
        (
            *_TOPIC,
            step(
                f"{_REASSIGN} --generate --topics-to-move-json-file {{file:topics.json}} --broker-list 1,1",
                lines_with="^Error",
                expected="Error: Broker list contains duplicate entries: [1]\n",
                code=1,
            ),
            step(
                f"{_REASSIGN} --generate --topics-to-move-json-file {{file:topics.json}} --broker-list 7",
                lines_with="^Error",
                code=1,
            ),
            step(
                f"{_REASSIGN} --generate --topics-to-move-json-file {{file:missing.json}} --broker-list 1",
                lines_with="^Error",
                expected=(
                    "Error: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
                    "Topic {topic2} not found.\n"
                ),
                code=1,
            ),
        ),
        files={**_TOPIC_FILE, "missing.json": '{"topics":[{"topic":"{topic2}"}]}'},
    ),
    Scenario(
        "a move to where everything is already",
        (
            *_TOPIC,
            step(f"{_REASSIGN} --execute --reassignment-json-file {{file:plan.json}}", code=0),
            step(f"{_REASSIGN} --list", expected="No partition reassignments found.\n", code=0),
            step(
                f"{_REASSIGN} --verify --reassignment-json-file {{file:plan.json}} --preserve-throttles",
                code=0,
            ),
            step(
                f"{_REASSIGN} --execute --additional --reassignment-json-file {{file:plan.json}} "
                "--throttle 10000 --replica-alter-log-dirs-throttle 20000 "
                "--disallow-replication-factor-change",
                code=0,
            ),
            step(
                "kafka-configs --bootstrap-server {bootstrap} --describe --entity-type topics "
                "--entity-name {topic}",
                lines_with="throttled",
                until="throttled",
            ),
            step(f"{_REASSIGN} --verify --reassignment-json-file {{file:plan.json}}", code=0),
            step(f"{_REASSIGN} --cancel --reassignment-json-file {{file:plan.json}}", code=0),
        ),
        files={**_TOPIC_FILE, "plan.json": _SAME_ASSIGNMENT},
    ),
    Scenario(
        "plans that cannot be executed",
        (
            *_TOPIC,
            *(
                step(
                    f"{_REASSIGN} --execute --reassignment-json-file {{file:{name}.json}}",
                    lines_with="^(Error|{topic})",
                    code=1,
                )
                for name in (
                    "empty",
                    "unknown_broker",
                    "unknown_topic",
                    "unknown_partition",
                    "twice",
                    "sizes",
                    "field",
                )
            ),
            step(
                f"{_REASSIGN} --execute --reassignment-json-file {{file:dir.json}}",
                lines_with="^Successfully",
                code=1,
            ),
            step(
                f"{_REASSIGN} --verify --preserve-throttles "
                "--reassignment-json-file {file:unknown_topic.json}",
                code=0,
            ),
        ),
        files={
            **_TOPIC_FILE,
            "empty.json": "{}",
            "unknown_broker.json": '{"partitions":[{"topic":"{topic}","partition":0,"replicas":[1,2]}]}',
            "unknown_topic.json": '{"partitions":[{"topic":"{topic2}","partition":0,"replicas":[1]}]}',
            "unknown_partition.json": '{"partitions":[{"topic":"{topic}","partition":7,"replicas":[1]}]}',
            "twice.json": '{"partitions":[{"topic":"{topic}","partition":0,"replicas":[1,1]}]}',
            "sizes.json": '{"partitions":[{"topic":"{topic}","partition":0,"replicas":[1],"log_dirs":[]}]}',
            "field.json": '{"partitions":[{"topic":"{topic}","replicas":[1]}]}',
            "dir.json": '{"partitions":[{"topic":"{topic}","partition":0,"replicas":[1],"log_dirs":["/"]}]}',
        },
    ),
    Scenario(
        "command lines of the reassignment tool that are wrong",
        (
            step(f"{_REASSIGN} --list --verify", code=1, expected=""),
            step("kafka-reassign-partitions --list", code=1, expected=""),
            step(f"{_REASSIGN} --execute", code=1, expected=""),
            step(f"{_REASSIGN} --list --throttle 5", code=1, expected=""),
            step(f"{_REASSIGN} --frob", code=1, expected=""),
        ),
    ),
]
