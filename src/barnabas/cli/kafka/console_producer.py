"""kafka-console-producer: each line of standard input becomes a record.

Deviations from Kafka: a record that cannot be sent because its topic is missing or its name is bad ends the
tool with status 1 after 5 s (Kafka goes on with status 0, a minute for each record). Bytes that are not
UTF-8 are sent unchanged. Batches are as large as the input allows, unless --batch-size is set.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.kafka.options import Given, Options, UsageError
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.cli.messages.line_reader import LineFormat
    from barnabas.cli.messages.producing import Sender

_INVALID_TOPIC = 17
_LOGGER = "(org.apache.kafka.clients.producer.internals.ErrorLoggingCallback)"
_LINE_READERS = ("LineMessageReader", "ConsoleProducer$LineMessageReader")


class _Flag(NamedTuple):
    name: str
    property: str
    default: str | None
    """None: the client's own default."""


_FLAGS = (
    _Flag("timeout", "linger.ms", "1000"),
    _Flag("request-required-acks", "acks", "-1"),
    _Flag("request-timeout-ms", "request.timeout.ms", None),
    _Flag("message-send-max-retries", "retries", "3"),
    _Flag("retry-backoff-ms", "retry.backoff.ms", "100"),
    _Flag("socket-buffer-size", "send.buffer.bytes", "102400"),
    _Flag("max-memory-bytes", "buffer.memory", "33554432"),
    _Flag("batch-size", "batch.size", "1000000"),
    _Flag("max-partition-memory-bytes", "batch.size", None),
    _Flag("metadata-expiry-ms", "metadata.max.age.ms", "300000"),
    _Flag("max-block-ms", "max.block.ms", "60000"),
)


def _options() -> Options:
    options = Options("kafka-console-producer", "Sends each line of standard input as a record to a topic.")
    option = options.option
    option("topic", "REQUIRED: where to send to.", value="topic")
    option(
        "bootstrap-server",
        "REQUIRED: bootstrap brokers, HOST1:PORT1,HOST2:PORT2.",
        value="server to connect to",
        aliases=["broker-list"],
    )
    options.flag("sync", "Wait for each record to be written before the next is read.")
    option(
        "compression-codec",
        "none, gzip, snappy, lz4 or zstd; gzip if no name is given.",
        value="compression-codec",
        optional_value=True,
    )
    option("batch-size", "The most bytes of one batch.", value="size", kind=int)
    option("message-send-max-retries", "How often a record is sent again.", value="Integer", kind=int)
    option("retry-backoff-ms", "Wait before it is sent again.", value="Long", kind=int)
    option("timeout", "How long a record may wait for others (linger.ms).", value="timeout_ms", kind=int)
    option("request-required-acks", "0, 1 or all (-1, the default).", value="request required acks")
    option("request-timeout-ms", "Wait for the answer to a request.", value="request timeout ms", kind=int)
    option("metadata-expiry-ms", "How long metadata is believed.", value="metadata expiry", kind=int)
    option("max-block-ms", "How long a record may wait for its topic.", value="max block on send", kind=int)
    option("max-memory-bytes", "Memory for records that wait.", value="total memory in bytes", kind=int)
    option("max-partition-memory-bytes", "Deprecated: use --batch-size.", value="bytes", kind=int)
    option("line-reader", "Only Kafka's own LineMessageReader is known.", value="reader_class")
    option("socket-buffer-size", "The socket's buffer for sending.", value="size", kind=int)
    _add_properties(options)
    return options


def _add_properties(options: Options) -> None:
    option = options.option
    option(
        "reader-property",
        "How lines are read, key=value: parse.key, key.separator (tab), parse.headers, headers.delimiter "
        "(tab), headers.separator (,), headers.key.separator (:), null.marker, ignore.error.",
        value="prop",
        repeated=True,
    )
    option("property", "Deprecated: use --reader-property.", value="prop", repeated=True)
    option("reader-config", "A file of reader properties.", value="config file")
    option("command-property", "A property of the producer, key=value.", value="producer_prop", repeated=True)
    option("producer-property", "Deprecated: use --command-property.", value="producer_prop", repeated=True)
    option("command-config", "A file of producer properties.", value="config file")
    option("producer.config", "Deprecated: use --command-config.", value="config file")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options()
    return run_tool(options, lambda given: _produce(options, given), arguments)


def _produce(options: Options, given: Given) -> int:
    _check(options, given)
    from barnabas.cli.messages.interruption import Interrupted, raised
    from barnabas.cli.messages.librdkafka_clients import check_reachable
    from barnabas.cli.messages.line_reader import BadLine, LineFormat
    from barnabas.cli.messages.producing import Sender

    try:
        line_format = LineFormat.of(_reader_properties(given))
    except BadLine as error:
        raise ToolError(str(error)) from None
    properties = _producer_properties(given)
    check_reachable(properties)
    report = _Report(given.topic, is_final=given.sync)
    sender = Sender(properties, given.topic, report)
    try:
        with raised():
            _pump(sender, line_format, given, properties)
    except Interrupted as end:
        sender.flush()
        return end.code
    except BadLine as error:
        raise ToolError(str(error)) from None
    finally:
        sender.flush()
    return 0


