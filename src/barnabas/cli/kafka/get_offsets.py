"""`kafka-get-offsets`: prints the offsets of partitions at a time, as `topic:partition:offset`.

Accepts the options of 2.x too: `--broker-list`, and `--offsets` and `--max-wait-ms`, which have no effect.
"""

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.include_list import IncludeList
from barnabas.cli.kafka.options import Given, Options, UsageError
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

_RULE = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_NAMES_OF_TIMES = (
    "-1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered / "
    "-6 or earliest-pending-upload"
)
_NOTHING_MATCHES = "Could not match any topic-partitions with the specified filters"


class PartitionRule:
    """Topics by an expression, and partitions of them: all, some ids, or a range without its end."""

    def __init__(
        self, topic: str, ids: frozenset[int] = frozenset(), start: int = 0, end: int | None = None
    ) -> None:
        self._topics: IncludeList = IncludeList(topic)
        self._ids: frozenset[int] = ids
        self._start: int = start
        self._end: int | None = end

    def allows(self, topic: str, partition: int) -> bool:
        if not self._topics.allows(topic):
            return False
        if self._ids:
            return partition in self._ids
        return self._start <= partition and (self._end is None or partition < self._end)


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _work, arguments, prefix="Error occurred: ")


def _options() -> Options:
    options = Options("kafka-get-offsets", "Print the offsets of partitions at a point in time.")
    options.option(
        "bootstrap-server",
        "REQUIRED: bootstrap brokers, separated by commas.",
        value="HOST1:PORT1,...,HOST3:PORT3",
        deprecated=["broker-list"],
    )
    options.option(
        "topic-partitions",
        "Patterns with commas, each TOPIC, TOPIC:PARTITION, TOPIC:FROM-TO (without TO), TOPIC:FROM- or "
        "TOPIC:-TO. TOPIC is a regular expression; without it any topic matches. Not with --topic or "
        "--partitions.",
        value="topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3",
    )
    options.option("topic", "A topic, or a regular expression for topics; all, if not given.", value="topic")
    options.option("partitions", "Ids of partitions with commas; all, if not given.", value="partition ids")
    options.option(
        "time",
        "The offset of the first record at or after this time in milliseconds, or a named position. A "
        "partition without such a record is left out.",
        value=f"<timestamp> / {_NAMES_OF_TIMES}",
        default="latest",
    )
    options.option("command-config", "Properties of the client.", value="config file")
    options.flag("exclude-internal-topics", "Leave out topics such as __consumer_offsets.")
    options.option("offsets", "Accepted from the time of 2.x; without effect.", kind=int)
    options.option("max-wait-ms", "Accepted from the time of 2.x; without effect.", kind=int)
    return options


def _work(given: Given) -> int:
    _options().require(given, "bootstrap-server")
    _check_addresses(given.bootstrap_server)
    if given.has("topic-partitions") and (given.has("topic") or given.has("partitions")):
        raise ToolError("--topic-partitions cannot be used with --topic or --partitions")
    timestamp = parse_time(given.time)
    if given.has("topic-partitions"):
        rules = parse_rules(given.topic_partitions)
    else:
        rules = [PartitionRule(given.topic or ".*", _ids(given.partitions))]
    with open_cluster(given.bootstrap_server, given.command_config) as cluster:
        _print_offsets(cluster, _matching(cluster, rules, given.exclude_internal_topics), timestamp)
    return 0


def _check_addresses(text: str) -> None:
    from barnabas.client.address import parse_addresses
    from barnabas.client.errors import BadSettings

    try:
        parse_addresses(text)
    except BadSettings:
        raise UsageError("Please provide valid host:port like host1:9091,host2:9092") from None


def _matching(
    cluster: "Cluster", rules: list[PartitionRule], without_internal: bool
) -> list[tuple[str, int]]:
    """Sorted by `topic-partition` as text, as in Kafka's tool: partition 10 comes before 2."""
    topic_partitions = [
        (topic.name, each.partition_index)
        for topic in cluster.metadata(None).topics
        if not (without_internal and topic.is_internal)
        for each in topic.partitions
        if any(rule.allows(topic.name, each.partition_index) for rule in rules)
    ]
    if not topic_partitions:
        raise ToolError(_NOTHING_MATCHES)
    return sorted(topic_partitions, key=lambda topic_partition: f"{topic_partition[0]}-{topic_partition[1]}")


def _print_offsets(cluster: "Cluster", topic_partitions: list[tuple[str, int]], timestamp: int) -> None:
    from barnabas.cli.tool_errors import exception_text
    from barnabas.client.admin.offsets import list_offsets
    from barnabas.client.errors import BrokerError

    for (topic, partition), found in list_offsets(
        cluster, dict.fromkeys(topic_partitions, timestamp)
    ).items():
        if isinstance(found, BrokerError):
            reason = exception_text(found)
            print(
                f"Skip getting offsets for topic-partition {topic}-{partition} due to error: {reason}",
                file=sys.stderr,
            )
        elif found.offset >= 0:
            print(f"{topic}:{partition}:{found.offset}")


# --- the words of options ----------------------------------------------------------------------------


def parse_time(text: str) -> int:
    """Raises ToolError."""
    from barnabas.client.admin.offsets import TIMES

    if text in TIMES:
        return TIMES[text]
    if re.fullmatch(r"[+-]?\d+", text) is None:
        raise ToolError(
            f"Malformed time argument {text}. "
            f"Please use {_NAMES_OF_TIMES}, or a specified long format timestamp"
        )
    return int(text)


def parse_rules(text: str) -> list[PartitionRule]:
    """Patterns of `--topic-partitions`. Raises ToolError."""
    words = text.split(",")
    while len(words) > 1 and not words[-1]:
        words.pop()
    return [_rule(word) for word in words]


def _rule(word: str) -> PartitionRule:
    found = _RULE.fullmatch(word)
    if found is None:
        raise ToolError(f"Invalid rule specification: {word}")
    topic, one, start, end = found.groups()
    if one:
        return PartitionRule(topic or ".*", frozenset({int(one)}))
    return PartitionRule(topic or ".*", start=int(start or 0), end=int(end) if end else None)


def _ids(text: str | None) -> frozenset[int]:
    if not text:
        return frozenset()
    try:
        return frozenset(map(int, text.split(",")))
    except ValueError:
        raise ToolError(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        ) from None
