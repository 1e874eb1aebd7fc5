"""`kafka-consumer-groups --reset-offsets`: prints, exports or executes the plan of each group."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.kafka.groups.columns import Column, lines_of
from barnabas.cli.kafka.groups.failure import CommandFailed, failing_as, in_execution, print_error
from barnabas.cli.kafka.groups.listing import named_groups
from barnabas.cli.kafka.groups.options import SCENARIOS
from barnabas.cli.kafka.options import Given, UsageError
from barnabas.cli.reset_csv import BadResetFile, ResetLine, from_csv, to_csv

if TYPE_CHECKING:
    from barnabas.client.admin.leaders import TopicPartition
    from barnabas.client.admin.offset_reset import NewOffset, Strategy
    from barnabas.client.cluster import Cluster


def reset_offsets(cluster: "Cluster", given: Given) -> None:
    groups = named_groups(cluster, given)
    lines = [
        ResetLine(group, each.topic, each.partition, each.offset)
        for group in groups
        for each in _reset(cluster, group, given)
    ]
    if given.has("export"):
        print(to_csv(lines, with_group=len(given.group) != 1))
        return
    width = max([15, *map(len, groups)])
    columns = [
        Column("GROUP", [line.group for line in lines], width),
        Column("TOPIC", [line.topic for line in lines], 15, grows=True),
        Column("PARTITION", [line.partition for line in lines], 10),
        Column("NEW-OFFSET", [line.offset for line in lines]),
    ]
    print("", *(lines_of(columns) if groups else ()), sep="\n")


def _reset(cluster: "Cluster", group: str, given: Given) -> "tuple[NewOffset, ...]":
    state = _state(cluster, group)
    if state not in ("Empty", "Dead"):
        print_error(
            f"Assignments can only be reset if the group '{group}' is inactive, "
            f"but the current state is {state}."
        )
        return ()
    from barnabas.client.admin.group_offsets import commit_offsets

    plan = _plan(cluster, group, given)
    if given.has("execute"):
        with failing_as(str):
            commit_offsets(cluster, group, {(each.topic, each.partition): each.offset for each in plan})
    return plan


def _state(cluster: "Cluster", group: str) -> str:
    from barnabas.client.admin.group_description import NotAConsumerGroup, state_of

    try:
        with failing_as(in_execution):
            return state_of(cluster, group)
    except NotAConsumerGroup as error:
        raise CommandFailed(
            f"java.util.concurrent.ExecutionException: java.lang.IllegalArgumentException: {error}"
        ) from error


def _plan(cluster: "Cluster", group: str, given: Given) -> "tuple[NewOffset, ...]":
    from barnabas.client.admin.offset_reset import NothingToShift, plan_reset
    from barnabas.client.admin.partition_scope import UnusablePartitions, check_partitions

    partitions = _scope(cluster, group, given)
    with failing_as(in_execution):
        try:
            check_partitions(cluster, partitions)
        except UnusablePartitions as error:
            raise CommandFailed(str(error)) from error
    strategy = _strategy(group, given)
    if strategy is None:
        print_error(f"No reset plan for group {group} found")
        return ()
    try:
        with failing_as(in_execution):
            plan = plan_reset(cluster, group, partitions, strategy)
    except NothingToShift as error:
        raise UsageError(str(error)) from error
    for each in plan:
        _warn(each)
    return plan


def _scope(cluster: "Cluster", group: str, given: Given) -> "list[TopicPartition]":
    from barnabas.client.admin.group_offsets import committed_offsets
    from barnabas.client.admin.partition_scope import BadScope, resolve_scopes

    if given.has("all-topics"):
        with failing_as(in_execution):
            return sorted(committed_offsets(cluster, group))
    if given.has("topic"):
        try:
            with failing_as(str):
                return resolve_scopes(cluster, given.topic)
        except BadScope as error:
            raise UsageError(str(error)) from error
    if not given.has("from-file"):
        raise UsageError("One of the reset scopes should be defined: --all-topics, --topic.")
    return []


def _strategy(group: str, given: Given) -> "Strategy | None":
    """Returns None if the file has no line for the group."""
    from barnabas.client.admin import iso_time, offset_reset

    try:
        if given.has("to-datetime"):
            return offset_reset.ToTime(iso_time.parse_datetime(given.to_datetime))
    except iso_time.BadTime as error:
        raise CommandFailed(f"java.text.ParseException: {error}") from error
    try:
        if given.has("by-duration"):
            now = time.time_ns() // 1_000_000
            return offset_reset.ToTime(now - iso_time.parse_duration(given.by_duration))
    except iso_time.BadTime as error:
        raise CommandFailed(str(error)) from error
    if given.has("from-file"):
        offsets = _from_file(given).get(group)
        return None if offsets is None else offset_reset.ToOffsets(offsets)
    if given.has("to-offset"):
        return offset_reset.ToOffset(given.to_offset)
    if given.has("shift-by"):
        return offset_reset.ShiftBy(given.shift_by)
    if given.has("to-earliest"):
        return offset_reset.ToEarliest()
    if given.has("to-latest"):
        return offset_reset.ToLatest()
    if given.has("to-current"):
        return offset_reset.ToCurrent()
    listed = ", ".join(f"[{name}]" for name in SCENARIOS)
    raise UsageError(f"Option '[reset-offsets]' requires one of the following scenarios: [{listed}]")


def _from_file(given: Given) -> "dict[str, dict[TopicPartition, int]]":
    path = given.from_file
    try:
        return dict(from_csv(Path(path).read_text(), given.group))
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"java.io.IOException: Unable to read file {path}") from error
    except BadResetFile as error:
        raise CommandFailed(f"{path}: {error}") from error


def _warn(new: "NewOffset") -> None:
    from barnabas.client.admin.offset_reset import Adjustment

    match new.adjustment:
        case Adjustment.NO_RECORD_THAT_LATE:
            print(
                f"\nWarn: Partition {new.partition} from topic {new.topic} is empty. "
                "Falling back to latest known offset."
            )
        case Adjustment.HIGHER_THAN_END | Adjustment.LOWER_THAN_START:
            edge = "higher than latest" if new.offset < (new.requested or 0) else "lower than earliest"
            print(
                f"WARN New offset ({new.requested}) is {edge} offset for topic partition "
                f"{new.topic}-{new.partition}. Value will be set to {new.offset}",
                file=sys.stderr,
            )
