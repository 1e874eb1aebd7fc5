"""`barnabas record`: where partitions begin and end, and the deletion of old records, for people."""

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
    from barnabas.client.admin.offsets import ListedOffset
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import BrokerError

    Place = tuple[str, int]
    Listed = dict[Place, ListedOffset | BrokerError]

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
    """Show where the partitions of TOPIC begin and end.

    RECORDS counts offsets: compaction and transactions leave some of them without a record.
    """
    from barnabas.client.admin.offsets import EARLIEST, LATEST, list_offsets

    places = _places(cluster, topic)
    starts = list_offsets(cluster, dict.fromkeys(places, EARLIEST))
    ends = list_offsets(cluster, dict.fromkeys(places, LATEST))
    found = None if at is None else list_offsets(cluster, dict.fromkeys(places, _time(at)))
    columns = [_PARTITION, _START, *([] if found is None else [_AT]), _END, _RECORDS, _EPOCH]
    rows = []
    for place in places:
        start, end, epoch = _offset(starts, place), _offset(ends, place), _epoch(ends, place)
        count = None if start is None or end is None else end - start
        between = [] if found is None else [_offset(found, place)]
        rows.append([place[1], start, *between, end, count, epoch])
    view.table(Table(columns, rows, title=topic, footer=_total(rows, len(columns) - 2)))
    return _tell_errors(view, starts, ends, found or {})


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
    """Delete the records of TOPIC before an offset or a time. What is gone is gone.

    A time is that of records; one with a later timestamp ends the deletion, whatever follows it.
    """
    from barnabas.client.admin.offsets import start_offsets
    from barnabas.client.admin.records import delete_records

    targets = _targets(cluster, topic, before)
    starts = start_offsets(cluster, targets)
    counts = {place: max(0, offset - starts[place]) for place, offset in targets.items()}
    if dry_run:
        rows = [(place[1], starts[place], offset, counts[place]) for place, offset in targets.items()]
        view.table(Table([_PARTITION, _START, _BEFORE, _DELETED], rows, title=topic))
        return 0
    total, partitions = sum(counts.values()), len(targets)
    plural = "" if partitions == 1 else "s"
    confirm(f"Delete {total} records of {partitions} partition{plural} of {topic}?", yes=yes)
    results = delete_records(cluster, targets)
    done = {place: result for place, result in results.items() if isinstance(result, int)}
    rows = [
        (place[1], done[place], offset, max(0, done[place] - starts[place]))
        for place, offset in targets.items()
        if place in done
    ]
    if rows or view.as_json:
        view.table(Table([_PARTITION, _START, _BEFORE, _DELETED], rows, title=topic))
    return _tell_errors(view, results)


# --- what is asked for -------------------------------------------------------------------------------


def _places(cluster: "Cluster", topic: str) -> "list[Place]":
    """Raises BrokerError where the topic is missing."""
    from barnabas.client.errors import check

    topics = cluster.metadata([topic]).topics
    code = topics[0].error_code if topics else _UNKNOWN_TOPIC
    check(code, f"Topic {topic} does not exist" if code == _UNKNOWN_TOPIC else None)
    return sorted((topic, each.partition_index) for each in topics[0].partitions)


def _targets(cluster: "Cluster", topic: str, before: tuple[str, ...]) -> "dict[Place, int]":
    """The offset before which each partition is to be deleted, by partition."""
    from barnabas.client.admin.offsets import end_offsets

    places = _places(cluster, topic)
    pairs = [_OFFSET_OF_PARTITION.fullmatch(word) for word in before]
    if all(pairs):
        wanted = {(topic, int(pair[1])): pair[2] for pair in pairs if pair is not None}
        if len(wanted) != len(before):
            raise click.BadParameter("A partition is named twice", param_hint="'--before'")
        unknown = [str(number) for _, number in wanted if (topic, number) not in places]
        if unknown:
            raise click.BadParameter(
                f"{topic} has no partition {', '.join(unknown)}", param_hint="'--before'"
            )
        ends = end_offsets(cluster, [place for place, text in wanted.items() if text == "end"])
        return {place: ends[place] if text == "end" else int(text) for place, text in sorted(wanted.items())}
    if len(before) > 1:
        raise click.BadParameter("Several are PARTITION:OFFSET, all of them", param_hint="'--before'")
    ends = end_offsets(cluster, places)
    return ends if before[0] == "end" else _offsets_at(cluster, ends, before[0])


def _offsets_at(cluster: "Cluster", ends: "Mapping[Place, int]", text: str) -> "dict[Place, int]":
    """Of a time; the end where every record is older."""
    from barnabas.client.admin.offsets import list_offsets
    from barnabas.client.errors import BrokerError

    if text.isdecimal() and len(text) < len("1000000000000"):
        raise click.BadParameter(
            f"{text} is no time: an offset is written PARTITION:OFFSET", param_hint="'--before'"
        )
    moment = _moment(text, "--before")
    targets = {}
    for place, found in list_offsets(cluster, dict.fromkeys(ends, moment)).items():
        if isinstance(found, BrokerError):
            raise found
        targets[place] = ends[place] if found.offset == _NO_OFFSET else found.offset
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


def _offset(listed: "Listed", place: "Place") -> int | None:
    found = listed[place]
    return found.offset if isinstance(found, tuple) and found.offset != _NO_OFFSET else None


def _epoch(listed: "Listed", place: "Place") -> int | None:
    found = listed[place]
    return found.leader_epoch if isinstance(found, tuple) and found.leader_epoch >= 0 else None


def _total(rows: list[list[int | None]], column: int) -> str:
    total = sum(row[column] or 0 for row in rows)
    return f"{total} record{'' if total == 1 else 's'}"


def _tell_errors(view: View, *results: "Mapping[Place, object]") -> int:
    """Each partition's first error, on stderr. Gives the exit status."""
    told: dict[tuple[str, int], object] = {}
    for result in results:
        for place, value in result.items():
            if isinstance(value, Exception):
                told.setdefault(place, value)
    for (topic, partition), error in told.items():
        view.note(f"barnabas: {topic}-{partition}: {error}")
    return 1 if told else 0
