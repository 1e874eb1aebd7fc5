"""Replica placement: Kafka's striped placement (KIP-36, `StripedReplicaPlacer`). Pure.

Racks are used in turn, and brokers within a rack in turn, both from a random start. Each partition begins one
rack further. So the replicas of one partition are on different racks if there are enough, leaders are spread
evenly, and no broker holds a partition twice. After one round of all brokers the order is shuffled.
"""

import random
from collections.abc import Mapping

from barnabas.base.errors import InvalidReplicationFactor


class _Rack:
    """The brokers of one rack, in turn. A new round begins one broker further."""

    def __init__(self, brokers: list[int], rng: random.Random) -> None:
        self.brokers: list[int] = sorted(brokers)
        self._offset: int = rng.randrange(len(brokers))
        self._taken: int = 0
        self._round: int = 0

    def shuffle(self, rng: random.Random) -> None:
        rng.shuffle(self.brokers)
        self._round = -1

    def next(self, current_round: int) -> int | None:
        """Returns the next broker, or None if this round has used them all."""
        size = len(self.brokers)
        if self._round != current_round:
            self._round = current_round
            self._taken = 0
            self._offset = (self._offset + 1) % size
        if self._taken >= size:
            return None
        broker = self.brokers[(self._taken + self._offset) % size]
        self._taken += 1
        return broker


class StripedPlacer:
    """Places the partitions of one request. `brokers` are the live brokers with their racks."""

    def __init__(self, brokers: Mapping[int, str | None], rng: random.Random) -> None:
        self._rng: random.Random = rng
        self._broker_count: int = len(brokers)
        by_rack: dict[str | None, list[int]] = {}
        for broker, rack in brokers.items():
            by_rack.setdefault(rack, []).append(broker)
        names = sorted(by_rack, key=lambda rack: (rack is not None, rack or ""))
        self._racks: list[_Rack] = [_Rack(by_rack[name], rng) for name in names]
        self._offset: int = rng.randrange(len(names)) if names else 0
        self._round: int = 0

    def place(self, partition_count: int, replication_factor: int) -> list[tuple[int, ...]]:
        """Returns the replicas of each partition, the leader first."""
        self._check(replication_factor)
        return [self._place_one(replication_factor) for _ in range(partition_count)]

    def _check(self, replication_factor: int) -> None:
        if replication_factor <= 0:
            raise InvalidReplicationFactor(
                f"Invalid replication factor {replication_factor}: the replication factor must be positive."
            )
        if self._broker_count == 0:
            raise InvalidReplicationFactor(
                "All brokers are currently fenced, or have all their log directories cordoned."
            )
        if replication_factor > self._broker_count:
            raise InvalidReplicationFactor(
                f"The target replication factor of {replication_factor} cannot be reached because only "
                f"{self._broker_count} broker(s) are registered or some brokers have all their log "
                "directories cordoned."
            )

    def _place_one(self, replication_factor: int) -> tuple[int, ...]:
        if self._round == self._broker_count > 1:
            self._shuffle()
            self._round = 0
        racks = self._racks
        start = self._offset % len(racks)
        replicas: list[int] = []
        index = start
        while len(replicas) < replication_factor:
            broker = racks[index].next(self._round)
            if broker is not None:
                replicas.append(broker)
            index = (index + 1) % len(racks)
        self._round += 1
        self._offset = start + 1
        return tuple(replicas)

    def _shuffle(self) -> None:
        self._rng.shuffle(self._racks)
        for rack in self._racks:
            rack.shuffle(self._rng)
