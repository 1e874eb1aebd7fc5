"""From the outcome of a transaction to its markers and its completion."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.node import Node

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    InvalidProducerEpoch,
    KafkaError,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    TransactionCoordinatorFenced,
)
from barnabas.base.ids import TopicPartition
from barnabas.records.batch import iter_headers
from barnabas.replication.partition import Partition
from barnabas.runtime.alarm import CallSoon
from barnabas.runtime.end_marker import EndMarker
from barnabas.runtime.hosted_shard import HostedShard
from barnabas.storage.producer_state import read_marker
from barnabas.transaction.coordinator import TransactionCoordinator
from barnabas.transaction.markers import Markers
from barnabas.transaction.shard import TransactionShard
from barnabas.transaction.transaction import Transaction, TransactionState
from barnabas.transaction.transaction_record import TransactionRecord

NAME, PRODUCER, EPOCH = "tx", 4, 3


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path, {"transactional.id.expiration.ms": "60000"})
    node.create_topic("__transaction_state", 1)
    node.create_topic("topic", 2)
    yield node
    node.close()


def prepared(*partitions: tuple[str, int], version: int = 2) -> Transaction:
    return Transaction(
        transactional_id=NAME,
        producer_id=PRODUCER,
        producer_epoch=EPOCH,
        timeout_ms=1000,
        state=TransactionState.PREPARE_COMMIT,
        partitions=frozenset(TopicPartition(*each) for each in partitions),
        start_ms=1,
        update_ms=2,
        client_version=version,
    )


def loaded_with(
    node: Node, transaction: Transaction, call_soon: CallSoon = lambda callback: callback()
) -> TransactionCoordinator:
    """A coordinator with the transaction in its log."""

    def load(hosted: HostedShard[TransactionShard], partition: Partition) -> None:
        hosted.shard.replay(TransactionRecord(transaction, transaction.transactional_id))
        hosted.activate()

    coordinator = TransactionCoordinator(
        node.config,
        node.partitions,
        node.clock,
        load,
        node.later,
        call_soon,
        node.parts.groups.get,
        lambda: None,
    )
    coordinator.follow(node.image)
    return coordinator


def state_of(coordinator: TransactionCoordinator) -> str:
    return coordinator.read(NAME, lambda shard: shard.describe(NAME)).result().state.label


def markers_in(node: Node, topic: str, partition: int = 0) -> list[tuple[int, bool, int]]:
    """Producer epoch, whether it commits, and coordinator epoch, of each marker."""
    log = node.partitions.get(topic, partition).log
    found = []
    offset = log.log_start_offset
    while (piece := log.read(offset, 1 << 20, up_to=log.log_end_offset)) is not None:
        data = piece.read()
        for position, header in iter_headers(data):
            marker = read_marker(data[position : position + header.size]) if header.is_control else None
            if marker is not None:
                found.append((header.producer_epoch, not marker.is_abort, marker.coordinator_epoch))
            offset = header.next_offset
    return found


class Refusing:
    """Replaces a coordinator's `MarkerWriter.write`, and fails while `error` is set."""

    def __init__(self, markers: Markers, error: KafkaError) -> None:
        self.appended: list[TopicPartition] = []
        self.error: KafkaError | None = error
        self._append: Callable[[TopicPartition, EndMarker], Deferred[None]] = markers.writer.write
        markers.writer.write = self.append  # type: ignore[method-assign]

    def append(self, topic_partition: TopicPartition, marker: EndMarker) -> Deferred[None]:
        self.appended.append(topic_partition)
        if self.error is None or topic_partition.partition == 0:
            return self._append(topic_partition, marker)
        return Deferred.failed(self.error)


def test_what_was_decided_before_a_crash_is_completed_after_loading(node: Node) -> None:
    coordinator = loaded_with(node, prepared(("topic", 0), ("topic", 1)))
    epoch = node.partitions.get("__transaction_state", 0).leader_epoch
    assert markers_in(node, "topic", 0) == markers_in(node, "topic", 1) == [(EPOCH, True, epoch)]
    assert state_of(coordinator) == "CompleteCommit"


@pytest.mark.parametrize("version", [0, 2])
def test_a_marker_that_a_partition_has_already_does_no_harm(node: Node, version: int) -> None:
    for _ in range(2):
        assert state_of(loaded_with(node, prepared(("topic", 0), version=version))) == "CompleteCommit"
    assert len(markers_in(node, "topic")) == 2


def test_a_transaction_without_partitions_is_complete_at_once(node: Node) -> None:
    assert state_of(loaded_with(node, prepared())) == "CompleteCommit"


def test_a_partition_that_was_deleted_needs_no_marker(node: Node) -> None:
    coordinator = loaded_with(node, prepared(("deleted", 0), ("topic", 9), ("topic", 0)))
    assert len(markers_in(node, "topic")) == 1
    assert state_of(coordinator) == "CompleteCommit"


def test_more_partitions_than_fit_a_turn(node: Node) -> None:
    node.create_topic("wide", 150)
    coordinator = loaded_with(node, prepared(*(("wide", number) for number in range(150))))
    assert all(len(markers_in(node, "wide", number)) == 1 for number in range(150))
    assert state_of(coordinator) == "CompleteCommit"


@pytest.mark.parametrize("error", [NotLeaderOrFollower("moved"), NotEnoughReplicas("alone")])
def test_a_partition_that_cannot_be_written_now_is_retried(node: Node, error: KafkaError) -> None:
    coordinator = loaded_with(node, prepared())
    refusing = Refusing(coordinator.markers, error)
    transaction = prepared(("topic", 0), ("topic", 1))
    written = coordinator.markers.write(transaction, 0)
    assert coordinator.markers.unmarked(transaction) == {TopicPartition("topic", 1)}
    node.advance(100)
    assert not written.is_done
    refusing.error = None
    node.advance(100)
    assert written.result()
    assert refusing.appended == [("topic", 0), ("topic", 1), ("topic", 1), ("topic", 1)]
    assert len(markers_in(node, "topic", 0)) == len(markers_in(node, "topic", 1)) == 1
    # No markers are being written.
    assert coordinator.markers.unmarked(transaction) == transaction.partitions


