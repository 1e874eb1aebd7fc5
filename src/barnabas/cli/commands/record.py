"""`barnabas record`: start and end offsets of partitions, and deletion of old records."""

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from barnabas.cli.front import completes, confirm, on_cluster, topic_names, yes_option
from barnabas.cli.kafka_words import TOPIC, KafkaCommand, KafkaVerbs
from barnabas.cli.moment import parse_moment
from barnabas.cli.view import Column, Table, View

if TYPE_CHECKING:
    from barnabas.client.admin.leaders import TopicPartition
    from barnabas.client.admin.offsets import ListedOffset
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import BrokerError

    Listed = dict[TopicPartition, ListedOffset | BrokerError]

_TOPIC = click.argument("topic", shell_complete=completes(topic_names))
_PARTITION = Column("PARTITION", "partition", is_number=True)
_START = Column("START", "start", is_number=True)
_AT = Column("AT", "at", is_number=True)
_END = Column("END", "end", is_number=True)
_RECORDS = Column("RECORDS", "records", is_number=True)
_EPOCH = Column("LEADER EPOCH", "leader_epoch", is_number=True, style="dim")
_BEFORE = Column("BEFORE", "before", is_number=True)
_DELETED = Column("DELETED", "deleted", is_number=True)
_OFFSET_OF_PARTITION = re.compile(r"(\d+):(\d+|end)")
_NO_OFFSET = -1
_UNKNOWN_TOPIC = 3


_ALSO = {
    "list": "offsets",
    "ls": "offsets",
    "describe": "offsets",
    "show": "offsets",
    "get-offsets": "offsets",
    "rm": "delete",
    "remove": "delete",
}


@click.group(cls=KafkaVerbs, also=_ALSO)
def record() -> None:
    """Offsets of partitions, deletion of old records."""


@record.command(cls=KafkaCommand, arguments=TOPIC)
@_TOPIC
@click.option(
    "--at",
    "--time",
    "at",
    metavar="TIME",
    help="Also the first offset at or after a time: 2026-01-31T08:30, 2h (ago), milliseconds, max-timestamp.",
)
@on_cluster
def offsets(cluster: "Cluster", view: View, topic: str, at: str | None) -> int:
    """Show the start and end offsets of the partitions of TOPIC.

    RECORDS counts offsets: compaction and transactions leave some of them without a record.
    """
    from barnabas.client.admin.offsets import EARLIEST, LATEST, list_offsets

    topic_partitions = _topic_partitions(cluster, topic)
    starts = list_offsets(cluster, dict.fromkeys(topic_partitions, EARLIEST))
    ends = list_offsets(cluster, dict.fromkeys(topic_partitions, LATEST))
    found = None if at is None else list_offsets(cluster, dict.fromkeys(topic_partitions, _time(at)))
    columns = [_PARTITION, _START, *([] if found is None else [_AT]), _END, _RECORDS, _EPOCH]
    rows = []
    for topic_partition in topic_partitions:
        start, end, epoch = (
            _offset(starts, topic_partition),
            _offset(ends, topic_partition),
            _epoch(ends, topic_partition),
        )
        count = None if start is None or end is None else end - start
        between = [] if found is None else [_offset(found, topic_partition)]
        rows.append([topic_partition[1], start, *between, end, count, epoch])
    view.table(Table(columns, rows, title=topic, footer=_total(rows, len(columns) - 2)))
    return _print_errors(view, starts, ends, found or {})


