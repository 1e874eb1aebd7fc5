"""A group of three goes from the classic to the consumer protocol and back, one member at a time."""

from collections.abc import Iterable

import pytest
from kio.schema.offset_fetch.v9.request import OffsetFetchRequestGroup
from kio.schema.types import GroupId
from tests.unit.group.consumer.consumer_shard import GROUP
from tests.unit.group.migration.migration_clients import (
    AnyClient,
    ClassicClient,
    ConsumerClient,
    check_nothing_is_held_twice,
)
from tests.unit.group.migration.migration_shard import (
    MigrationShard,
)

from barnabas.base.errors import CoordinatorNotAvailable
from barnabas.group.environment import RequestContext
from barnabas.group.records import CommittedOffset, OffsetCommit
from barnabas.runtime.outcome import Outcome

PARTITIONS = 6
COMMITTED = {number: 100 + number for number in range(PARTITIONS)}


class Rollout:
    """Every single request is followed by the checks of what must always hold."""

    def __init__(self, shard: MigrationShard, *, is_cooperative: bool, are_static: bool) -> None:
        self.shard = shard
        self.is_cooperative = is_cooperative
        self.are_static = are_static
        self.clients: dict[str, AnyClient] = {}
        self.joined = 0

    def classic(self, name: str) -> None:
        instance_id = name if self.are_static else None
        self._put(
            name,
            ClassicClient(self.shard, is_cooperative=self.is_cooperative, instance_id=instance_id),
        )

    def consumer(self, name: str) -> None:
        self.joined += 1
        instance_id = name if self.are_static else None
        self._put(name, ConsumerClient(self.shard, f"{name}{self.joined}", instance_id=instance_id))

    def _put(self, name: str, client: AnyClient) -> None:
        old = self.clients.pop(name, None)
        if old is not None:
            self._leave(old)
            self.check()
        self.clients[name] = client

    def _leave(self, client: AnyClient) -> None:
        if isinstance(client, ConsumerClient) and self.are_static:
            client.leave_for_a_while()
        else:
            client.leave()

    def settle(self) -> None:
        for _ in range(12):
            for client in list(self.clients.values()):
                for _ in range(4):
                    client.beat()
                    self.check()
                    if isinstance(client, ConsumerClient):
                        client.reconcile()
            self.shard.driver.advance(500)
            self.check()

    def check(self) -> None:
        check_nothing_is_held_twice(self.clients.values())
        self.shard.check_log()
        assert committed(self.shard) == COMMITTED

    def check_settled(self, kind: str) -> None:
        assert (self.shard.kind, self.shard.state) == (kind, "Stable")
        held = [len(client.holds) for client in self.clients.values()]
        assert held == [PARTITIONS // len(self.clients)] * len(self.clients)


def committed(shard: MigrationShard) -> dict[int, int]:
    group = OffsetFetchRequestGroup(group_id=GroupId(GROUP), topics=None)
    reply = shard.shard.fetch_offsets(RequestContext(9, "admin", "/127.0.0.1"), group, False)
    return {
        partition.partition_index: partition.committed_offset
        for topic in reply.topics
        for partition in topic.partitions
    }


def shard_with_offsets() -> MigrationShard:
    shard = MigrationShard()
    commits = [
        OffsetCommit(GROUP, "orders", number, CommittedOffset(offset, -1, "", 0))
        for number, offset in COMMITTED.items()
    ]
    shard.driver.run(Outcome(None, commits))
    return shard


@pytest.mark.parametrize("are_static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("is_cooperative", [False, True], ids=["eager", "cooperative"])
def test_members_change_their_protocol_one_by_one_and_back(is_cooperative: bool, are_static: bool) -> None:
    shard = shard_with_offsets()
    rollout = Rollout(shard, is_cooperative=is_cooperative, are_static=are_static)
    for name in "abc":
        rollout.classic(name)
    rollout.settle()
    rollout.check_settled("classic")
    for name in "abc":
        rollout.consumer(name)
        rollout.settle()
        rollout.check_settled("consumer")
    for name, kind in (("a", "consumer"), ("b", "consumer"), ("c", "classic")):
        rollout.classic(name)
        rollout.settle()
        rollout.check_settled(kind)


@pytest.mark.parametrize("is_cooperative", [False, True], ids=["eager", "cooperative"])
def test_the_coordinator_moves_in_the_middle(is_cooperative: bool) -> None:
    rollout = Rollout(shard_with_offsets(), is_cooperative=is_cooperative, are_static=False)
    for name in "abc":
        rollout.classic(name)
    rollout.settle()
    for name, kind in zip("abc", ["consumer"] * 3, strict=True):
        rollout.consumer(name)
        rollout.clients[name].beat()
        move(rollout)
        rollout.settle()
        rollout.check_settled(kind)
    for name, kind in zip("abc", ["consumer", "consumer", "classic"], strict=True):
        rollout.classic(name)
        move(rollout)
        rollout.settle()
        rollout.check_settled(kind)


def move(rollout: Rollout) -> None:
    rollout.shard = rollout.shard.reloaded()
    for client in rollout.clients.values():
        client.shard = rollout.shard


@pytest.mark.parametrize("is_cooperative", [False, True], ids=["eager", "cooperative"])
def test_every_append_fails_once(is_cooperative: bool) -> None:
    shard = shard_with_offsets()
    rollout = Rollout(shard, is_cooperative=is_cooperative, are_static=False)
    for name in "ab":
        rollout.classic(name)
    rollout.settle()
    for kind in ("consumer", "classic"):
        for name in "ab":
            getattr(rollout, kind)(name)
            _settle_with_failures(shard, rollout.clients.values(), rollout)
        rollout.settle()
        rollout.check_settled(kind)


def _settle_with_failures(shard: MigrationShard, clients: Iterable[AnyClient], rollout: Rollout) -> None:
    for _ in range(12):
        for client in clients:
            shard.driver.fail_next(CoordinatorNotAvailable())
            if isinstance(client, ConsumerClient):
                client.try_beat()
                client.reconcile()
            else:
                client.beat()
            rollout.check()
            shard.driver._failures.clear()
            if isinstance(client, ConsumerClient):
                client.try_beat()
                client.reconcile()
            else:
                client.beat()
            rollout.check()
        shard.driver.advance(500)
