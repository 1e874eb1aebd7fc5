"""The tables of `barnabas group`: groups, members, lag, progress, and a plan of new offsets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.view import Column, Table
from barnabas.client.admin.group_progress import PartitionProgress, total_catch_up, total_rate

if TYPE_CHECKING:
    from barnabas.client.admin.group_description import GroupDescription
    from barnabas.client.admin.group_lag import PartitionLag
    from barnabas.client.admin.offset_reset import NewOffset

GroupRow = tuple[str, str, str, int | None, int | None]
"""Name, state, type, number of members, lag."""

_UNITS = (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))
_STATE_STYLES = {"Stable": "green", "Empty": "dim", "Dead": "red"}
_PARTITION = (Column("TOPIC", "topic", style="bold"), Column("PARTITION", "partition", is_number=True))
_OFFSETS = (
    Column("CURRENT", "current_offset", is_number=True),
    Column("END", "end_offset", is_number=True),
    Column("LAG", "lag", is_number=True),
)


class Seconds(float):
    """A duration: a number in JSON, `2m 5s` in text."""

    def __str__(self) -> str:
        left = round(self)
        parts = []
        for unit, size in _UNITS:
            count, left = divmod(left, size)
            if count:
                parts.append(f"{count}{unit}")
        return " ".join(parts[:2]) or "0s"


def groups_table(rows: Sequence[GroupRow]) -> Table:
    columns = [
        Column("GROUP", "group", style="bold"),
        Column("STATE", "state"),
        Column("TYPE", "type"),
        Column("MEMBERS", "members", is_number=True),
        Column("LAG", "lag", is_number=True),
    ]
    footer = f"{len(rows)} group{'' if len(rows) == 1 else 's'}"
    return Table(columns, rows, footer=footer, colours=lambda row: _STATE_STYLES.get(str(row[1]), "yellow"))


def heading_of(group: "GroupDescription") -> str:
    node = group.coordinator
    parts = [group.id, group.state, group.type.lower()]
    if group.assignor:
        parts.append(group.assignor)
    count = len(group.members)
    parts.append(f"{count} member{'' if count == 1 else 's'}")
    parts.append(f"coordinator {node.id} ({node.host}:{node.port})")
    return "  ".join(parts)


def members_table(group: "GroupDescription") -> Table:
    columns = [
        Column("MEMBER", "member", style="bold"),
        Column("CLIENT", "client"),
        Column("HOST", "host"),
        Column("INSTANCE", "instance"),
        Column("PARTITIONS", "partitions"),
    ]
    rows = [
        (
            each.id,
            each.client_id,
            each.host.removeprefix("/"),
            each.instance_id,
            [f"{topic}-{number}" for topic, number in each.assignment],
        )
        for each in group.members
    ]
    return Table(columns, rows)


def lag_table(rows: "Sequence[PartitionLag]") -> Table:
    columns = [*_PARTITION, *_OFFSETS, Column("CLIENT", "client")]
    cells = [(*_partition_cells(row), _client(row)) for row in rows]
    return Table(columns, cells, colours=lambda row: _lag_style(row[4]))


def progress_table(title: str, rows: Sequence[PartitionProgress], *, with_total: bool) -> Table:
    """`with_total` adds a last row with the sums."""
    columns = [
        *_PARTITION,
        *_OFFSETS,
        Column("RATE/S", "rate", is_number=True),
        Column("CATCH-UP", "catch_up_seconds", is_number=True),
        Column("CLIENT", "client"),
    ]
    cells: list[tuple[object, ...]] = [
        (*_partition_cells(row.of), row.rate, _seconds(row.catch_up), _client(row.of)) for row in rows
    ]
    if with_total:
        from barnabas.client.admin.group_lag import total_lag

        lag = total_lag([row.of for row in rows])
        cells.append(("total", "", "", "", lag, total_rate(rows), _seconds(total_catch_up(rows)), ""))
    return Table(columns, cells, title=title, colours=lambda row: _lag_style(row[4], row[5], row[6]))


def plan_table(plan: "Sequence[NewOffset]") -> Table:
    columns = [
        *_PARTITION,
        Column("CURRENT", "current_offset", is_number=True),
        Column("NEW", "new_offset", is_number=True),
        Column("CHANGE", "change", is_number=True),
        Column("NOTE", "note"),
    ]
    rows = [
        (
            each.topic,
            each.partition,
            each.committed,
            each.offset,
            None if each.committed is None else each.offset - each.committed,
            _note(each),
        )
        for each in plan
    ]
    return Table(columns, rows, colours=lambda row: "yellow" if row[5] else "")


def _note(new: "NewOffset") -> str:
    if new.adjustment is None:
        return ""
    requested = "" if new.requested is None else f"{new.requested} is "
    return requested + new.adjustment.value


def _partition_cells(row: "PartitionLag") -> tuple[object, ...]:
    return row.topic, row.partition, row.current, row.end, row.lag


def _seconds(duration: float | None) -> Seconds | None:
    return None if duration is None else Seconds(duration)


def _client(row: "PartitionLag") -> str | None:
    return None if row.member is None else row.member.client_id


def _lag_style(lag: object, rate: object = None, catch_up: object = None) -> str:
    """Green: no lag. Yellow: some lag. Red: the lag does not shrink."""
    if not isinstance(lag, int):
        return "dim"
    if lag <= 0:
        return "green"
    return "red" if rate is not None and catch_up is None else "yellow"
