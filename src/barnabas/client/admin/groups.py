"""ListGroups and DeleteGroups: lists and deletes the groups of a cluster.

A broker lists the groups that it coordinates, so the request goes to all brokers. Names of states and types
are Kafka's own (`Stable`, `Classic`), independent of the case that the broker uses.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from barnabas.client.cluster import GROUP, Cluster
from barnabas.client.errors import BrokerError, Unsupported, check

CLASSIC, CONSUMER = "Classic", "Consumer"
"""The types of groups whose members are consumers."""

STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
)
"""States of a consumer group."""

UNKNOWN = "Unknown"
CONSUMER_PROTOCOL = "consumer"
"""The protocol type of consumers; groups of Kafka Connect and others have their own."""

_TYPES = (CLASSIC, CONSUMER, "Share", "Streams")
_STATES_SINCE, _TYPES_SINCE = 4, 5


class GroupListing(NamedTuple):
    id: str
    state: str
    """`Unknown` if the broker is too old to return it."""
    type: str
    protocol_type: str
    """`consumer`, or empty for a group that only has offsets."""

    @property
    def is_of_consumers(self) -> bool:
        return self.protocol_type in ("", CONSUMER_PROTOCOL)


def list_groups(
    cluster: Cluster, states: Collection[str] = (), types: Collection[str] = ()
) -> list[GroupListing]:
    """Groups of all kinds, in these states and of these types (all, if none is named), by name."""
    found = {
        each.id: each for node in sorted(cluster.nodes) for each in _request(cluster, node, states, types)
    }
    return [found[id_] for id_ in sorted(found)]


def list_consumer_groups(
    cluster: Cluster, states: Collection[str] = (), types: Collection[str] = ()
) -> list[GroupListing]:
    """Consumer groups only."""
    return [each for each in list_groups(cluster, states, types) if each.is_of_consumers]


def _request(
    cluster: Cluster, node: int, states: Collection[str], types: Collection[str]
) -> list[GroupListing]:
    version = cluster.version_of("list_groups", to=node)
    if states and version < _STATES_SINCE:
        raise Unsupported("The broker does not list groups by state: it is older than Kafka 2.6")
    if types and version < _TYPES_SINCE and CLASSIC not in types:
        return []  # a broker without group types has classic groups only

    def attempt() -> list[GroupListing]:
        answer = cluster.request("list_groups", to=node, states_filter=list(states), types_filter=list(types))
        check(answer.error_code)
        return [
            GroupListing(
                each.group_id,
                named(each.group_state, STATES),
                named(each.group_type, _TYPES),
                each.protocol_type,
            )
            for each in answer.groups
        ]

    return cluster.retried(attempt)


def named(word: str, names: Iterable[str]) -> str:
    """Matches `word` without case. Returns `Unknown` if no name matches."""
    return next((name for name in names if name.lower() == word.lower()), UNKNOWN)


def delete_groups(cluster: Cluster, groups: Iterable[str]) -> dict[str, BrokerError | None]:
    """Deletes groups and their offsets. Returns the error of each group, or None if it was deleted."""
    return {group: _delete(cluster, group) for group in dict.fromkeys(groups)}


def _delete(cluster: Cluster, group: str) -> BrokerError | None:
    def attempt() -> None:
        answer = cluster.send_to_coordinator(GROUP, group, "delete_groups", groups_names=[group])
        for result in answer.results:
            check(result.error_code)

    try:
        cluster.retried(attempt)
    except BrokerError as error:
        return error
    return None
