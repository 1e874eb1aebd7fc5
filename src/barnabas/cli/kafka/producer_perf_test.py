"""`kafka-producer-perf-test`: records a second, and the latency of their acknowledgement."""

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from barnabas.cli.kafka.options import Given, Options, UsageError, integer
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

_DEFAULT_TRANSACTION_MS = 3000
_RENAMED = {"producer-props": "command-property", "producer.config": "command-config"}
"""Old names to new ones. Unlike other tools this one prints the warning on stdout."""


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _run, arguments)


def _options() -> Options:
    options = Options("kafka-producer-perf-test", "Measure how fast records are sent and acknowledged.")
    options.option("bootstrap-server", "Bootstrap brokers.", value="host:port")
    options.option("topic", "REQUIRED: where the records go.", value="topic")
    options.option("num-records", "REQUIRED: how many records to send.", value="count", kind=int)
    options.option(
        "record-size", "Bytes of each record; random capital letters.", value="bytes", kind=integer
    )
    options.option("payload-file", "Send the parts of this UTF-8 file in random order.", value="file")
    options.option("payload-delimiter", "What separates the parts of the file.", default="\\n", value="text")
    options.flag("payload-monotonic", "Send the numbers from 0 on.")
    options.option(
        "throughput", "REQUIRED: records a second at most; -1 for no limit.", value="rate", kind=float
    )
    options.option("command-property", "Settings of the producer.", value="key=value ...", repeated=True)
    options.option(
        "producer-props", "The old name of --command-property.", value="key=value ...", repeated=True
    )
    options.option("command-config", "A file with settings of the producer.", value="file")
    options.option("producer.config", "The old name of --command-config.", value="file")
    options.flag("print-metrics", "Print the producer's own metrics at the end.")
    options.option("transactional-id", "Send in transactions under this id.", value="id")
    options.option("transaction-duration-ms", "Commit after so long (default: 3000).", value="ms", kind=int)
    options.option(
        "warmup-records", "Leave these out of the steady state.", value="count", kind=int, default=0
    )
    options.option("reporting-interval", "A line every so often.", value="ms", kind=int, default=5000)
    return options


def _run(given: Given) -> int:
    _check(given)
    from barnabas.cli.messages.librdkafka_clients import check_reachable, open_producer
    from barnabas.cli.perf.latencies import Total, total_line, window_line
    from barnabas.cli.perf.metrics import INTERVAL_MS, Statistics
    from barnabas.cli.perf.producing import ProducerTest, produce

    payloads = _payloads(given)
    properties = _properties(given)
    seconds = _transaction_seconds(given, properties)
    warmup = max(0, given.warmup_records)
    if warmup:
        print(
            f"Warmup first {warmup} records. Steady state results will print after the complete test summary."
        )

    def show(window: Total, is_first: bool) -> None:
        if warmup and is_first:
            print("In steady state.")
        print(window_line(window), flush=True)

    test = ProducerTest(
        given.topic,
        given.num_records,
        payloads,
        given.throughput,
        warmup,
        given.reporting_interval / 1000,
        seconds,
    )
    check_reachable(properties)
    statistics = Statistics()
    producer = open_producer(properties, **(statistics.settings() if given.print_metrics else {}))
    result = produce(test, producer, show)
    for total, is_steady_state in ((result.total, False), (result.steady, True)):
        if total is not None and total.records:
            print(total_line(total, is_steady_state=is_steady_state))
    if given.print_metrics:
        producer.poll(2 * INTERVAL_MS / 1000)
        print(statistics.table("producer"))
    return 1 if result.failed else 0


def _transaction_seconds(given: Given, properties: dict[str, str]) -> float | None:
    """The duration of a transaction. None without transactions. Sets `transactional.id`."""
    requested = given.has("transactional-id") or given.has("transaction-duration-ms")
    if not requested and "transactional.id" not in properties:
        return None
    fallback = properties.get("transactional.id", f"performance-producer-{uuid.uuid4()}")
    properties["transactional.id"] = given.transactional_id or fallback
    milliseconds: int = given.transaction_duration_ms or _DEFAULT_TRANSACTION_MS
    return milliseconds / 1000


def _check(given: Given) -> None:
    """The checks of Kafka's tool, in its order and with its text."""
    for name in ("topic", "num-records", "throughput"):
        if not given.has(name):
            raise UsageError(f"argument --{name} is required")
    payloads = [name for name in ("record-size", "payload-file", "payload-monotonic") if given.has(name)]
    if not payloads:
        raise UsageError("one of the arguments --record-size --payload-file --payload-monotonic is required")
    if len(payloads) > 1:
        raise UsageError(f"argument --{payloads[1]}: not allowed with argument --{payloads[0]}")
    _check_numbers(given)
    if not any(given.has(name) for name in ("bootstrap-server", *_RENAMED, *_RENAMED.values())):
        raise UsageError(
            "At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or "
            "--command-config must be specified."
        )
    for old, new in _RENAMED.items():
        if given.has(old) and given.has(new):
            raise UsageError(f"--{new} and --{old} cannot be specified together.")


def _check_numbers(given: Given) -> None:
    if given.num_records <= 0:
        raise UsageError("--num-records should be greater than zero.")
    if given.warmup_records >= given.num_records:
        raise UsageError(
            "The value for --warmup-records must be strictly fewer than the number of records in the test, "
            "--num-records."
        )
    if given.record_size is not None and given.record_size <= 0:
        raise UsageError("--record-size should be greater than zero.")
    if given.transaction_duration_ms is not None and given.transaction_duration_ms <= 0:
        raise UsageError("--transaction-duration-ms should be greater than zero.")
    if given.reporting_interval <= 0:
        raise UsageError("--reporting-interval should be greater than zero.")


def _payloads(given: Given) -> Iterator[bytes]:
    from barnabas.cli.perf import payloads

    if given.payload_monotonic:
        return payloads.numbers()
    if given.record_size is not None:
        return payloads.random_letters(given.record_size)
    path = Path(given.payload_file)
    print(f"Reading payloads from: {path.absolute()}")
    delimiter = "\n" if given.payload_delimiter == "\\n" else given.payload_delimiter
    try:
        choices = payloads.from_file(path, delimiter)
    except (OSError, ValueError) as error:
        raise ToolError(str(error)) from error
    print(f"Number of records read: {len(choices)}")
    return payloads.any_of(choices)


def _properties(given: Given) -> dict[str, str]:
    from barnabas.client.settings import read_properties

    for old, new in _RENAMED.items():
        if given.has(old):
            future = "has been deprecated and will be removed in a future version"
            print(f"Option --{old} {future}. Use --{new} instead.")
    path = given.command_config or given.producer_config
    properties = read_properties(path) if path else {}
    # `--producer-props a=1 b=2` takes all the words that follow.
    for word in [*given.command_property, *given.producer_props, *given.words]:
        key, separator, value = word.partition("=")
        if not separator or not key:
            raise UsageError(f"Invalid property: {word}")
        properties[key] = value
    if given.bootstrap_server:
        properties["bootstrap.servers"] = given.bootstrap_server
    properties.setdefault("client.id", "perf-producer-client")
    return properties