def _pump(sender: "Sender", line_format: "LineFormat", given: Given, properties: Mapping[str, str]) -> None:
    from barnabas.cli.messages.line_reader import LineReader, lines

    reader = LineReader(line_format)
    sync: bool = given.sync
    prompts = sys.stdin.isatty() and sys.stdout.isatty()
    is_first = True
    _prompt(prompts)
    for found in lines(sys.stdin.buffer):
        if is_first:
            _wait_for_topic(properties, given)
            is_first = False
        if line_format.is_plain and not sync:
            sender.send_values(found)
        else:
            for line in found:
                sender.send(reader.record(line))
                if sync:
                    sender.flush()
        _prompt(prompts, len(found))


def _prompt(wanted: bool, times: int = 1) -> None:
    if wanted:
        sys.stdout.write(">" * times)
        sys.stdout.flush()


def _wait_for_topic(properties: Mapping[str, str], given: Given) -> None:
    from barnabas.cli.messages.topic_wait import MissingTopic, wait_for_topic
    from barnabas.cli.tool_errors import exception_text
    from barnabas.client.errors import BrokerError

    patience = int(properties["max.block.ms"]) if given.has("max-block-ms") else None
    try:
        wait_for_topic(properties, given.topic, patience_ms=patience)
    except MissingTopic as error:
        raise ToolError(f"org.apache.kafka.common.errors.TimeoutException: {error}") from None
    except BrokerError as error:
        if error.code == _INVALID_TOPIC:
            error = BrokerError(_INVALID_TOPIC, f"Invalid topics: [{given.topic}]")
        raise ToolError(exception_text(error)) from None


class _Report:
    """Logs a record that was not delivered, in the format of Kafka's log."""

    def __init__(self, topic: str, *, is_final: bool) -> None:
        self._topic: str = topic
        self._is_final: bool = is_final
        """Ends the tool at the first such record."""

    def __call__(self, key: bytes | None, value: bytes | None, reason: str) -> None:
        text = (
            f"Error when sending message to topic {self._topic} with key: {_length(key)}, "
            f"value: {_length(value)} with error:"
        )
        if self._is_final:
            raise ToolError(f"java.util.concurrent.ExecutionException: {reason}")
        from barnabas.cli.messages.librdkafka_clients import log_line

        log_line("ERROR", f"{text} {_LOGGER}")
        print(reason, file=sys.stderr)


def _length(field: bytes | None) -> str:
    return "null" if field is None else f"{len(field)} bytes"


# --- the command line -------------------------------------------------------------------------------------


def _check(options: Options, given: Given) -> None:
    options.require(given, "topic")
    for new, old in (
        ("command-config", "producer.config"),
        ("command-property", "producer-property"),
        ("reader-property", "property"),
    ):
        if given.has(new) and given.has(old):
            raise UsageError(f"Options --{new} and --{old} cannot be specified together.")
        if given.has(old):
            print(
                f"Warning: --{old} is deprecated and will be removed in a future version. "
                f"Use --{new} instead."
            )
    if given.has("max-partition-memory-bytes"):
        print(
            "Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. "
            "Use --batch-size instead."
        )
    if not given.bootstrap_server:
        raise UsageError("Error while validating the bootstrap address\n")
    from barnabas.client.address import parse_addresses
    from barnabas.client.errors import BadSettings

    try:
        parse_addresses(given.bootstrap_server)
    except BadSettings:
        raise UsageError("Please provide valid host:port like host1:9091,host2:9092\n") from None
    if given.line_reader and given.line_reader.rpartition(".")[2] not in _LINE_READERS:
        raise ToolError(f"java.lang.ClassNotFoundException: {given.line_reader}")


def _reader_properties(given: Given) -> dict[str, str]:
    from barnabas.cli.messages.client_properties import parse_pairs
    from barnabas.client.settings import read_properties

    found = read_properties(given.reader_config) if given.reader_config else {}
    return {**found, **parse_pairs(given.reader_property or given.property)}


def _producer_properties(given: Given) -> dict[str, str]:
    from barnabas.cli.messages.client_properties import parse_pairs
    from barnabas.client.settings import read_properties

    path = given.command_config or given.producer_config
    found = read_properties(path) if path else {}
    found.update(parse_pairs(given.command_property or given.producer_property))
    found["bootstrap.servers"] = given.bootstrap_server
    found["compression.type"] = (
        (given.compression_codec or "gzip") if given.has("compression-codec") else "none"
    )
    found.setdefault("client.id", "console-producer")
    for flag in _FLAGS:
        if given.has(flag.name):
            found[flag.property] = str(given.__getattr__(flag.name.replace("-", "_")))
        elif flag.default is not None:
            found.setdefault(flag.property, flag.default)
    return found
