"""Markers: what tells every partition of a transaction how it ended (KIP-98).

The coordinator has them written once the outcome is in its log, and hears when all of them are committed. A
partition that is gone has nothing to end and is skipped; one that cannot be written now (its leader is on the
way, too few replicas are in sync, the group coordinator is loading) is tried again until it can, or until the
coordinator has been given up. A partition that has seen a newer producer or coordinator epoch ends the
attempt: somebody else has decided, as in Kafka. Writing a marker again does no harm.

Partitions of `__consumer_offsets` are ended by the group coordinator, which has offsets to settle.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from barnabas.base.clock import Clock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaError,
    NotCoordinator,
    NotLeaderOrFollower,
)
from barnabas.base.ids import TopicPartition
from barnabas.coordinator.end_marker import EndMarker
from barnabas.coordinator.internal_topics import CONSUMER_OFFSETS
from barnabas.coordinator.runtime.alarm import CallLater, CallSoon
from barnabas.coordinator.transactions.transaction import Transaction
from barnabas.metadata.image import ClusterImage
from barnabas.records.control import build_end_marker
from barnabas.replication.partition import ALL
from barnabas.replication.partitions import Partitions
from barnabas.storage.append_info import AppendOrigin

logger = logging.getLogger("coordinator")

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0
_PARTITIONS_A_TURN = 64
_DECIDED_ELSEWHERE = (ErrorCode.invalid_producer_epoch, ErrorCode.transaction_coordinator_fenced)


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


class Markers:
    def __init__(
        self,
        partitions: Partitions,
        groups: Callable[[], GroupOffsets],
        clock: Clock,
        call_later: CallLater,
        call_soon: CallSoon,
    ) -> None:
        self.image: ClusterImage = ClusterImage()
        """What exists in the cluster. The coordinator replaces it."""
        self.call_later: CallLater = call_later
        self.call_soon: CallSoon = call_soon
        self._partitions: Partitions = partitions
        self._groups: Callable[[], GroupOffsets] = groups
        self._clock: Clock = clock
        self._under_way: dict[str, _Writing] = {}

    def write(
        self,
        transaction: Transaction,
        coordinator_epoch: int,
        on_done: Callable[[], None],
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Write the markers of a transaction whose outcome is decided; `on_done` when all are committed.

        When it is not `is_wanted` any more nothing is tried again, and nobody is told.
        """
        marker = EndMarker(
            transaction.producer_id,
            transaction.producer_epoch,
            coordinator_epoch,
            transaction.is_commit,
            transaction.client_version,
        )
        name = transaction.transactional_id
        writing = _Writing(self, name, marker, transaction.partitions, on_done, is_wanted)
        self._under_way[name] = writing
        writing.start()

    def finished(self, writing: "_Writing") -> None:
        if self._under_way.get(writing.transactional_id) is writing:
            del self._under_way[writing.transactional_id]

    def unmarked(self, transaction: Transaction) -> frozenset[TopicPartition]:
        """The partitions of a transaction that have no marker yet: all, unless they are being written."""
        writing = self._under_way.get(transaction.transactional_id)
        if writing is None or not transaction.state.is_prepared:
            return transaction.partitions
        return transaction.partitions & writing.waiting

    def exists(self, partition: TopicPartition) -> bool:
        return self.image.partition(*partition) is not None

    def append(self, place: TopicPartition, marker: EndMarker) -> Deferred[None]:
        """Write one marker to a partition that this broker leads; done when it is committed. Never raises."""
        try:
            if place.topic == CONSUMER_OFFSETS:
                return self._end_offsets(place.partition, marker)
            return self._append(place, marker)
        except KafkaError as error:
            return _failed(error)

    def _append(self, place: TopicPartition, marker: EndMarker) -> Deferred[None]:
        partition = self._partitions.get(*place)
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
        answer: Deferred[None] = Deferred()

        def on_acknowledged(error: KafkaError | None) -> None:
            if error is None:
                answer.complete(None)
            else:
                answer.fail(error)

        if partition.must_wait(appended):
            partition.when_acknowledged(appended, on_acknowledged)
        else:
            answer.complete(None)
        return answer

    def _end_offsets(self, partition: int, marker: EndMarker) -> Deferred[None]:
        ended = self._groups().end_transaction(partition, *marker)
        return ended.map(lambda _: None, _not_ready)


class _Writing:
    """The markers of one transaction, until all of them are written."""

    def __init__(
        self,
        markers: Markers,
        transactional_id: str,
        marker: EndMarker,
        partitions: frozenset[TopicPartition],
        on_done: Callable[[], None],
        is_wanted: Callable[[], bool],
    ) -> None:
        self.transactional_id: str = transactional_id
        self.waiting: set[TopicPartition] = set(partitions)
        self._markers: Markers = markers
        self._marker: EndMarker = marker
        self._on_done: Callable[[], None] = on_done
        self._is_wanted: Callable[[], bool] = is_wanted
        self._is_over: bool = False
        self._failed: list[TopicPartition] = []
        self._pause: float = _FIRST_PAUSE

    def start(self) -> None:
        if self.waiting:
            self._write(sorted(self.waiting))
        else:
            self._finish()

    def _write(self, places: Sequence[TopicPartition]) -> None:
        """Some now and the rest when the loop has had a turn: a transaction may span very many."""
        if self._is_over or not self._is_wanted():
            self._give_up()
            return
        for place in places[:_PARTITIONS_A_TURN]:
            if self._markers.exists(place):
                self._markers.append(place, self._marker).when_done(self._on_written(place))
            else:
                logger.info("%s: %s is gone and needs no marker", self.transactional_id, place)
                self._written(place)
        rest = places[_PARTITIONS_A_TURN:]
        if rest:
            self._markers.call_soon(lambda: self._write(rest))

    def _on_written(self, place: TopicPartition) -> "Callable[[Deferred[None]], None]":
        def on_done(done: "Deferred[None]") -> None:
            if done.error is None:
                self._written(place)
            else:
                self._not_written(place, done.error)

        return on_done

    def _written(self, place: TopicPartition) -> None:
        self.waiting.discard(place)
        if not self.waiting and not self._is_over:
            self._finish()

    def _finish(self) -> None:
        self._give_up()
        if self._is_wanted():
            self._on_done()

    def _give_up(self) -> None:
        self._is_over = True
        self._markers.finished(self)

    def _not_written(self, place: TopicPartition, error: KafkaError) -> None:
        if self._is_over:
            return
        if error.code in _DECIDED_ELSEWHERE:
            logger.warning(
                "%s: %s refuses the marker, no more are written: %s",
                self.transactional_id,
                place,
                error.message,
            )
            self._give_up()
            return
        if self._pause == _FIRST_PAUSE:
            logger.info("%s: the marker for %s is tried again: %s", self.transactional_id, place, error)
        self._failed.append(place)
        if len(self._failed) == 1:
            self._markers.call_later(self._pause, self._write_again)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _write_again(self) -> None:
        failed, self._failed = self._failed, []
        self._write(failed)


def _failed(error: KafkaError) -> Deferred[None]:
    answer: Deferred[None] = Deferred()
    answer.fail(error)
    return answer


def _not_ready(error: KafkaError) -> None:
    """A group coordinator that is not there yet is, to whoever writes markers, a leader that is not."""
    if isinstance(error, (CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator)):
        raise NotLeaderOrFollower(error.message)
    raise error
