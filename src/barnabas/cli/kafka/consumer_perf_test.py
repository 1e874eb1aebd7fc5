"""`kafka-consumer-perf-test`: megabytes and records a second that a consumer reads."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.kafka.options import Given, Options
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.cli.perf.consuming import Reading

_MORE = "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _run, arguments)


def _options() -> Options:
    options = Options("kafka-consumer-perf-test", "Measure how fast records are read.")
    options.option("bootstrap-server", "REQUIRED: bootstrap brokers.", aliases=("broker-list",))
    options.option("topic", "The topic to read.", value="topic")
    options.option("include", "Read the topics whose names this regular expression matches.", value="regex")
    options.option("group", "The group to read in (default: a new one).", value="group")
    options.option("fetch-size", "Bytes of one partition in one fetch.", kind=int, default=1024 * 1024)
    options.option("command-property", "A setting of the consumer.", value="key=value", repeated=True)
    options.flag("from-latest", "Start at the end of the log, unless the group has committed offsets.")
    options.option("socket-buffer-size", "Bytes of the socket's buffer.", kind=int, default=2 * 1024 * 1024)
    options.option("consumer.config", "The old name of --command-config.", value="file")
    options.option("command-config", "A file with settings of the consumer.", value="file")
    options.flag("print-metrics", "Print the consumer's own metrics at the end.")
    options.flag("show-detailed-stats", "A line for each interval instead of one for all.")
    options.option("timeout", "End after a pause of so long.", value="ms", kind=int, default=10_000)
    options.option("messages", "The old name of --num-records.", value="count", kind=int)
    options.option("num-records", "REQUIRED: how many records to read.", value="count", kind=int)
    options.option("reporting-interval", "How often to report.", value="ms", kind=int, default=5000)
    options.option("date-format", "How times are written.", default="yyyy-MM-dd HH:mm:ss:SSS")
    options.flag("hide-header", "No line with the names of the columns.")
    return options


def _check(given: Given) -> None:
    """Prints Kafka's warnings about old names."""
    from barnabas.cli.perf.date_format import check_format

    options = _options()
    options.require(given, "bootstrap-server")
    options.require_one_of(given, "topic", "include")
    options.require_one_of(given, "messages", "num-records")
    options.forbid(given, "consumer.config", "command-config")
    if given.has("messages"):
        print("Warning: --messages is deprecated. Use --num-records instead.")
    if given.has("consumer.config"):
        print("Warning: --consumer.config is deprecated. Use --command-config instead.")
    if given.reporting_interval <= 0:
        raise ToolError("Reporting interval must be greater than 0.")
    try:
        check_format(given.date_format)
    except ValueError as error:
        raise ToolError(str(error)) from error


def _run(given: Given) -> int:
    _check(given)
    from barnabas.cli.messages.librdkafka_clients import check_reachable, open_consumer
    from barnabas.cli.perf.consuming import FETCH_AHEAD, ConsumerTest, Reading, consume
    from barnabas.cli.perf.metrics import Statistics

    if not given.hide_header:
        first = "time, threadId" if given.show_detailed_stats else "start.time, end.time"
        print(f"{first}, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, {_MORE}")

    def show(window: Reading, so_far: Reading) -> None:
        if given.show_detailed_stats:
            print(_window_line(given.date_format, window, so_far), flush=True)

    topics = [given.topic] if given.topic else ["^" + given.include.removeprefix("^")]
    wanted = given.messages if given.has("messages") else given.num_records
    test = ConsumerTest(topics, wanted, given.timeout / 1000, given.reporting_interval / 1000)
    properties = _properties(given)
    check_reachable(properties)
    statistics = Statistics()
    own = statistics.settings() if given.print_metrics else {}
    reading = consume(test, open_consumer(properties, **FETCH_AHEAD, **own), show)
    if reading.count < wanted:
        print(
            "WARNING: Exiting before consuming the expected number of records: timeout "
            f"({given.timeout} ms) exceeded. You can use the --timeout option to increase the timeout."
        )
    if not given.show_detailed_stats:
        print(_total_line(given.date_format, reading))
    if given.print_metrics:
        print(statistics.table("consumer"))
    return 0


def _properties(given: Given) -> dict[str, str]:
    from barnabas.cli.messages.client_properties import parse_pairs
    from barnabas.client.settings import read_properties

    path = given.consumer_config or given.command_config
    properties = read_properties(path) if path else {}
    properties.update(parse_pairs(given.command_property))
    properties["bootstrap.servers"] = given.bootstrap_server
    properties["group.id"] = given.group or f"perf-consumer-{random.randrange(100_000)}"
    properties["receive.buffer.bytes"] = str(given.socket_buffer_size)
    properties["max.partition.fetch.bytes"] = str(given.fetch_size)
    properties["auto.offset.reset"] = "latest" if given.from_latest else "earliest"
    properties["check.crcs"] = "false"
    properties.setdefault("client.id", "perf-consumer-client")
    return properties


def _total_line(pattern: str, reading: "Reading") -> str:
    from barnabas.cli.perf.consuming import per_second
    from barnabas.cli.perf.date_format import format_time

    return (
        f"{format_time(pattern, reading.start)}, {format_time(pattern, reading.end)}, "
        f"{reading.megabytes:.4f}, {per_second(reading.megabytes, reading.seconds):.4f}, {reading.count}, "
        f"{per_second(reading.count, reading.seconds):.4f}, {_extended(reading)}"
    )


def _window_line(pattern: str, window: "Reading", so_far: "Reading") -> str:
    from barnabas.cli.perf.consuming import per_second
    from barnabas.cli.perf.date_format import format_time

    return (
        f"{format_time(pattern, window.end)}, 0, {so_far.megabytes:.4f}, "
        f"{per_second(window.megabytes, window.seconds):.4f}, {so_far.count}, "
        f"{per_second(window.count, window.seconds):.4f}, {_extended(window)}"
    )


def _extended(reading: "Reading") -> str:
    from barnabas.cli.perf.consuming import per_second

    return (
        f"{reading.joining * 1000:.0f}, {reading.fetching * 1000:.0f}, "
        f"{per_second(reading.megabytes, reading.fetching):.4f}, "
        f"{per_second(reading.count, reading.fetching):.4f}"
    )
