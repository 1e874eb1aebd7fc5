"""Replication throttles of reassignments: sets and clears them (KIP-73).

A throttle consists of rates of brokers, and per topic the lists of replicas they apply to, as text like
`0:1,0:2` (partition:broker). Leaders are throttled on the brokers that have the partition, followers on the
brokers that get it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.client.admin.configs import BROKER, DELETE, TOPIC, Change, Resource, alter_configs
from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.reassignments import Reassignment
from barnabas.client.cluster import Cluster

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"


class Move(NamedTuple):
    """The source and destination brokers of one partition."""

    sources: frozenset[int]
    destinations: frozenset[int]


Moves = Mapping[TopicPartition, Move]


def moves_of(
    ongoing: Mapping[TopicPartition, Reassignment],
    targets: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
) -> dict[TopicPartition, Move]:
    """The moves of active reassignments and of new targets.

    An active reassignment with a new target keeps its sources.
    """
    moves = {}
    for topic_partition, each in ongoing.items():
        moves[topic_partition] = Move(
            frozenset(each.replicas) - frozenset(each.adding), frozenset(each.adding)
        )
    for topic_partition, replicas in targets.items():
        sources = (
            moves[topic_partition].sources
            if topic_partition in moves
            else frozenset(current[topic_partition])
        )
        moves[topic_partition] = Move(sources, frozenset(replicas) - sources)
    return moves


def leader_throttles(moves: Moves) -> dict[str, str]:
    """Topic to the value of `leader.replication.throttled.replicas`."""
    return _joined((topic_partition, move.sources) for topic_partition, move in moves.items())


def follower_throttles(moves: Moves) -> dict[str, str]:
    """Topic to the value of `follower.replication.throttled.replicas`."""
    return _joined(
        (topic_partition, move.destinations - move.sources) for topic_partition, move in moves.items()
    )


def moving_brokers(moves: Moves) -> list[int]:
    return sorted({broker for move in moves.values() for broker in move.sources | move.destinations})


def throttle_moves(cluster: Cluster, moves: Moves, rate: int) -> None:
    """Limits the traffic of these moves to `rate` bytes per second on each broker, in each direction."""
    leaders, followers = leader_throttles(moves), follower_throttles(moves)
    alter_configs(
        cluster,
        {
            Resource(TOPIC, topic): [
                Change(LEADER_REPLICAS, leaders[topic]),
                Change(FOLLOWER_REPLICAS, followers[topic]),
            ]
            for topic in sorted(leaders)
        },
    )
    _set_on_brokers(cluster, moving_brokers(moves), rate, (LEADER_RATE, FOLLOWER_RATE))


def throttle_log_dirs(cluster: Cluster, brokers: Iterable[int], rate: int) -> None:
    """Limits moves between log directories of a broker to `rate` bytes per second."""
    _set_on_brokers(cluster, sorted(set(brokers)), rate, (LOG_DIR_RATE,))


def clear_broker_throttles(cluster: Cluster, brokers: Collection[int]) -> None:
    names = (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)
    _clear(cluster, [Resource(BROKER, str(broker)) for broker in sorted(brokers)], names)


def clear_topic_throttles(cluster: Cluster, topics: Collection[str]) -> None:
    resources = [Resource(TOPIC, topic) for topic in sorted(topics)]
    _clear(cluster, resources, (LEADER_REPLICAS, FOLLOWER_REPLICAS))


def _joined(replicas: Iterable[tuple[TopicPartition, Collection[int]]]) -> dict[str, str]:
    parts: dict[str, set[str]] = {}
    for (topic, partition), brokers in replicas:
        parts.setdefault(topic, set()).update(f"{partition}:{broker}" for broker in brokers)
    return {topic: ",".join(sorted(words)) for topic, words in parts.items()}


def _set_on_brokers(cluster: Cluster, brokers: Iterable[int], rate: int, names: Sequence[str]) -> None:
    changes = [Change(name, str(rate)) for name in names]
    alter_configs(cluster, {Resource(BROKER, str(broker)): changes for broker in brokers})


def _clear(cluster: Cluster, resources: Iterable[Resource], names: Sequence[str]) -> None:
    changes = [Change(name, None, DELETE) for name in names]
    alter_configs(cluster, dict.fromkeys(resources, changes))
