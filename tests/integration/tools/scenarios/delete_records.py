"""kafka-delete-records: the start of a partition moves, and what the broker or the file has against it."""

from tests.integration.tools.scenario import Scenario, new_topic, step

_BROKER = "--bootstrap-server {bootstrap}"
_DELETE = f"kafka-delete-records {_BROKER} --offset-json-file"
_EARLIEST = f"kafka-get-offsets {_BROKER} --topic {{topic}} --time earliest"
_HEAD = "Executing records delete operation\nRecords delete operation completed:\n"
_QUIET = "nothing of this is compared"


def _file(offset: int, more: str = "") -> str:
    entry = f'{{"topic": "{{topic}}", "partition": 0, "offset": {offset}}}'
    return f'{{"partitions": [{entry}{more}], "version": 1}}'


SCENARIOS = [
    Scenario(
        "the start of a partition moves forward only",
        (
            *new_topic(),
            step(f"kafka-console-producer {_BROKER} --topic {{topic}}", stdin="a\nb\nc\n", lines_with=_QUIET),
            step(f"kafka-get-offsets {_BROKER} --topic {{topic}}", until=":0:3"),
            step(
                f"{_DELETE} {{file:two.json}}",
                expected=f"{_HEAD}partition: {{topic}}-0\tlow_watermark: 2\n",
                code=0,
            ),
            step(_EARLIEST, expected="{topic}:0:2\n"),
            step(
                f"{_DELETE} {{file:one.json}}",
                expected=f"{_HEAD}partition: {{topic}}-0\tlow_watermark: 2\n",
                code=0,
            ),
            step(
                f"{_DELETE} {{file:high.json}}",
                expected=(
                    f"{_HEAD}partition: {{topic}}-0\terror: "
                    "org.apache.kafka.common.errors.OffsetOutOfRangeException: "
                    "The requested offset is not within the range of offsets maintained by the server.\n"
                ),
                code=0,
            ),
            step(
                f"{_DELETE} {{file:all.json}}",
                expected=f"{_HEAD}partition: {{topic}}-0\tlow_watermark: 3\n",
                code=0,
            ),
            step(_EARLIEST, expected="{topic}:0:3\n"),
        ),
        files={
            "one.json": _file(1),
            "two.json": _file(2),
            "high.json": _file(99),
            "all.json": _file(-1),
        },
    ),
    Scenario(
        "records of a compacted topic stay",
        (
            *new_topic(options="--config cleanup.policy=compact"),
            step(
                f"{_DELETE} {{file:none.json}}",
                expected=(
                    f"{_HEAD}partition: {{topic}}-0\terror: "
                    "org.apache.kafka.common.errors.PolicyViolationException: "
                    "Request parameters do not satisfy the configured policy.\n"
                ),
                code=0,
            ),
        ),
        files={"none.json": _file(0)},
    ),
    Scenario(
        "files that are refused",
        (
            *(
                step(f"{_DELETE} {{file:{name}.json}}", expected="", code=1)
                for name in ("broken", "without", "version", "twice", "text", "number", "array", "absent")
            ),
            step(f"{_DELETE} {{file:nothing.json}}", expected=_HEAD, code=0),
        ),
        files={
            "broken.json": "{",
            "without.json": "{}",
            "version.json": '{"partitions": [], "version": 2}',
            "twice.json": _file(0, ', {"topic": "{topic}", "partition": 0, "offset": 1}'),
            "text.json": '{"partitions": [{"topic": 1, "partition": 0, "offset": 1}]}',
            "number.json": '{"partitions": [{"topic": "a", "partition": "0", "offset": 1}]}',
            "array.json": '{"partitions": {}}',
            "nothing.json": '{"partitions": []}',
        },
    ),
]
