"""`kafka-consumer-groups --list`, and the groups that a command selects."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.cli.kafka.groups.failure import failing_as, in_execution
from barnabas.cli.kafka.options import Given, UsageError
from barnabas.cli.tool_errors import exception_text

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

_SHORTEST, _GAP = 15, 10


def print_groups(cluster: "Cluster", given: Given) -> None:
    if not given.has("state") and not given.has("type"):
        for id_ in all_groups(cluster):
            print(id_)
        return
    from barnabas.client.admin.groups import CLASSIC, CONSUMER, STATES, list_consumer_groups

    states = _chosen(given.state, STATES, "Invalid state list '{}'. Valid states are: ")
    types = _chosen(given.type, (CONSUMER, CLASSIC), "Invalid types list '{}'. Valid types are: ")
    with failing_as(exception_text):
        groups = list_consumer_groups(cluster, states, types)
    width = max([_SHORTEST, *(len(group.id) for group in groups)]) + _GAP
    rows = [("GROUP", "TYPE", "STATE"), *((group.id, group.type, group.state) for group in groups)]
    for id_, type_, state in rows:
        columns = [id_.ljust(width)]
        if given.has("type"):
            columns.append(type_.ljust(20))
        if given.has("state"):
            columns.append(state.ljust(20))
        print(" ".join(columns))


def _chosen(text: str | None, names: Iterable[str], complaint: str) -> list[str]:
    if not text:
        return []
    by_case = {name.lower(): name for name in names}
    words = [word.strip().lower() for word in text.split(",")]
    if any(word not in by_case for word in words):
        raise UsageError(complaint.format(text) + ", ".join(by_case.values()))
    return [by_case[word] for word in words]


def all_groups(cluster: "Cluster") -> list[str]:
    """The names of all consumer groups."""
    from barnabas.client.admin.groups import CLASSIC, CONSUMER, list_consumer_groups

    with failing_as(in_execution):
        return [group.id for group in list_consumer_groups(cluster, types=(CLASSIC, CONSUMER))]


def named_groups(cluster: "Cluster", given: Given) -> list[str]:
    """The names of the groups that --group and --all-groups select."""
    return all_groups(cluster) if given.has("all-groups") else sorted(set(given.group))
