"""kafka-leader-election on one broker, where every leader is the right one already."""

from tests.integration.tools.scenario import Scenario, new_topic, step

_ELECT = "kafka-leader-election --bootstrap-server {bootstrap}"

SCENARIOS = [
    Scenario(
        "leaders that are elected already",
        (
            *new_topic(2),
            step(
                f"{_ELECT} --election-type preferred --topic {{topic}} --partition 0",
                expected="Valid replica already elected for partitions {topic}-0\n",
                code=0,
            ),
            step(
                f"{_ELECT} --election-type UNCLEAN --path-to-json-file {{file:one.json}}",
                expected="Valid replica already elected for partitions {topic}-1\n",
                code=0,
            ),
            step(f"{_ELECT} --election-type preferred --all-topic-partitions", expected="", code=0),
            step(
                f"{_ELECT} --election-type preferred --topic {{topic2}} --partition 3",
                expected=(
                    "Error completing leader election (PREFERRED) for partition: {topic2}-3: org.apache."
                    "kafka.common.errors.UnknownTopicOrPartitionException: No such topic as {topic2}\n"
                ),
                code=1,
            ),
            step(f"{_ELECT} --election-type preferred --topic {{topic}} --partition 9", code=1),
        ),
        files={"one.json": '{"partitions":[{"topic":"{topic}","partition":1}]}'},
    ),
    Scenario(
        "command lines of the election tool that are wrong",
        (
            step(f"{_ELECT} --all-topic-partitions", code=1, expected=""),
            step(f"{_ELECT} --election-type preferred", code=1, expected=""),
            step(f"{_ELECT} --election-type preferred --topic a", code=1, expected=""),
            step(f"{_ELECT} --election-type frob --all-topic-partitions", code=1, expected=""),
            step(
                f"{_ELECT} --election-type preferred --path-to-json-file {{file:bad.json}}",
                code=1,
                expected="",
            ),
            step(
                f"{_ELECT} --election-type preferred --path-to-json-file {{file:twice.json}}",
                code=1,
                expected="",
            ),
        ),
        files={
            "bad.json": "{}",
            "twice.json": '{"partitions":[{"topic":"a","partition":1},{"topic":"a","partition":1}]}',
        },
    ),
]
