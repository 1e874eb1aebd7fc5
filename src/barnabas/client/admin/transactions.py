"""Transactions, from their coordinators and from the partitions (KIP-664).

ListTransactions goes to every broker; each lists the transactions it coordinates. DescribeTransactions and
InitProducerId go to the coordinator, WriteTxnMarkers to the leader of a partition. A transaction hangs if it
is open in a partition and no coordinator has it, or has it without this partition.
"""

import datetime as dt
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.producers import ProducerState, describe_producers
from barnabas.client.admin.reassignments import partition_name
from barnabas.client.cluster import TRANSACTION, Cluster
from barnabas.client.errors import BrokerError, Unsupported, check

STATES = (
    "Ongoing",
    "PrepareAbort",
    "PrepareCommit",
    "CompleteAbort",
    "CompleteCommit",
    "Empty",
    "PrepareEpochFence",
)
_BATCH = 500
_TRANSACTIONAL_ID_NOT_FOUND = 105
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND = dt.timedelta(milliseconds=1)


class TransactionListing(NamedTuple):
    id: str
    coordinator: int
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    id: str
    coordinator: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int | None
    """None while no transaction is open."""
    partitions: tuple[TopicPartition, ...]


class OpenTransaction(NamedTuple):
    topic_partition: TopicPartition
    producer: ProducerState


@dataclass(frozen=True, slots=True)
class AbortSpec:
    """The content of the marker that ends a transaction."""

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int

    def __str__(self) -> str:
        return (
            f"AbortTransactionSpec(topicPartition={partition_name(self.topic_partition)}, "
            f"producerId={self.producer_id}, producerEpoch={self.producer_epoch}, "
            f"coordinatorEpoch={self.coordinator_epoch})"
        )


def list_transactions(
    cluster: Cluster,
    *,
    states: Sequence[str] = (),
    producer_ids: Iterable[int] = (),
    longer_than_ms: int | None = None,
    id_pattern: str | None = None,
) -> list[TransactionListing]:
    """The transactions of all coordinators, by broker. `id_pattern` is a regular expression of the broker."""
    wanted = list(producer_ids)

    def attempt() -> list[TransactionListing]:
        found = []
        for node in sorted(cluster.nodes):
            version = cluster.version_of("list_transactions", to=node)
            if longer_than_ms is not None and longer_than_ms >= 0 and version < 1:
                raise Unsupported("The broker cannot filter transactions by their duration")
            if id_pattern and version < 2:
                raise Unsupported("The broker cannot filter transactions by a pattern of their ids")
            answer = cluster.request(
                "list_transactions",
                to=node,
                state_filters=list(states),
                producer_id_filters=wanted,
                duration_filter=-1 if longer_than_ms is None else longer_than_ms,
                transactional_id_pattern=id_pattern or None,
            )
            check(answer.error_code)
            found += [
                TransactionListing(
                    each.transactional_id, node, each.producer_id, _state(each.transaction_state)
                )
                for each in answer.transaction_states
            ]
        return found

    return cluster.retried(attempt)


def describe_transaction(cluster: Cluster, transactional_id: str) -> TransactionDescription:
    """Raises BrokerError, for example if the id is unknown."""

    def attempt() -> TransactionDescription:
        coordinator = cluster.coordinator(TRANSACTION, transactional_id)
        answer = cluster.request(
            "describe_transactions", to=coordinator, transactional_ids=[transactional_id]
        )
        (each,) = answer.transaction_states
        message = None
        if each.error_code == _TRANSACTIONAL_ID_NOT_FOUND:
            message = (
                f"DescribeTransactions request for transactionalId `{transactional_id}` "
                "failed because the ID could not be found"
            )
        check(each.error_code, message)
        start = each.transaction_start_time
        return TransactionDescription(
            transactional_id,
            coordinator,
            _state(each.transaction_state),
            each.producer_id,
            each.producer_epoch,
            each.transaction_timeout // _MILLISECOND,
            None if start is None else (start - _EPOCH) // _MILLISECOND,
            tuple(sorted((topic.topic, index) for topic in each.topics for index in topic.partitions)),
        )

    return cluster.retried(attempt)


