"""`barnabas group`: lists, describes, watches, resets and deletes consumer groups."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barnabas.cli.front import completes, confirm, group_names, on_cluster, topic_names, yes_option
from barnabas.cli.kafka_words import GROUP, KafkaCommand, KafkaVerbs, Option, behind
from barnabas.cli.view import Table, View

if TYPE_CHECKING:
    from barnabas.cli.group_tables import GroupRow
    from barnabas.client.admin.groups import GroupListing
    from barnabas.client.admin.leaders import TopicPartition
    from barnabas.client.admin.offset_reset import NewOffset, Strategy
    from barnabas.client.cluster import Cluster

_STATES = (
    "stable",
    "empty",
    "dead",
    "preparingrebalance",
    "completingrebalance",
    "assigning",
    "reconciling",
)
"""For --help and completion, which must not load the client."""
_NAME = click.argument("name", metavar="GROUP", shell_complete=completes(group_names))
_NAMES = click.argument(
    "names", nargs=-1, required=True, metavar="GROUP...", shell_complete=completes(group_names)
)
_POSITIONS = "earliest|latest|current|OFFSET"


_ALSO = {
    "ls": "list",
    "show": "describe",
    "rm": "delete",
    "remove": "delete",
    "reset-offsets": "reset",
}
_EVERYTHING_IS_SHOWN: dict[str, Option] = dict.fromkeys(
    ("--members", "--offsets", "--state", "--verbose"), ()
)
_RESETS: dict[str, Option] = {
    "--to-earliest": ("--to", "earliest"),
    "--to-latest": ("--to", "latest"),
    "--to-current": ("--to", "current"),
    "--to-offset": behind("--to"),
    "--to-datetime": behind("--to-time"),
    "--all-topics": (),
    "--execute": ("--yes",),
}


@click.group(cls=KafkaVerbs, also=_ALSO)
def group() -> None:
    """Look at consumer groups, reset their offsets, delete them."""


# --- looking -----------------------------------------------------------------------------------------


@group.command("list")
@click.option(
    "-s",
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES, case_sensitive=False),
    help="Only groups in this state (repeatable).",
)
@click.option(
    "-t",
    "--type",
    "types",
    multiple=True,
    type=click.Choice(("classic", "consumer", "share", "streams"), case_sensitive=False),
    help="Only groups of this type (repeatable).",
)
@on_cluster
def list_(cluster: "Cluster", view: View, states: tuple[str, ...], types: tuple[str, ...]) -> None:
    """List groups with their members and lag."""
    from barnabas.cli.group_tables import groups_table
    from barnabas.client.admin.groups import STATES, list_groups, named

    wanted = [named(state, STATES) for state in states]
    listings = list_groups(cluster, wanted, [type_.capitalize() for type_ in types])
    view.table(groups_table([_row(cluster, each) for each in listings]))


def _row(cluster: "Cluster", listing: "GroupListing") -> "GroupRow":
    from barnabas.client.admin.group_description import NotAConsumerGroup, describe_group
    from barnabas.client.admin.group_lag import lag_of, total_lag
    from barnabas.client.errors import BrokerError

    members = lag = None
    if listing.is_of_consumers:
        try:
            found = describe_group(cluster, listing.id)
            members, lag = len(found.members), total_lag(lag_of(cluster, found))
        except (BrokerError, NotAConsumerGroup):
            pass  # the group was deleted meanwhile, or describing it is not authorized: list what is known
    return listing.id, listing.state, listing.type, members, lag


@group.command(cls=KafkaCommand, arguments=GROUP, options=_EVERYTHING_IS_SHOWN)
@_NAMES
@on_cluster
def describe(cluster: "Cluster", view: View, names: tuple[str, ...]) -> None:
    """Show members and lag of groups."""
    from barnabas.cli.group_tables import heading_of, lag_table, members_table
    from barnabas.client.admin.group_description import describe_groups
    from barnabas.client.admin.group_lag import lag_of, total_lag

    found = []
    for each in describe_groups(cluster, names):
        rows = lag_of(cluster, each)
        if not view.as_json:
            view.heading(heading_of(each))
            for table in (members_table(each), lag_table(rows)):
                if table.rows:
                    view.table(table)
        found.append(
            {
                "group": each.id,
                "state": each.state,
                "type": each.type,
                "assignor": each.assignor or None,
                "coordinator": each.coordinator.id,
                "epoch": each.epoch,
                "lag": total_lag(rows),
                "members": members_table(each).values(),
                "partitions": lag_table(rows).values(),
            }
        )
    if view.as_json:
        view.value(found)


@group.command(cls=KafkaCommand, arguments=GROUP)
@_NAME
@click.option(
    "-i", "--interval", type=click.FloatRange(0.05, 86400), default=2.0, show_default=True, help="Seconds."
)
@click.option("-n", "--times", type=click.IntRange(min=1), help="Look so often; until Ctrl-C otherwise.")
@on_cluster
def watch(cluster: "Cluster", view: View, name: str, interval: float, times: int | None) -> None:
    """Watch a group read: lag, records a second, time to catch up."""
    from barnabas.cli.group_tables import heading_of, progress_table
    from barnabas.client.admin.group_description import describe_group
    from barnabas.client.admin.group_lag import lag_of
    from barnabas.client.admin.group_progress import ProgressMeter

    meter = ProgressMeter()

    def frame() -> Table:
        found = describe_group(cluster, name)
        rows = meter.sample(lag_of(cluster, found), time.monotonic())
        return progress_table(heading_of(found), rows, with_total=not view.as_json)

    view.live(frame, every=interval, times=times)


# --- changing ----------------------------------------------------------------------------------------


@group.command(cls=KafkaCommand, arguments=GROUP, options=_RESETS)
@_NAME
@click.option("--to", "position", metavar=_POSITIONS, help="Where to begin again.")
@click.option(
    "--to-time", "moment", metavar="TIME", help="At the first record since then: 2h, 2026-01-31T08:30."
)
@click.option("--shift-by", type=int, metavar="N", help="Forward by so many, or back (negative).")
@click.option("--from-file", metavar="FILE", help="Lines of topic,partition,offset ('-': from stdin).")
@click.option(
    "-t",
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:0,1]",
    help="Only this topic, or some of its partitions (repeatable); all that have offsets otherwise.",
    shell_complete=completes(topic_names),
)
@click.option("--dry-run", is_flag=True, help="Only show the plan.")
@yes_option
@on_cluster
def reset(
    cluster: "Cluster",
    view: View,
    name: str,
    position: str | None,
    moment: str | None,
    shift_by: int | None,
    from_file: str | None,
    topics: tuple[str, ...],
    dry_run: bool,
    yes: bool,
) -> None:
    """Set the offsets of a group that has no members."""
    from barnabas.cli.group_tables import plan_table
    from barnabas.client.admin.group_offsets import commit_offsets

    plan = _plan(cluster, name, topics, _strategy(name, position, moment, shift_by, from_file))
    table = plan_table(plan)
    if not view.as_json:
        view.table(table)
    if not dry_run:
        confirm(f"Set {len(plan)} offset{'' if len(plan) == 1 else 's'} of group {name}?", yes=yes)
        commit_offsets(cluster, name, {(each.topic, each.partition): each.offset for each in plan})
    if view.as_json or not dry_run:
        view.done(f"Reset group {name}.", group=name, changed=not dry_run, offsets=table.values())


def _plan(
    cluster: "Cluster", name: str, topics: tuple[str, ...], strategy: "Strategy"
) -> "tuple[NewOffset, ...]":
    from barnabas.cli.tool_errors import ToolError
    from barnabas.client.admin.group_description import state_of
    from barnabas.client.admin.offset_reset import plan_reset

    state = state_of(cluster, name)
    if state not in ("Empty", "Dead"):
        raise ToolError(f"Group {name} is {state}: its members would undo the reset. Stop them first.")
    plan = plan_reset(cluster, name, _scope(cluster, name, topics), strategy)
    if not plan:
        raise ToolError(f"Group {name} has no committed offsets. Name topics with --topic")
    return plan


def _strategy(
    name: str, position: str | None, moment: str | None, shift_by: int | None, from_file: str | None
) -> "Strategy":
    from barnabas.client.admin import offset_reset

    if sum(each is not None for each in (position, moment, shift_by, from_file)) != 1:
        raise click.UsageError("Exactly one of --to, --to-time, --shift-by and --from-file is required")
    if shift_by is not None:
        return offset_reset.ShiftBy(shift_by)
    if from_file is not None:
        return offset_reset.ToOffsets(_read_plan(from_file, name))
    if moment is not None:
        from barnabas.cli.moment import parse_moment

        try:
            return offset_reset.ToTime(parse_moment(moment, time.time()))
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    named: dict[str | None, Strategy] = {
        "earliest": offset_reset.ToEarliest(),
        "latest": offset_reset.ToLatest(),
        "current": offset_reset.ToCurrent(),
    }
    if position in named:
        return named[position]
    try:
        return offset_reset.ToOffset(int(position or ""))
    except ValueError:
        raise click.UsageError(f"--to {position}: expected {_POSITIONS}") from None


def _read_plan(path: str, name: str) -> "dict[TopicPartition, int]":
    from barnabas.cli.reset_csv import BadResetFile, from_csv

    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text()
        plan = from_csv(text, [name])
    except (OSError, UnicodeDecodeError, BadResetFile) as error:
        raise click.UsageError(f"--from-file {path}: {error}") from error
    if name not in plan:
        raise click.UsageError(f"--from-file {path}: nothing for group {name}")
    return plan[name]


def _scope(cluster: "Cluster", name: str, topics: tuple[str, ...]) -> "list[TopicPartition]":
    from barnabas.client.admin.group_offsets import committed_offsets
    from barnabas.client.admin.partition_scope import check_partitions

    if not topics:
        return sorted(committed_offsets(cluster, name))
    topic_partitions = _resolved(cluster, topics)
    check_partitions(cluster, topic_partitions)
    return topic_partitions


def _resolved(cluster: "Cluster", topics: tuple[str, ...]) -> "list[TopicPartition]":
    """Adds the name of the topic to its error."""
    from barnabas.cli.tool_errors import ToolError
    from barnabas.client.admin.partition_scope import resolve_scopes
    from barnabas.client.errors import BrokerError

    found = []
    for topic in topics:
        try:
            found += resolve_scopes(cluster, [topic])
        except BrokerError as error:
            raise ToolError(f"{topic}: {error}") from error
    return list(dict.fromkeys(found))


@group.command(cls=KafkaCommand, arguments=GROUP)
@_NAMES
@yes_option
@on_cluster
def delete(cluster: "Cluster", view: View, names: tuple[str, ...], yes: bool) -> int:
    """Delete groups that have no members, with their offsets."""
    from barnabas.client.admin.groups import delete_groups

    confirm(f"Delete {', '.join(names)} and all offsets?", yes=yes)
    failed = {name: error for name, error in delete_groups(cluster, names).items() if error is not None}
    done = [name for name in names if name not in failed]
    if done or view.as_json:
        errors = {name: str(error) for name, error in failed.items()}
        view.done(f"Deleted {', '.join(done)}.", deleted=done, errors=errors)
    for name, error in failed.items():
        view.note(f"barnabas: {name}: {error}")
    return 1 if failed else 0


@group.command("delete-offsets", cls=KafkaCommand, arguments=GROUP)
@_NAME
@click.option(
    "-t",
    "--topic",
    "topics",
    multiple=True,
    required=True,
    metavar="TOPIC[:0,1]",
    help="A topic, or some of its partitions (repeatable).",
    shell_complete=completes(topic_names),
)
@yes_option
@on_cluster
def delete_offsets(cluster: "Cluster", view: View, name: str, topics: tuple[str, ...], yes: bool) -> int:
    """Delete a group's offsets of topics it does not read."""
    from barnabas.client.admin import group_offsets

    topic_partitions = _resolved(cluster, topics)
    confirm(f"Delete the offsets of group {name} in {', '.join(topics)}?", yes=yes)
    results = group_offsets.delete_offsets(cluster, name, topic_partitions)
    failed = {topic_partition: error for topic_partition, error in results.items() if error is not None}
    done = [f"{topic}-{number}" for topic, number in results if (topic, number) not in failed]
    if done or view.as_json:
        errors = {f"{topic}-{number}": str(error) for (topic, number), error in failed.items()}
        view.done(f"Deleted the offsets of {', '.join(done)}.", group=name, deleted=done, errors=errors)
    for (topic, number), error in failed.items():
        view.note(f"barnabas: {topic}-{number}: {error}")
    return 1 if failed else 0
