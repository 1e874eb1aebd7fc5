"""`barnabas reassign`: partition reassignments and leader elections.

A plan is a JSON file in the format of Kafka's tools.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barnabas.cli.front import completes, confirm, on_cluster, topic_names, yes_option
from barnabas.cli.kafka_words import TOPIC, KafkaCommand, KafkaVerbs, Option, itself
from barnabas.cli.view import Column, Table, View

if TYPE_CHECKING:
    from barnabas.client.admin.leaders import TopicPartition
    from barnabas.client.admin.reassignment_progress import ReassignmentProgress
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import BrokerError

_FILE = click.Path(dir_okay=False, path_type=Path)
_TOPIC = Column("TOPIC", "topic", style="bold")
_PARTITION = Column("PARTITION", "partition", is_number=True)


_ALSO = {
    "list": "status",
    "ls": "status",
    "describe": "status",
    "show": "status",
    "verify": "status",
    "generate": "plan",
    "execute": "start",
}
_PLAN: dict[str, Option] = {"--reassignment-json-file": itself}
_ELECTION: dict[str, Option] = {
    "--election-type": lambda value: ("--unclean",) if value.lower() == "unclean" else ()
}


@click.group(cls=KafkaVerbs, also=_ALSO)
def reassign() -> None:
    """Move replicas and elect leaders."""


@reassign.command(cls=KafkaCommand, arguments=TOPIC)
@click.argument("topics", nargs=-1, required=True, shell_complete=completes(topic_names))
@click.option(
    "--brokers",
    "--broker-list",
    metavar="IDS",
    help="Where the topics shall be, as in 1,2,3; all brokers otherwise.",
)
@click.option("--disable-rack-aware", is_flag=True, help="Do not look at the racks of brokers.")
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="Write the plan to FILE.")
@on_cluster
def plan(
    cluster: "Cluster",
    view: View,
    topics: tuple[str, ...],
    brokers: str | None,
    disable_rack_aware: bool,
    output: Path | None,
) -> None:
    """Propose a replica assignment for TOPICS. Moves nothing.

    With --json the plan itself is printed, ready for `barnabas reassign start`.
    """
    from barnabas.client.admin.reassignment_plan import (
        BadPlan,
        format_plan,
        generate,
        parse_brokers,
        usable_brokers,
    )
    from barnabas.client.admin.reassignments import replicas_of

    current = replicas_of(cluster, topics)
    wanted = sorted(cluster.nodes) if brokers is None else parse_brokers(brokers)
    unknown = sorted(set(wanted) - set(cluster.nodes))
    if unknown:
        raise BadPlan(f"Unknown broker id {unknown[0]}")
    usable = usable_brokers(cluster.nodes, wanted, with_racks=not disable_rack_aware)
    proposed = generate(current, usable)
    text = format_plan(proposed)
    if output is not None:
        _write(output, text)
    if view.as_json:
        print(text)
        return
    view.table(_changes(current, proposed))
    if output is not None:
        view.note(f"The plan is in {output}: barnabas reassign start {output}")


@reassign.command(cls=KafkaCommand, arguments=_PLAN)
@click.argument("file", type=_FILE, metavar="PLAN")
@click.option(
    "--throttle", type=click.IntRange(min=0), metavar="BYTES", help="Most per second between brokers."
)
@click.option(
    "--log-dir-throttle",
    "--replica-alter-log-dirs-throttle",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="Most per second between directories of a broker.",
)
@click.option("--additional", is_flag=True, help="Start even if other reassignments are active.")
@click.option(
    "--keep-replication-factor",
    "--disallow-replication-factor-change",
    is_flag=True,
    help="Refuse a plan that changes it.",
)
@click.option("--rollback", type=_FILE, metavar="FILE", help="Write the plan that leads back to FILE.")
@click.option(
    "--timeout", default=10.0, show_default=True, help="Seconds to wait until moves of directories began."
)
@yes_option
@on_cluster
def start(
    cluster: "Cluster",
    view: View,
    file: Path,
    throttle: int | None,
    log_dir_throttle: int | None,
    additional: bool,
    keep_replication_factor: bool,
    rollback: Path | None,
    timeout: float,
    yes: bool,
) -> int:
    """Start the reassignments of PLAN."""
    from barnabas.client.admin import reassignment_steps
    from barnabas.client.admin.reassignment_plan import read_plan
    from barnabas.client.admin.reassignments import alter_reassignments
    from barnabas.client.admin.replica_log_dirs import start_moves
    from barnabas.client.admin.throttles import throttle_log_dirs

    plan = read_plan(file)
    prepared = reassignment_steps.prepare(cluster, plan, is_additional=additional)
    if not view.as_json:
        view.table(_changes(prepared.current, plan.replicas))
    confirm(f"Move {_counted(len(plan.replicas))}?", yes=yes)
    if rollback is not None:
        _write(rollback, reassignment_steps.assignment_json(cluster, prepared.current))
    if throttle is not None:
        reassignment_steps.throttle(cluster, prepared, throttle)
    if log_dir_throttle is not None:
        throttle_log_dirs(cluster, {each.broker for each in plan.log_dirs}, log_dir_throttle)
    is_free = not keep_replication_factor
    errors = alter_reassignments(cluster, plan.replicas, allow_replication_factor_change=is_free)
    if errors:
        return _print_errors(view, errors)
    moved = sum(1 for _ in start_moves(cluster, plan.log_dirs, timeout=timeout))
    count = len(plan.replicas)
    view.done(f"Started to move {_counted(count)}", partitions=count, log_dirs=moved)
    if throttle is not None or log_dir_throttle is not None:
        view.note(f"The throttle stays until `barnabas reassign status {file}` has seen the end of it")
    return 0


@reassign.command(cls=KafkaCommand, arguments=_PLAN)
@click.argument("file", type=_FILE, metavar="[PLAN]", required=False)
@click.option("-f", "--follow", is_flag=True, help="Show the progress until all is moved.")
@click.option("--every", default=2.0, show_default=True, help="Seconds between two looks.")
@click.option("--keep-throttles", "--preserve-throttles", is_flag=True, help="Leave throttles as they are.")
@on_cluster
def status(
    cluster: "Cluster", view: View, file: Path | None, follow: bool, every: float, keep_throttles: bool
) -> None:
    """Show the active reassignments, or the progress of PLAN.

    When PLAN is done and nothing else moves, the throttles that `start` may have set are removed.
    """
    from barnabas.client.admin.reassignment_plan import read_plan
    from barnabas.client.admin.reassignment_progress import ongoing_progress, plan_progress
    from barnabas.client.admin.reassignment_steps import clear_throttles

    plan = None if file is None else read_plan(file)

    def look() -> "ReassignmentProgress":
        return ongoing_progress(cluster) if plan is None else plan_progress(cluster, plan)

    progress = look()
    if follow and not progress.is_over:
        progress = _follow(view, look, every)
    if not progress.rows and not view.as_json:
        view.note("Nothing is being moved")
    else:
        view.table(_progress_table(view, progress))
    if plan is not None and progress.is_over and progress.is_cluster_quiet and not keep_throttles:
        clear_throttles(cluster, plan)


class _Over(Exception):
    """Ends the live view: no reassignment is active."""


def _follow(view: View, look: "Callable[[], ReassignmentProgress]", every: float) -> "ReassignmentProgress":
    """The last progress, when the reassignments are complete or the user stops the view."""
    seen = look()

    def frame() -> Table:
        nonlocal seen
        seen = look()
        if seen.is_over:
            raise _Over
        return _progress_table(view, seen)

    with suppress(_Over):
        view.live(frame, every=every)
    # A broker collects its report in two steps: a move that just ended may appear once as no move.
    return look() if seen.is_over and not seen.is_reached else seen


@reassign.command(cls=KafkaCommand, arguments=_PLAN)
@click.argument("file", type=_FILE, metavar="[PLAN]", required=False)
@click.option("--all", "is_all", is_flag=True, help="Everything that is being moved.")
@click.option("--keep-throttles", "--preserve-throttles", is_flag=True, help="Leave throttles as they are.")
@yes_option
@on_cluster
def cancel(
    cluster: "Cluster", view: View, file: Path | None, is_all: bool, keep_throttles: bool, yes: bool
) -> int:
    """Cancel the reassignments of PLAN. Replicas stay where they were."""
    from barnabas.client.admin import reassignment_steps
    from barnabas.client.admin.reassignment_plan import Plan, read_plan
    from barnabas.client.admin.reassignments import list_reassignments
    from barnabas.client.admin.replica_log_dirs import start_moves

    if (file is None) != is_all:
        raise click.UsageError("Name a PLAN or use --all")
    if file is not None:
        plan = read_plan(file)
    else:
        ongoing = list_reassignments(cluster)
        plan = Plan(tuple((topic_partition, each.replicas) for topic_partition, each in ongoing.items()), {})
    active = reassignment_steps.active_partitions(cluster, plan.replicas) if plan.partitions else []
    moves = reassignment_steps.moves_back(cluster, plan)
    if active or moves:
        confirm(f"Cancel the move of {_counted(len(active) or len(moves))}?", yes=yes)
    errors = reassignment_steps.cancel(cluster, active) if active else {}
    if errors:
        return _print_errors(view, errors)
    for _ in start_moves(cluster, moves, timeout=10.0):
        pass
    if not keep_throttles and plan.partitions:
        reassignment_steps.clear_throttles(cluster, plan)
    text = f"Cancelled {_counted(len(active))}" if active or moves else "Nothing was being moved"
    view.done(text, cancelled=len(active), log_dirs=len(moves))
    return 0


@reassign.command(cls=KafkaCommand, arguments=TOPIC, options=_ELECTION)
@click.argument("partitions", nargs=-1, metavar="TOPIC[:PARTITION]...", shell_complete=completes(topic_names))
@click.option("--all", "--all-topic-partitions", "is_all", is_flag=True, help="All partitions that need it.")
@click.option(
    "--unclean", is_flag=True, help="Elect any live replica if no replica is in sync. Loses records."
)
@yes_option
@on_cluster
def elect(
    cluster: "Cluster", view: View, partitions: tuple[str, ...], is_all: bool, unclean: bool, yes: bool
) -> int:
    """Elect the preferred replica of each partition as leader: the first in its replica list."""
    from barnabas.client.admin.elections import ELECTION_NOT_NEEDED, ElectionType, elect_leaders

    if bool(partitions) == is_all:
        raise click.UsageError("Name partitions or use --all")
    topic_partitions = None if is_all else _topic_partitions(cluster, partitions)
    if unclean:
        confirm("Elect replicas that may lack records? These are lost then.", yes=yes)
    kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
    results = elect_leaders(cluster, kind, topic_partitions)
    rows = []
    for topic, index in sorted(results):
        error = results[topic, index]
        if error is None:
            result = "elected"
        else:
            result = "not needed" if error.code == ELECTION_NOT_NEEDED else error.message
        rows.append((topic, index, result))
    view.table(Table([_TOPIC, _PARTITION, Column("RESULT", "result")], rows))
    return int(any(row[2] not in ("elected", "not needed") for row in rows))


# --- arguments and tables -----------------------------------------------------------------------------


def _topic_partitions(cluster: "Cluster", words: Sequence[str]) -> "list[TopicPartition]":
    from barnabas.client.admin.reassignments import replicas_of

    found: set[TopicPartition] = set()
    for word in words:
        topic, colon, index = word.rpartition(":")
        if not colon:
            found.update(replicas_of(cluster, [word]))
        elif index.isdecimal():
            found.add((topic, int(index)))
        else:
            raise click.UsageError(f"{word!r} is not TOPIC or TOPIC:PARTITION")
    return sorted(found)


def _changes(
    current: "Mapping[TopicPartition, Sequence[int]]", proposed: "Mapping[TopicPartition, Sequence[int]]"
) -> Table:
    columns = [
        _TOPIC,
        _PARTITION,
        Column("NOW", "now"),
        Column("THEN", "then"),
        Column("ADDED", "added", style="green"),
        Column("REMOVED", "removed", style="red"),
    ]
    rows = []
    for topic_partition in sorted(proposed):
        now, then = list(current[topic_partition]), list(proposed[topic_partition])
        added = [broker for broker in then if broker not in now]
        removed = [broker for broker in now if broker not in then]
        rows.append((*topic_partition, now, then, added or None, removed or None))
    return Table(columns, rows, colours=lambda row: "dim" if row[2] == row[3] else "")


def _progress_table(view: View, progress: "ReassignmentProgress") -> Table:
    from barnabas.cli.byte_size import shown_bytes
    from barnabas.client.admin.reassignment_progress import MOVING

    columns = [
        _TOPIC,
        _PARTITION,
        Column("NOW", "now"),
        Column("TARGET", "target"),
        Column("STATE", "state"),
        Column("PERCENT", "percent", is_number=True),
        Column("LEFT", "left_bytes", is_number=True),
    ]
    rows = []
    for each in progress.rows:
        left: str | int | None = each.left
        if left is not None and not view.as_json:
            left = shown_bytes(each.left or 0)
        now, target = (_where(each.broker, words) for words in (each.now, each.target))
        rows.append((*each.topic_partition, now, target, each.state, each.percent, left))
    moving = sum(row.state == MOVING for row in progress.rows)
    return Table(columns, rows, footer=f"{moving} of {len(rows)} moving")


def _where(broker: int | None, words: Sequence[object]) -> list[object]:
    """Brokers unchanged; a directory with its broker as prefix."""
    return list(words) if broker is None else [f"{broker}:{word}" for word in words]


def _print_errors(view: View, errors: "Mapping[TopicPartition, BrokerError]") -> int:
    for topic, index in sorted(errors):
        view.note(f"barnabas: {topic}-{index}: {errors[topic, index]}")
    return 1


def _counted(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror or error}") from error
