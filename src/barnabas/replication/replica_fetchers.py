"""Which fetcher follows which partition (Kafka's ReplicaFetcherManager).

A leader has up to `num.replica.fetchers` fetchers, each with its own connection. A partition always has the
same one of them. A change of role moves a partition to the fetchers of its new leader.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from barnabas.base.ids import TopicPartition
from barnabas.replication.partition import Partition
from barnabas.replication.replica_fetcher import ReplicaFetcher
from barnabas.replication.roles import Follower


class FetcherKey(NamedTuple):
    leader_id: int
    slot: int


MakeFetcher = Callable[[FetcherKey], ReplicaFetcher]
Lookup = Callable[[TopicPartition], Partition | None]


class ReplicaFetchers:
    def __init__(self, count: int, find: Lookup, make: MakeFetcher) -> None:
        """`count` is the number of fetchers for each leader."""
        self._count: int = count
        self._find: Lookup = find
        self._make: MakeFetcher = make
        self._fetchers: dict[FetcherKey, ReplicaFetcher] = {}
        self._keys: dict[TopicPartition, FetcherKey] = {}
        self._is_stopped: bool = False

    def on_role(self, name: TopicPartition) -> None:
        """The role of this broker for a partition may have changed."""
        partition = self._find(name)
        role = None if partition is None else partition.role
        key = None
        if isinstance(role, Follower) and role.has_leader and not self._is_stopped:
            key = FetcherKey(role.leader_id, (31 * sum(name.topic.encode()) + name.partition) % self._count)
        known = self._keys.get(name)
        if known is not None and known != key:
            self._fetchers[known].remove(name)
            del self._keys[name]
        if key is not None and partition is not None:
            fetcher = self._fetchers.get(key)
            if fetcher is None:
                fetcher = self._fetchers[key] = self._make(key)
            self._keys[name] = key
            fetcher.add(partition)

    async def stop(self) -> None:
        self._is_stopped = True
        await asyncio.gather(*(fetcher.stop() for fetcher in self._fetchers.values()))
