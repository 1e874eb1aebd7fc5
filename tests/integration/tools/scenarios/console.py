"""The console tools and the verifiable ones: what goes in comes out alike."""

from tests.integration.tools.scenario import Rule, Scenario, new_topic, step

_PRODUCER = "kafka-console-producer --bootstrap-server {bootstrap} --topic {topic}"
_CONSUMER = "kafka-console-consumer --bootstrap-server {bootstrap} --topic {topic} --from-beginning"
_RULES: tuple[Rule, ...] = (
    # Output of the Java client only: an advertisement, its log, stack traces, the whole help.
    (r"The consumer rebalance protocol \(KIP-848\) is production-ready!.*\n", ""),
    (r"\[\{time\}\] WARN \[(Producer|Consumer) [^\n]*\n", ""),
    (r"\n\tat [^\n]*", ""),
    (r"(?s)\n(Option +Description.*|Try '[^\n]*\n)", "\n"),
)
_JAVA = "org.apache.kafka.common.serialization"

SCENARIOS = [
    Scenario(
        "lines are records",
        (
            step(_PRODUCER, stdin="one\n\ntwo\r\nthree", expected="", code=0, compare_stderr=True),
            step(
                f"{_CONSUMER} --max-messages 4",
                expected="one\n\ntwo\nthree\n",
                expected_stderr="Processed a total of 4 messages\n",
                compare_stderr=True,
                code=0,
            ),
        ),
        rules=_RULES,
    ),
    Scenario(
        "keys, headers and nulls",
        (
            step(
                f"{_PRODUCER} --reader-property parse.key=true --reader-property parse.headers=true "
                "--reader-property null.marker=NULL",
                stdin="a:1,b:NULL\tk\tv\nNULL\tNULL\tNULL\nc:2\t\tempty key\n",
                code=0,
            ),
            step(
                f"{_CONSUMER} --max-messages 3 --formatter-property print.timestamp=true "
                "--formatter-property print.partition=true --formatter-property print.offset=true "
                "--formatter-property print.epoch=true --formatter-property print.headers=true "
                "--formatter-property print.key=true",
                expected=(
                    "CreateTime:{timestamp}\tPartition:0\tOffset:0\tEpoch:NOT_PRESENT\ta:1,b:null\tk\tv\n"
                    "CreateTime:{timestamp}\tPartition:0\tOffset:1\tEpoch:NOT_PRESENT\tNO_HEADERS\tnull\tnull\n"
                    "CreateTime:{timestamp}\tPartition:0\tOffset:2\tEpoch:NOT_PRESENT\tc:2\t\tempty key\n"
                ),
            ),
            step(
                f"{_CONSUMER} --max-messages 2 --formatter-property print.key=true "
                "--formatter-property key.separator=: --formatter-property null.literal=- "
                "--formatter-property line.separator=;",
                expected="k:v;-:-;",
            ),
        ),
    ),
    Scenario(
        "keys choose their partitions",
        (
            *new_topic(5),
            step(
                f"{_PRODUCER} --reader-property parse.key=true --reader-property key.separator=:",
                stdin="".join(f"key{number}:{number}\n" for number in range(20)),
            ),
            step(
                f"{_CONSUMER} --max-messages 20 --formatter-property print.key=true "
                "--formatter-property print.partition=true",
                in_any_order=True,
            ),
        ),
    ),
    Scenario(
        "lines that cannot be parsed",
        (
            step(
                f"{_PRODUCER} --reader-property parse.key=true",
                stdin="k\tv\nbad\n",
                compare_stderr=True,
                expected_stderr=(
                    "org.apache.kafka.common.KafkaException: No key separator found on line number 2: 'bad'\n"
                ),
                code=1,
            ),
            step(
                f"{_PRODUCER} --reader-property parse.headers=true",
                stdin="pair\tv\n",
                compare_stderr=True,
                code=1,
            ),
            step(f"{_CONSUMER} --max-messages 1", expected="v\n"),
        ),
        rules=_RULES,
    ),
    Scenario(
        "a record that is too large",
        (
            step(
                _PRODUCER,
                stdin="x" * 1_100_000 + "\nsmall\n",
                compare_stderr=True,
                code=0,
            ),
            step(f"{_CONSUMER} --max-messages 1", expected="small\n"),
        ),
        rules=_RULES,
    ),
    Scenario(
        "a partition from an offset, and a silence",
        (
            step(_PRODUCER, stdin="a\nb\nc\n"),
            step(
                "kafka-console-consumer --bootstrap-server {bootstrap} --topic {topic} --partition 0 "
                "--offset 1 --timeout-ms 800",
                until="total of 2 messages",
                expected="b\nc\n",
                expected_stderr=(
                    "[{time}] ERROR Error processing message, terminating consumer process:  "
                    "(org.apache.kafka.tools.consumer.ConsoleConsumer)\n"
                    "org.apache.kafka.common.errors.TimeoutException\n"
                    "Processed a total of 2 messages\n"
                ),
                compare_stderr=True,
                code=0,
            ),
        ),
        rules=_RULES,
    ),
    Scenario(
        "a group commits what was printed",
        (
            step(_PRODUCER, stdin="a\nb\nc\n"),
            step(f"{_CONSUMER} --group {{group}} --max-messages 2", expected="a\nb\n"),
            step(f"{_CONSUMER} --group {{group}} --max-messages 1", expected="c\n"),
        ),
    ),
    Scenario(
        "deserializers",
        (
            step(_PRODUCER, stdin="12345678\n"),
            step(
                f"{_CONSUMER} --max-messages 1 --value-deserializer {_JAVA}.LongDeserializer",
                expected="3544952156018063160\n",
            ),
            step(
                f"{_CONSUMER} --max-messages 1 --value-deserializer {_JAVA}.DoubleDeserializer",
                expected="1.0300843656201408E-71\n",
            ),
            step(
                f"{_CONSUMER} --max-messages 1 --value-deserializer {_JAVA}.IntegerDeserializer",
                expected="",
                expected_stderr=(
                    "Processed a total of 1 messages\n"
                    "[{time}] ERROR Unknown error when running consumer:  "
                    "(org.apache.kafka.tools.consumer.ConsoleConsumer)\n"
                    "org.apache.kafka.common.errors.SerializationException: "
                    "Size of data received by IntegerDeserializer is not 4\n"
                ),
                compare_stderr=True,
                code=1,
            ),
            step(
                f"{_CONSUMER} --max-messages 1 --skip-message-on-error "
                f"--value-deserializer {_JAVA}.IntegerDeserializer",
                expected="",
                compare_stderr=True,
                code=0,
            ),
        ),
        rules=_RULES,
    ),
    Scenario(
        "options that do not go together",
        (
            step(
                "kafka-console-consumer --bootstrap-server {bootstrap} --topic {topic} --offset 1",
                compare_stderr=True,
                expected_stderr="The partition is required when offset is specified.\n",
                code=1,
            ),
            step(
                "kafka-console-consumer --bootstrap-server {bootstrap} --topic {topic} --from-beginning "
                "--command-property auto.offset.reset=latest",
                compare_stderr=True,
                code=1,
            ),
            step(
                "kafka-console-producer --topic {topic} --bootstrap-server nowhere",
                compare_stderr=True,
                code=1,
            ),
        ),
        rules=_RULES,
    ),
    Scenario(
        "old flags",
        (
            step(
                "kafka-console-producer.sh --bootstrap-server {bootstrap} --topic {topic} "
                "--property parse.key=true --producer-property client.id=me",
                stdin="k\tv\n",
                expected=(
                    "Warning: --producer-property is deprecated and will be removed in a future version. "
                    "Use --command-property instead.\n"
                    "Warning: --property is deprecated and will be removed in a future version. "
                    "Use --reader-property instead.\n"
                ),
            ),
            step(
                "kafka-console-consumer.sh --bootstrap-server {bootstrap} --topic {topic} --from-beginning "
                "--max-messages 1 --property print.key=true --consumer-property client.id=me",
                expected=(
                    "Option --consumer-property is deprecated and will be removed in a future version. "
                    "Use --command-property instead.\n"
                    "Option --property is deprecated and will be removed in a future version. "
                    "Use --formatter-property instead.\nk\tv\n"
                ),
            ),
        ),
    ),
    Scenario(
        "verifiable tools print their events",
        (
            step(
                "kafka-verifiable-producer --bootstrap-server {bootstrap} --topic {topic} --max-messages 3 "
                "--repeating-keys 2 --value-prefix 4",
            ),
            step(
                "kafka-verifiable-consumer --bootstrap-server {bootstrap} --topic {topic} --group-id {group} "
                "--max-messages 3 --verbose",
                lines_with="record_data|startup|shutdown|partitions_assigned",
            ),
        ),
        rules=((r'"avg_throughput":[\d.E]+', '"avg_throughput":{n}'),),
    ),
]