def find_abort_spec(cluster: Cluster, topic_partition: TopicPartition, start_offset: int) -> AbortSpec | None:
    """For the open transaction that begins at this offset. Returns None if there is none."""
    for producer in describe_producers(cluster, [topic_partition])[topic_partition]:
        if producer.transaction_start == start_offset:
            return AbortSpec(topic_partition, producer.id, producer.epoch, producer.coordinator_epoch or 0)
    return None


def abort_transaction(cluster: Cluster, spec: AbortSpec) -> None:
    """Writes an abort marker to the partition, for hanging transactions. Does not involve the coordinator."""
    topic, partition = spec.topic_partition
    marker = {
        "producer_id": spec.producer_id,
        "producer_epoch": spec.producer_epoch,
        "coordinator_epoch": spec.coordinator_epoch,
        "transaction_result": False,
        "topics": [{"name": topic, "partition_indexes": [partition]}],
    }

    def attempt() -> None:
        leader = cluster.leaders([topic]).get(spec.topic_partition)
        if leader is None:
            raise BrokerError(3, f"Topic {topic} has no partition {partition}.")
        answer = cluster.request("write_txn_markers", to=leader, markers=[marker])
        for result in answer.markers:
            for each in (each for topic in result.topics for each in topic.partitions):
                check(each.error_code)

    cluster.retried(attempt)


def terminate_transaction(cluster: Cluster, transactional_id: str) -> None:
    """Fences the producer of this id. The coordinator aborts its open transaction (KIP-939)."""

    def attempt() -> None:
        answer = cluster.send_to_coordinator(
            TRANSACTION,
            transactional_id,
            "init_producer_id",
            transactional_id=transactional_id,
            transaction_timeout=int(cluster.settings.request_timeout * 1000),
            producer_id=-1,
            producer_epoch=-1,
        )
        check(answer.error_code)

    cluster.retried(attempt)


def find_hanging(
    cluster: Cluster,
    partitions: Sequence[TopicPartition],
    *,
    older_than_ms: int,
    broker: int | None = None,
    now_ms: Callable[[], float] = lambda: time.time() * 1000,
) -> list[OpenTransaction]:
    """The hanging transactions of these partitions that are older than `older_than_ms`."""
    candidates: list[OpenTransaction] = []
    for begin in range(0, len(partitions), _BATCH):
        found = describe_producers(cluster, partitions[begin : begin + _BATCH], broker=broker)
        candidates += [
            OpenTransaction(topic_partition, producer)
            for topic_partition, producers in found.items()
            for producer in producers
            if producer.transaction_start is not None and now_ms() - producer.last_timestamp > older_than_ms
        ]
    if not candidates:
        return []
    producer_ids = {each.producer.id for each in candidates}
    owners = {each.producer_id: each.id for each in list_transactions(cluster, producer_ids=producer_ids)}
    known = {
        producer: _partitions_of(cluster, owner)
        for producer, owner in owners.items()
        if producer in producer_ids
    }
    hanging = [each for each in candidates if each.topic_partition not in known.get(each.producer.id, ())]
    return sorted(hanging, key=lambda each: (each.producer.id, each.topic_partition))


def partitions_to_search(
    cluster: Cluster, topic: str | None, *, broker: int | None = None
) -> list[TopicPartition]:
    """All partitions of the topic (None: of all topics), or those with a replica on `broker`."""
    found = []
    for each in cluster.metadata(None if topic is None else [topic]).topics:
        check(each.error_code)
        found += [
            (each.name, partition.partition_index)
            for partition in each.partitions
            if broker is None or broker in partition.replica_nodes
        ]
    return sorted(found)


def _partitions_of(cluster: Cluster, transactional_id: str) -> Collection[TopicPartition]:
    try:
        return describe_transaction(cluster, transactional_id).partitions
    except BrokerError as error:
        if error.code != _TRANSACTIONAL_ID_NOT_FOUND:
            raise
        return ()


def _state(name: str) -> str:
    return name if name in STATES else "Unknown"
