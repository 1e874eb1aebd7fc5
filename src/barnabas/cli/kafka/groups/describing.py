"""`kafka-consumer-groups --describe`: offsets, members or state of groups."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.cli.kafka.groups.columns import Column, lines_of
from barnabas.cli.kafka.groups.failure import CommandFailed, failing_as, in_execution, print_error
from barnabas.cli.kafka.groups.listing import named_groups
from barnabas.cli.kafka.options import Given
from barnabas.cli.tool_errors import exception_text

if TYPE_CHECKING:
    from barnabas.client.admin.group_description import GroupDescription
    from barnabas.client.cluster import Cluster

_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


def print_descriptions(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.group_description import NotAConsumerGroup, describe_groups

    names = named_groups(cluster, given)
    try:
        with failing_as(exception_text):
            groups = describe_groups(cluster, names)
    except NotAConsumerGroup as error:
        raise CommandFailed(f"java.lang.IllegalArgumentException: {error}") from error
    for group in groups:
        if given.has("members"):
            _print_members(group, given.verbose)
        elif given.has("state"):
            _print_state(group, given.verbose)
        else:
            _print_offsets(cluster, group, given.verbose)


def _has_rows(group: "GroupDescription", count: int) -> bool:
    """Prints a message about the state of the group. Returns whether a table follows."""
    if group.state == "Dead":
        print_error(f"Consumer group '{group.id}' does not exist.")
        return False
    sys.stdout.flush()
    if group.state == "Empty":
        print(f"\nConsumer group '{group.id}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{group.id}' is rebalancing.", file=sys.stderr)
    elif group.state != "Stable":
        raise CommandFailed(f"Expected a valid consumer group state, but found '{group.state}'.")
    return count > 0


def _print_offsets(cluster: "Cluster", group: "GroupDescription", verbose: bool) -> None:
    from barnabas.client.admin.group_lag import lag_of

    with failing_as(in_execution):
        rows = lag_of(cluster, group)
    if not _has_rows(group, len(rows)):
        return
    epochs = [None if row.committed is None else row.committed.leader_epoch for row in rows]
    members = [row.member for row in rows]
    columns = [
        Column("GROUP", [group.id] * len(rows), 15, grows=True),
        Column("TOPIC", [row.topic for row in rows], 15, grows=True),
        Column("PARTITION", [row.partition for row in rows], 10),
        *([Column("LEADER-EPOCH", epochs, 15)] if verbose else []),
        Column("CURRENT-OFFSET", [row.current for row in rows], 15),
        Column("LOG-END-OFFSET", [row.end for row in rows], 15),
        Column("LAG", [row.lag for row in rows], 15),
        Column("CONSUMER-ID", [each and each.id for each in members], 15, grows=True),
        Column("HOST", [each and each.host for each in members], 15, grows=True),
        Column("CLIENT-ID", [each and each.client_id for each in members]),
    ]
    print("", *lines_of(columns), sep="\n")


def _print_members(group: "GroupDescription", verbose: bool) -> None:
    members = group.members
    _has_rows(group, len(members))  # Kafka prints the titles even if nothing follows
    columns = [
        Column("GROUP", [group.id] * len(members), 15, grows=True),
        Column("CONSUMER-ID", [each.id for each in members], 15, grows=True),
    ]
    if any(each.instance_id for each in members):
        instances = [each.instance_id or "" for each in members]
        columns.append(Column("GROUP-INSTANCE-ID", instances, 17, grows=True))
    columns += [
        Column("HOST", [each.host for each in members], 15, grows=True),
        Column("CLIENT-ID", [each.client_id for each in members], 15, grows=True),
        Column("#PARTITIONS", [len(each.assignment) for each in members], 15),
    ]
    columns += _verbose_columns(group) if verbose else [Column("", [""] * len(members))]
    print("", *lines_of(columns), sep="\n")


def _verbose_columns(group: "GroupDescription") -> list[Column]:
    members = group.members
    have = [assignment_text(each.assignment) for each in members]
    get = [assignment_text(each.target or ()) for each in members]
    columns = [
        Column("CURRENT-EPOCH", [each.epoch for each in members], 15),
        Column("CURRENT-ASSIGNMENT", have, 20, grows=True),
        Column("TARGET-EPOCH", [group.target_epoch] * len(members), 15),
        Column("TARGET-ASSIGNMENT", get, 20, grows=True),
    ]
    if {True, False} <= {
        each.is_upgraded for each in members
    }:  # the group is migrating to the consumer protocol
        upgraded = [None if each.is_upgraded is None else str(each.is_upgraded).lower() for each in members]
        columns.append(Column("UPGRADED", upgraded))
    return columns


def assignment_text(partitions: Iterable[tuple[str, int]]) -> str | None:
    """`a:0,1;b:2`; None for no partitions."""
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    listed = sorted(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in topics.items())
    return ";".join(listed) or None


def _print_state(group: "GroupDescription", verbose: bool) -> None:
    if not _has_rows(group, 1):
        return
    node = group.coordinator
    columns = [
        Column("GROUP", [group.id], 15, grows=True),
        Column("COORDINATOR (ID)", [f"{node.host}:{node.port}  ({node.id})"], 25, grows=True),
        Column("ASSIGNMENT-STRATEGY", [group.assignor or None], 20),
        Column("STATE", [group.state], 20),
    ]
    if verbose:
        columns.append(Column("GROUP-EPOCH", [group.epoch], 15))
        columns.append(Column("TARGET-ASSIGNMENT-EPOCH", [group.target_epoch], 25))
    columns.append(Column("#MEMBERS", [len(group.members)]))
    print("", *lines_of(columns), sep="\n")
