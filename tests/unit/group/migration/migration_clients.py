"""Clients of both protocols in one group, each following its protocol step by step."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.unit.group.consumer.consumer_shard import Client
from tests.unit.group.migration.migration_shard import (
    NO_GENERATION,
    MigrationShard,
    by_topic,
    code,
    flat,
    subscription,
)

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, GroupIdNotFound, UnreleasedInstanceId
from barnabas.group.migration.consumer_protocol import (
    parse_assignment,
    parse_subscription,
    serialize_assignment,
)
from barnabas.metadata.image import ClusterImage
from barnabas.wire import Reply


class ClassicClient:
    """A consumer with the classic protocol, eager or cooperative; `beat` is one request or one answer.

    `holds` is what it works on: from the sync that assigns it until it gives it up, to join again (eager),
    or because another sync does not name it any more (cooperative).
    """

    def __init__(
        self,
        shard: MigrationShard,
        topics: Iterable[str] = ("orders",),
        *,
        is_cooperative: bool = False,
        instance_id: str | None = None,
    ) -> None:
        self.shard = shard
        self.topics = tuple(topics)
        self.is_cooperative = is_cooperative
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = NO_GENERATION
        self.holds: set[tuple[str, int]] = set()
        self.is_fenced = False
        self.rebalances = 0
        self._step = self._join
        self._assignments: dict[str, bytes] = {}
        self._awaited: tuple[Deferred[Reply], Any] | None = None

    @property
    def protocol(self) -> str:
        return "cooperative-sticky" if self.is_cooperative else "range"

    @property
    def is_waiting(self) -> bool:
        return self._awaited is not None and not self._awaited[0].is_done

    def beat(self) -> None:
        if self.is_waiting or self.is_fenced:
            return
        if self._awaited is None:
            self._step()
            return
        (answer, receive), self._awaited = self._awaited, None
        receive(code(answer), None if answer.error is not None else answer.result())

    def settle(self) -> None:
        """Send all requests that are due. The last is a heartbeat, unless it waits for others."""
        for _ in range(8):
            self.beat()

    def leave(self) -> None:
        self.holds.clear()
        if self.instance_id is None:
            self.shard.leave_group((self.member_id, None))

    def rejoin(self) -> None:
        self._step = self._join

    # --- one step ----------------------------------------------------------------------------------------

    def _join(self) -> None:
        if not self.is_cooperative:
            self.holds.clear()
        metadata = subscription(self.topics, self.holds, self.generation)
        answer = self.shard.join_group(
            self.member_id, protocols={self.protocol: metadata}, instance_id=self.instance_id
        )
        self._awaited = (answer, self._joined)

    def _joined(self, error: ErrorCode, reply: Reply | None) -> None:
        if error is ErrorCode.none and reply is not None:
            self.rebalances += 1
            self.member_id, self.generation = reply.member_id, reply.generation_id
            self._assignments = {}
            if reply.leader == self.member_id and not reply.skip_assignment:
                subscriptions = {each.member_id: each.metadata for each in reply.members}
                self._assignments = assign(subscriptions, self.shard.environment.image)
            self._step = self._sync
        elif error is ErrorCode.member_id_required and reply is not None:
            self.member_id = reply.member_id
        else:
            self._failed(error)

    def _sync(self) -> None:
        answer = self.shard.sync_group(
            self.member_id,
            self.generation,
            self._assignments,
            instance_id=self.instance_id,
            protocol=self.protocol,
        )
        self._awaited = (answer, self._synced)

    def _synced(self, error: ErrorCode, reply: Reply | None) -> None:
        if error is not ErrorCode.none or reply is None:
            self._failed(error)
            return
        assigned = flat(parse_assignment(reply.assignment).partitions)
        gives_up = bool(self.holds - assigned)
        self.holds = set(assigned)
        self._step = self._join if gives_up else self._heartbeat

    def _heartbeat(self) -> None:
        error = self.shard.classic_heartbeat(self.member_id, self.generation, instance_id=self.instance_id)
        if error is not ErrorCode.none:
            self._failed(error)

    def _failed(self, error: ErrorCode) -> None:
        self._step = self._join
        if error in (ErrorCode.unknown_member_id, ErrorCode.illegal_generation, ErrorCode.fenced_instance_id):
            self.holds.clear()
            self.generation = NO_GENERATION
            if error is ErrorCode.unknown_member_id:
                self.member_id = ""
            self.is_fenced = error is ErrorCode.fenced_instance_id
            return
        assert error in (
            ErrorCode.rebalance_in_progress,
            ErrorCode.coordinator_not_available,
            ErrorCode.not_coordinator,
        ), error


class ConsumerClient(Client):
    """A client that also rejoins if its group has become a classic group.

    So does one whose former self could not say goodbye, until that one's session ends.
    """

    def beat(self) -> None:
        try:
            super().beat()
        except (GroupIdNotFound, UnreleasedInstanceId):
            self._abandon()


AnyClient = ClassicClient | ConsumerClient


def assign(subscriptions: Mapping[str, bytes], image: ClusterImage) -> dict[str, bytes]:
    """The assignment of a leader: even, and without partitions that another member still owns."""
    wanted = {member_id: parse_subscription(metadata) for member_id, metadata in subscriptions.items()}
    owned = {member_id: flat(each.owned) for member_id, each in wanted.items()}
    topics = {topic for each in wanted.values() for topic in each.topics if topic in image.topics}
    everything = {(topic, number) for topic in topics for number in image.topics[topic].partitions}
    fewest, more = divmod(len(everything), len(wanted))
    assigned: dict[str, set[tuple[str, int]]] = {}
    for index, member_id in enumerate(sorted(wanted, key=lambda each: (-len(owned[each]), each))):
        limit = fewest + (index < more)
        assigned[member_id] = set(sorted(owned[member_id] & everything)[:limit])
    for partition in sorted(everything.difference(*owned.values())):
        min(assigned.values(), key=len).add(partition)
    return {member_id: serialize_assignment(by_topic(each), 3) for member_id, each in assigned.items()}


def check_nothing_is_held_twice(clients: Iterable[AnyClient]) -> None:
    holders: dict[tuple[str, int], str] = {}
    for client in clients:
        for partition in client.holds:
            other = holders.setdefault(partition, client.member_id)
            assert other == client.member_id, f"{partition} is with {other} and {client.member_id}"
