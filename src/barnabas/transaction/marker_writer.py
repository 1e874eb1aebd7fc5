"""Writes one transaction marker to the leader of its partition: this broker, or another one (`peers`).

Partitions of `__consumer_offsets` are ended by the group coordinator, which commits or drops the offsets.
"""

from collections.abc import Callable
from typing import Protocol

from barnabas.base.clock import Clock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    KafkaError,
    NotCoordinator,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import NO_LEADER, ClusterImage
from barnabas.records.control import build_end_marker
from barnabas.replication.partition import ALL
from barnabas.replication.partitions import Partitions
from barnabas.runtime.end_marker import EndMarker
from barnabas.runtime.internal_topics import CONSUMER_OFFSETS
from barnabas.storage.append_info import AppendOrigin
from barnabas.transaction.peers import Peers


class GroupOffsets(Protocol):
    """What markers need of the group coordinator."""

    def end_transaction(
        self,
        partition: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_commit: bool,
        transaction_version: int,
    ) -> Deferred[None]: ...


class LocalMarkerWriter:
    """For partitions that this broker leads: also the server side of WriteTxnMarkers."""

    def __init__(self, partitions: Partitions, groups: Callable[[], GroupOffsets], clock: Clock) -> None:
        self._partitions: Partitions = partitions
        self._groups: Callable[[], GroupOffsets] = groups
        self._clock: Clock = clock

    def write(self, topic_partition: TopicPartition, marker: EndMarker) -> Deferred[None]:
        """Done when the marker is committed. Never raises."""
        try:
            if topic_partition.topic == CONSUMER_OFFSETS:
                return self._end_offsets(topic_partition.partition, marker)
            return self._append(topic_partition, marker)
        except KafkaError as error:
            return Deferred.failed(error)

    def _append(self, topic_partition: TopicPartition, marker: EndMarker) -> Deferred[None]:
        partition = self._partitions.get(*topic_partition)
        batch = build_end_marker(
            marker.producer_id,
            marker.producer_epoch,
            marker.is_commit,
            marker.coordinator_epoch,
            self._clock.now_ms(),
        )
        appended = partition.append(
            batch, ALL, origin=AppendOrigin.COORDINATOR, transaction_version=marker.transaction_version
        )
        if partition.must_wait(appended, ALL):
            return partition.when_acknowledged(appended, ALL)
        return Deferred.of(None)

    def _end_offsets(self, partition: int, marker: EndMarker) -> Deferred[None]:
        ended = self._groups().end_transaction(partition, *marker)
        return ended.map(lambda _: None, _not_ready)


class MarkerWriter:
    """For every partition of the cluster. The leader is looked up at each call: a retry finds a new one."""

    def __init__(self, broker_id: int, local: LocalMarkerWriter, peers: Peers | None = None) -> None:
        self.image: ClusterImage = ClusterImage()
        """The current cluster image. The coordinator replaces it."""
        self.local: LocalMarkerWriter = local
        self._broker_id: int = broker_id
        self._peers: Peers | None = peers

    def exists(self, partition: TopicPartition) -> bool:
        return self.image.partition(*partition) is not None

    def write(self, topic_partition: TopicPartition, marker: EndMarker) -> Deferred[None]:
        """Done when the marker is committed. Never raises."""
        partition = self.image.partition(*topic_partition)
        if partition is None:
            return Deferred.failed(UnknownTopicOrPartition(f"{topic_partition} does not exist"))
        if partition.leader == self._broker_id:
            return self.local.write(topic_partition, marker)
        if partition.leader == NO_LEADER or self._peers is None:
            reason = f"broker {self._broker_id} cannot reach the leader of {topic_partition}"
            return Deferred.failed(NotLeaderOrFollower(reason))
        return self._peers.write_marker(partition.leader, topic_partition, marker)


def _not_ready(error: KafkaError) -> None:
    """Translate errors of a group coordinator that is not ready to NOT_LEADER_OR_FOLLOWER."""
    if isinstance(error, (CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator)):
        raise NotLeaderOrFollower(error.message)
    raise error
