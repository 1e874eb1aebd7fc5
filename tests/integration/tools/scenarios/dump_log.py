"""kafka-dump-log on the files that each broker writes; what Apache Kafka's tool prints is in tests/golden."""

from tests.integration.tools.scenario import PRODUCER_IDS, Scenario, new_topic, step

_LOG = "{log_dir}/{topic}-0/00000000000000000000.log"
_RULES = (
    PRODUCER_IDS,
    # Java's producer and librdkafka differ in what they number and in the bytes that they send.
    (r"((?:[sS]equence|producerEpoch): )-?\d+", r"\1{n}"),
    (r"crc: \d+", "crc: {n}"),
)

SCENARIOS = [
    Scenario(
        "the segment of a new topic",
        (
            *new_topic(),
            step(
                f"kafka-dump-log --files {_LOG}", expected=f"Dumping {_LOG}\nLog starting offset: 0\n", code=0
            ),
            step(
                "kafka-console-producer --bootstrap-server {bootstrap} --topic {topic} "
                "--reader-property parse.key=true --reader-property key.separator=:",
                stdin="k:first\n",
            ),
            step(f"kafka-dump-log --files {_LOG} --print-data-log", code=0),
            step(f"kafka-dump-log --files {_LOG} --deep-iteration", code=0),
            step(f"kafka-dump-log --files {_LOG} --print-data-log --skip-record-metadata", code=0),
        ),
        rules=_RULES,
    ),
    Scenario(
        "what cannot be dumped",
        (
            step("kafka-dump-log --files {file:unknown},{file:also.unknown}", compare_stderr=True, code=0),
            step("kafka-dump-log --files {file:00000000000000000000.log}", code=1),
            step("kafka-dump-log --files {file:00000000000000000009.index}", code=1),
        ),
        files={"00000000000000000000.log": "\0" * 100, "also.unknown": ""},
    ),
]
