"""A shard that has only offsets, with groups whose results the test sets, and requests of clients."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

from kio.index import load_request_schema
from kio.schema.offset_delete.v0.request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kio.schema.txn_offset_commit.v5.request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.strategies.entities import written
from tests.unit.group.shard_driver import ShardDriver, shard_environment

from barnabas.base.clock import ManualClock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.group.environment import RequestContext
from barnabas.group.group import ALLOW, CLASSIC, CommitValidator, ExpirationCondition, Group
from barnabas.group.groups import Groups
from barnabas.group.offsets.offsets import Offsets
from barnabas.group.records import (
    ClassicGroupMetadata,
    CommittedOffset,
    GroupRecord,
    OffsetCommit,
    TopicCommit,
)
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.wire import Reply
from barnabas.wire.offset_commit import OffsetCommitRequest, parse_offset_commit

ORDERS = UUID(int=7)
PAYMENTS = UUID(int=8)
OLD_ORDERS = UUID(int=6)
RETENTION_MS = 1_000_000


def topic(name: str, topic_id: UUID, partitions: int) -> TopicImage:
    return TopicImage(
        name,
        topic_id,
        {number: PartitionImage(number, 1, 0, (1,), (1,), (), (), 0) for number in range(partitions)},
    )


def cluster(*topics: TopicImage) -> ClusterImage:
    return ClusterImage(
        topics={each.name: each for each in topics}, topic_by_id={each.topic_id: each for each in topics}
    )


IMAGE = cluster(topic("orders", ORDERS, 3), topic("payments", PAYMENTS, 1))


class SaidGroup:
    """A group whose every answer is set by the test."""

    def __init__(self, group_id: str, group_type: str = CLASSIC, state_name: str = "Empty") -> None:
        self.group_id: str = group_id
        self.type: str = group_type
        self.state_name: str = state_name
        self.protocol_type: str = ""
        self.is_empty: bool = state_name == "Empty"
        self.subscribed: set[str] = set()
        self.refusal: KafkaError | None = None
        self.partition_refusals: dict[tuple[str, int], KafkaError] = {}
        self.emptied_ms: int | None = None
        self.expires: bool = True
        self.validated: list[tuple[Any, ...]] = []

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        version: int,
        *,
        is_transactional: bool,
    ) -> CommitValidator:
        self.validated.append((member_id, group_instance_id, generation_or_epoch, version, is_transactional))
        self._refuse()
        return self._validate_partition if self.partition_refusals else ALLOW

    def _validate_partition(self, name: str, partition: int) -> None:
        if (name, partition) in self.partition_refusals:
            raise self.partition_refusals[name, partition]

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        self.validated.append((member_id, member_epoch))
        self._refuse()

    def validate_offset_delete(self) -> None:
        self._refuse()

    def validate_delete(self) -> None:
        self._refuse()

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed

    def tombstones(self) -> Sequence[GroupRecord]:
        return [ClassicGroupMetadata(self.group_id, None)]

    def expiration_condition(self) -> ExpirationCondition | None:
        if not self.expires:
            return None
        emptied_ms = self.emptied_ms
        return ExpirationCondition(
            lambda offset: offset.commit_timestamp_ms if emptied_ms is None else emptied_ms
        )


class OffsetsShard:
    """Offsets of one shard, driven as the runtime does it."""

    def __init__(self, image: ClusterImage = IMAGE, **settings: Any) -> None:
        self.clock: ManualClock = ManualClock()
        settings = {"offsets_retention_ms": RETENTION_MS} | settings
        self.environment = shard_environment(self.clock, image, **settings)
        self.groups: Groups = Groups()
        self.renewed: list[tuple[str, str]] = []
        self.offsets: Offsets = Offsets(
            self.groups,
            self.environment,
            create_simple_group=lambda group_id: self.group(group_id),
            renew_session=lambda group, member_id: self.renewed.append((group.group_id, member_id)),
        )
        self.driver: ShardDriver = ShardDriver(self, self.environment)

    def group(self, group_id: str, group_type: str = CLASSIC, state_name: str = "Empty") -> SaidGroup:
        group = SaidGroup(group_id, group_type, state_name)
        self.groups.put(group)
        return group

    def replay(self, record: GroupRecord | TopicCommit, *, producer_id: int = -1) -> None:
        if isinstance(record, TopicCommit):
            self.offsets.replay_topic(record)
        elif isinstance(record, OffsetCommit):
            self.offsets.replay(record, producer_id=producer_id)
        elif isinstance(record, ClassicGroupMetadata) and record.value is None:
            self.groups.remove(record.group_id)

    def put(
        self, group_id: str, name: str, partition: int, offset: int, *, producer_id: int = -1, **rest: Any
    ) -> None:
        """Replay a record of the log."""
        value = CommittedOffset(offset, -1, "", self.clock.now_ms(), **rest)
        self.replay(OffsetCommit(group_id, name, partition, value), producer_id=producer_id)

    def commit(self, version: int, body: Any) -> Deferred[Reply]:
        return self.driver.call(self.offsets.commit, context(version), body)

    def commit_transactional(self, body: TxnOffsetCommitRequest, version: int = 5) -> Deferred[Reply]:
        return self.driver.call(self.offsets.commit_transactional, context(version), body)

    def fetch(self, version: int, body: Any, require_stable: bool = False) -> Reply:
        return self.offsets.fetch(context(version), body, require_stable)

    def offset(self, group_id: str, name: str, partition: int) -> int:
        reply = self.fetch(9, fetch_request(9, group_id, {name: [partition]}))
        return int(reply.topics[0].partitions[0].committed_offset)

    def all_offsets(self) -> dict[tuple[str, str, int], int]:
        return {
            (group.group_id, each.name, partition.partition_index): partition.committed_offset
            for group in self.groups
            for each in self.fetch(9, fetch_request(9, group.group_id, None)).topics
            for partition in each.partitions
        }


def context(version: int) -> RequestContext:
    return RequestContext(version, "client", "/127.0.0.1")


def _module(schema: type) -> Any:
    return import_module(schema.__module__)


def commit_request(
    version: int,
    group_id: str,
    topics: Mapping[Any, Mapping[int, int | tuple[int, str | None]]],
    *,
    member_id: str = "",
    generation: int = -1,
    retention_ms: int | None = None,
    instance_id: str | None = None,
    leader_epoch: int | None = None,
) -> OffsetCommitRequest:
    """An OffsetCommit as it comes in that version: topics by name, from 10 on by id."""
    module = _module(load_request_schema(8, version))
    rest: dict[str, Any] = {}
    if retention_ms is not None:
        rest["retention_time"] = timedelta(milliseconds=retention_ms)
    if instance_id is not None:
        rest["group_instance_id"] = instance_id
    epoch = {} if leader_epoch is None else {"committed_leader_epoch": leader_epoch}
    entity = module.OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        topics=tuple(
            module.OffsetCommitRequestTopic(
                **{"topic_id" if version >= 10 else "name": key},
                partitions=tuple(
                    module.OffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=value[0] if isinstance(value, tuple) else value,
                        committed_metadata=value[1] if isinstance(value, tuple) else "",
                        **epoch,
                    )
                    for number, value in partitions.items()
                ),
            )
            for key, partitions in topics.items()
        ),
        **rest,
    )
    return parse_offset_commit(version, memoryview(written(entity)).toreadonly(), 0)


def transactional_request(
    group_id: str,
    topics: Mapping[str, Mapping[int, int | tuple[int, str | None]]],
    *,
    producer: tuple[int, int] = (40, 0),
    member_id: str = "",
    generation: int = -1,
    instance_id: str | None = None,
    leader_epoch: int = -1,
) -> TxnOffsetCommitRequest:
    """A TxnOffsetCommit in the newest version's shape, as the shard gets all of them."""
    values: dict[str, Any] = {
        "transactional_id": "t",
        "group_id": group_id,
        "producer_id": producer[0],
        "producer_epoch": producer[1],
        "generation_id": generation,
        "member_id": member_id,
        "group_instance_id": instance_id,
    }
    requested = []
    for name, partitions in topics.items():
        each: list[dict[str, Any]] = [
            {
                "partition_index": number,
                "committed_offset": value[0] if isinstance(value, tuple) else value,
                "committed_metadata": value[1] if isinstance(value, tuple) else "",
                "committed_leader_epoch": leader_epoch,
            }
            for number, value in partitions.items()
        ]
        rows = tuple(TxnOffsetCommitRequestPartition(**row) for row in each)
        requested.append(TxnOffsetCommitRequestTopic(name=name, partitions=rows))  # type: ignore[arg-type]
    return TxnOffsetCommitRequest(**values, topics=tuple(requested))