@record.command(cls=KafkaCommand, arguments=TOPIC)
@_TOPIC
@click.option(
    "--before",
    "before",
    multiple=True,
    required=True,
    metavar="WHAT",
    help="PARTITION:OFFSET (repeatable), a time for all partitions (2026-01-31T08:30, 7d ago), or `end`.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@yes_option
@on_cluster
def delete(
    cluster: "Cluster", view: View, topic: str, before: tuple[str, ...], dry_run: bool, yes: bool
) -> int:
    """Delete the records of TOPIC before an offset or a time. Deleted records cannot be restored.

    A time is compared with timestamps: the first record with a later timestamp ends the deletion.
    """
    from barnabas.client.admin.offsets import start_offsets
    from barnabas.client.admin.records import delete_records

    targets = _targets(cluster, topic, before)
    starts = start_offsets(cluster, targets)
    counts = {
        topic_partition: max(0, offset - starts[topic_partition])
        for topic_partition, offset in targets.items()
    }
    if dry_run:
        rows = [
            (topic_partition[1], starts[topic_partition], offset, counts[topic_partition])
            for topic_partition, offset in targets.items()
        ]
        view.table(Table([_PARTITION, _START, _BEFORE, _DELETED], rows, title=topic))
        return 0
    total, partitions = sum(counts.values()), len(targets)
    plural = "" if partitions == 1 else "s"
    confirm(f"Delete {total} records of {partitions} partition{plural} of {topic}?", yes=yes)
    results = delete_records(cluster, targets)
    done = {topic_partition: result for topic_partition, result in results.items() if isinstance(result, int)}
    rows = [
        (
            topic_partition[1],
            done[topic_partition],
            offset,
            max(0, done[topic_partition] - starts[topic_partition]),
        )
        for topic_partition, offset in targets.items()
        if topic_partition in done
    ]
    if rows or view.as_json:
        view.table(Table([_PARTITION, _START, _BEFORE, _DELETED], rows, title=topic))
    return _print_errors(view, results)


# --- arguments ----------------------------------------------------------------------------------------


def _topic_partitions(cluster: "Cluster", topic: str) -> "list[TopicPartition]":
    """Raises BrokerError if the topic does not exist."""
    from barnabas.client.errors import check

    topics = cluster.metadata([topic]).topics
    code = topics[0].error_code if topics else _UNKNOWN_TOPIC
    check(code, f"Topic {topic} does not exist" if code == _UNKNOWN_TOPIC else None)
    return sorted((topic, each.partition_index) for each in topics[0].partitions)


def _targets(cluster: "Cluster", topic: str, before: tuple[str, ...]) -> "dict[TopicPartition, int]":
    """The offset before which each partition is to be deleted, by partition."""
    from barnabas.client.admin.offsets import end_offsets

    topic_partitions = _topic_partitions(cluster, topic)
    pairs = [_OFFSET_OF_PARTITION.fullmatch(word) for word in before]
    if all(pairs):
        wanted = {(topic, int(pair[1])): pair[2] for pair in pairs if pair is not None}
        if len(wanted) != len(before):
            raise click.BadParameter("A partition is named twice", param_hint="'--before'")
        unknown = [str(number) for _, number in wanted if (topic, number) not in topic_partitions]
        if unknown:
            raise click.BadParameter(
                f"{topic} has no partition {', '.join(unknown)}", param_hint="'--before'"
            )
        ends = end_offsets(
            cluster, [topic_partition for topic_partition, text in wanted.items() if text == "end"]
        )
        return {
            topic_partition: ends[topic_partition] if text == "end" else int(text)
            for topic_partition, text in sorted(wanted.items())
        }
    if len(before) > 1:
        raise click.BadParameter("Several are PARTITION:OFFSET, all of them", param_hint="'--before'")
    ends = end_offsets(cluster, topic_partitions)
    return ends if before[0] == "end" else _offsets_at(cluster, ends, before[0])


def _offsets_at(
    cluster: "Cluster", ends: "Mapping[TopicPartition, int]", text: str
) -> "dict[TopicPartition, int]":
    """Offsets of a time. The end offset if every record is older."""
    from barnabas.client.admin.offsets import list_offsets
    from barnabas.client.errors import BrokerError

    if text.isdecimal() and len(text) < len("1000000000000"):
        raise click.BadParameter(
            f"{text} is not a time: write an offset as PARTITION:OFFSET", param_hint="'--before'"
        )
    moment = _moment(text, "--before")
    targets = {}
    for topic_partition, found in list_offsets(cluster, dict.fromkeys(ends, moment)).items():
        if isinstance(found, BrokerError):
            raise found
        targets[topic_partition] = ends[topic_partition] if found.offset == _NO_OFFSET else found.offset
    return targets


def _time(text: str) -> int:
    from barnabas.client.admin.offsets import TIMES

    if text in TIMES:
        return TIMES[text]
    if re.fullmatch(r"-[1-6]", text):
        return int(text)
    return _moment(text, "--at")


def _moment(text: str, option: str) -> int:
    try:
        return parse_moment(text, time.time())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=f"'{option}'") from None


# --- what is shown -----------------------------------------------------------------------------------


def _offset(listed: "Listed", topic_partition: "TopicPartition") -> int | None:
    found = listed[topic_partition]
    return found.offset if isinstance(found, tuple) and found.offset != _NO_OFFSET else None


def _epoch(listed: "Listed", topic_partition: "TopicPartition") -> int | None:
    found = listed[topic_partition]
    return found.leader_epoch if isinstance(found, tuple) and found.leader_epoch >= 0 else None


def _total(rows: list[list[int | None]], column: int) -> str:
    total = sum(row[column] or 0 for row in rows)
    return f"{total} record{'' if total == 1 else 's'}"


def _print_errors(view: View, *results: "Mapping[TopicPartition, object]") -> int:
    """Prints the first error of each partition on stderr. Returns the exit status."""
    errors: dict[tuple[str, int], object] = {}
    for result in results:
        for topic_partition, value in result.items():
            if isinstance(value, Exception):
                errors.setdefault(topic_partition, value)
    for (topic, partition), error in errors.items():
        view.note(f"barnabas: {topic}-{partition}: {error}")
    return 1 if errors else 0