def test_nothing_is_retried_for_a_coordinator_that_was_given_up(node: Node) -> None:
    coordinator = loaded_with(node, prepared())
    refusing = Refusing(coordinator.markers, NotLeaderOrFollower("moved"))
    is_wanted = True
    written = coordinator.markers.write(prepared(("topic", 1)), 0, is_wanted=lambda: is_wanted)
    is_wanted = False
    refusing.error = None
    node.advance(100)
    assert refusing.appended == [("topic", 1)]
    assert not written.result()


def test_a_partition_with_a_newer_epoch_of_the_producer_has_the_marker(node: Node) -> None:
    """A loss of power removed the records of a later transaction from `__transaction_state`."""
    coordinator = loaded_with(node, prepared())
    refusing = Refusing(coordinator.markers, InvalidProducerEpoch("newer"))
    written = coordinator.markers.write(prepared(("topic", 0), ("topic", 1)), 0)
    node.advance(100)
    assert refusing.appended == [("topic", 0), ("topic", 1)]
    assert written.result()


def test_a_partition_with_a_newer_coordinator_epoch_ends_the_attempt(node: Node) -> None:
    coordinator = loaded_with(node, prepared())
    refusing = Refusing(coordinator.markers, TransactionCoordinatorFenced("newer"))
    written = coordinator.markers.write(prepared(("topic", 1)), 0)
    node.advance(100)
    assert refusing.appended == [("topic", 1)]
    assert not written.result()


def test_offsets_wait_for_their_group_coordinator(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.create_topic("__consumer_offsets", 1)
    markers: list[Any] = []
    answers = [CoordinatorLoadInProgress("loading"), None]

    def end_transaction(*marker: Any) -> Deferred[None]:
        markers.append(marker)
        answer: Deferred[None] = Deferred()
        error = answers.pop(0)
        answer.complete(None) if error is None else answer.fail(error)
        return answer

    monkeypatch.setattr(node.groups, "end_transaction", end_transaction)
    coordinator = loaded_with(node, prepared(("__consumer_offsets", 0)))
    assert state_of(coordinator) == "PrepareCommit"
    node.advance(100)
    assert state_of(coordinator) == "CompleteCommit"
    assert markers == [(0, PRODUCER, EPOCH, 0, True, 2)] * 2


def test_unused_ids_expire(node: Node) -> None:
    coordinator = loaded_with(node, prepared())
    node.clock.advance(60_001)
    coordinator.expire()
    assert [len(hosted.shard) for hosted in coordinator.hosted()] == [0]


# --- markers come after the answers -----------------------------------------------------------------------


class Turns:
    """The loop's `call_soon`: callbacks run in the next turn."""

    def __init__(self) -> None:
        self._soon: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def take(self) -> bool:
        """Run one turn. Returns whether there were callbacks."""
        soon, self._soon = self._soon, []
        for callback in soon:
            callback()
        return bool(soon)


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def idle(node: Node, turns: Turns) -> TransactionCoordinator:
    """A coordinator with one transactional id and no open transaction."""
    complete = prepared()._replace(state=TransactionState.COMPLETE_COMMIT)
    return loaded_with(node, complete, turns.call_soon)


def commit(coordinator: TransactionCoordinator) -> None:
    """A transaction with a partition, up to the response to EndTxn."""
    partitions = [TopicPartition("topic", 0)]
    coordinator.write(NAME, lambda shard: shard.add_partitions(NAME, PRODUCER, EPOCH, partitions, 2)).result()
    ended = coordinator.write(
        NAME,
        lambda shard: shard.end(NAME, PRODUCER, EPOCH, is_commit=True, client_version=2, fresh_id=-1),
    )
    assert ended.result().producer_epoch == EPOCH + 1


def test_an_end_is_answered_before_its_markers_are_written(
    node: Node, turns: Turns, idle: TransactionCoordinator
) -> None:
    commit(idle)
    assert markers_in(node, "topic") == []
    turns.take()
    assert markers_in(node, "topic") == []  # Responses of several connections are sent in this turn.
    turns.take()
    assert [epoch for epoch, _, _ in markers_in(node, "topic")] == [EPOCH + 1]
    assert not turns.take()


def test_the_next_request_of_a_producer_finds_its_transaction_complete(
    node: Node, turns: Turns, idle: TransactionCoordinator
) -> None:
    commit(idle)
    assert state_of(idle) == "CompleteCommit"
    assert len(markers_in(node, "topic")) == 1
    while turns.take():
        pass
    assert len(markers_in(node, "topic")) == 1


def test_markers_wait_briefly_for_requests_about_other_transactions(
    node: Node, turns: Turns, idle: TransactionCoordinator
) -> None:
    commit(idle)
    for _ in range(5):
        assert idle.read("other", len).result() == 1
        turns.take()
        assert markers_in(node, "topic") == []
    node.clock.advance(2)
    idle.read("other", len)
    turns.take()
    assert len(markers_in(node, "topic")) == 1


def test_a_coordinator_that_stops_writes_the_markers_of_what_is_decided(
    node: Node, turns: Turns, idle: TransactionCoordinator
) -> None:
    commit(idle)
    idle.stop()
    assert len(markers_in(node, "topic")) == 1
    while turns.take():
        pass
    assert len(markers_in(node, "topic")) == 1