def fetch_request(
    version: int,
    group_id: str,
    topics: Mapping[Any, Sequence[int]] | None,
    **member: Any,
) -> Any:
    """One group of an OffsetFetch, as it comes in that version."""
    module = _module(load_request_schema(9, version))
    many = version >= 8
    topic_type = module.OffsetFetchRequestTopics if many else module.OffsetFetchRequestTopic
    group_type = module.OffsetFetchRequestGroup if many else module.OffsetFetchRequest
    requested = None if topics is None else tuple(
        topic_type(**{"topic_id" if version >= 10 else "name": key}, partition_indexes=tuple(indexes))
        for key, indexes in topics.items()
    )  # fmt: skip
    return group_type(group_id=group_id, topics=requested, **member)


def delete_request(group_id: str, topics: Mapping[str, Sequence[int]]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group_id,  # type: ignore[arg-type]
        topics=tuple(
            OffsetDeleteRequestTopic(
                name=name,  # type: ignore[arg-type]
                partitions=tuple(
                    OffsetDeleteRequestPartition(partition_index=each)  # type: ignore[arg-type]
                    for each in indexes
                ),
            )
            for name, indexes in topics.items()
        ),
    )


def errors_of(reply: Reply) -> dict[tuple[Any, int], ErrorCode]:
    """Topic (its name, or its id where it has none) and partition -> the error."""
    return {
        (each.name or each.topic_id, index): code
        for each in reply.topics
        for index, code in map(_index_and_code, each.partitions)
    }


def _index_and_code(partition: Any) -> tuple[int, ErrorCode]:
    """A commit's results are plain pairs."""
    if isinstance(partition, tuple):
        return partition[0], partition[1]
    return partition.partition_index, partition.error_code


def offsets_of(reply: Reply) -> dict[tuple[str, int], int]:
    return {
        (each.name, partition.partition_index): partition.committed_offset
        for each in reply.topics
        for partition in each.partitions
    }


_: type[Group] = SaidGroup
