"""kafka-get-offsets: offsets by name and time, partitions by pattern, and errors."""

from tests.integration.tools.scenario import Scenario, new_topic, step

_OFFSETS = "kafka-get-offsets --bootstrap-server {bootstrap}"
_PRODUCE = "kafka-console-producer --bootstrap-server {bootstrap} --topic {topic}"
_QUIET = "nothing of this is compared"
_IN_ORDER = "".join(f"{{topic}}:{number}:0\n" for number in (0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9))

SCENARIOS = [
    Scenario(
        "positions in a partition",
        (
            *new_topic(),
            step(_PRODUCE, stdin="a\n", lines_with=_QUIET),
            step(f"{_OFFSETS} --topic {{topic}} --time max-timestamp", expected="{topic}:0:0\n"),
            step(_PRODUCE, stdin="b\nc\n", lines_with=_QUIET),
            step(f"{_OFFSETS} --topic {{topic}}", expected="{topic}:0:3\n", code=0),
            *(
                step(
                    f"{_OFFSETS} --topic {{topic}} --time {time}", expected=f"{{topic}}:0:{offset}\n", code=0
                )
                for time, offset in [("latest", 3), ("-1", 3), ("earliest", 0), ("-2", 0), ("0", 0)]
            ),
            *(
                step(f"{_OFFSETS} --topic {{topic}} --time {time}", expected=expected, code=0)
                for time, expected in [
                    ("earliest-local", "{topic}:0:0\n"),
                    ("-4", "{topic}:0:0\n"),
                    ("latest-tiered", ""),
                    ("earliest-pending-upload", ""),
                    ("99999999999999", ""),
                ]
            ),
            step(f"{_OFFSETS} --topic {{topic}} --time -7", expected="", code=0),
        ),
    ),
    Scenario(
        "patterns of topics and partitions",
        (
            *new_topic(12),
            step(f"{_OFFSETS} --topic {{topic}}", expected=_IN_ORDER),
            step(f"{_OFFSETS} --topic {{topic}}.*,absent --exclude-internal-topics", expected=_IN_ORDER),
            step(f"{_OFFSETS} --topic {{topic}} --partitions 2,10", expected="{topic}:10:0\n{topic}:2:0\n"),
            step(
                f"{_OFFSETS} --topic-partitions {{topic}}:0,{{topic}}:3-5,{{topic}}:11-",
                expected="{topic}:0:0\n{topic}:11:0\n{topic}:3:0\n{topic}:4:0\n",
            ),
            step(f"{_OFFSETS} --topic-partitions {{topic}}:-2", expected="{topic}:0:0\n{topic}:1:0\n"),
            step(f"{_OFFSETS} --topic-partitions :11", lines_with="{topic}", expected="{topic}:11:0\n"),
        ),
    ),
    Scenario(
        "what is refused",
        (
            step(
                f"{_OFFSETS} --topic {{topic}}",
                expected="",
                expected_stderr=(
                    "Error occurred: Could not match any topic-partitions with the specified filters\n"
                ),
                compare_stderr=True,
                code=1,
            ),
            step(
                f"{_OFFSETS} --topic {{topic}} --topic-partitions a:0",
                expected_stderr=(
                    "Error occurred: --topic-partitions cannot be used with --topic or --partitions\n"
                ),
                compare_stderr=True,
                code=1,
            ),
            step(f"{_OFFSETS} --time yesterday", compare_stderr=True, code=1),
            step(f"{_OFFSETS} --partitions 0,x", compare_stderr=True, code=1),
            step(f"{_OFFSETS} --topic-partitions a:b", expected="", code=1),
            step("kafka-get-offsets --topic a", expected="", code=1),
        ),
    ),
]
