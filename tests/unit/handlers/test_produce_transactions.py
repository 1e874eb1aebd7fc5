"""Transactional batches, with a coordinator that answers at once: its calls and the responses."""

from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode
from tests.unit.handlers.producing import (
    BEFORE_ABORTABLE,
    BEFORE_ADDING,
    NEWEST,
    PRODUCER,
    FakeCoordinator,
    Producing,
    txn_batch,
)

from barnabas.base.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidProducerIdMapping,
    InvalidRequest,
    InvalidTxnState,
    KafkaError,
    NotCoordinator,
    ProducerFenced,
    TransactionAbortable,
)
from barnabas.base.ids import TopicPartition
from barnabas.records.control import build_end_marker
from barnabas.storage.append_info import AppendOrigin

ALL_VERSIONS = range(3, NEWEST + 1)


@pytest.fixture
def coordinator(node: Node) -> FakeCoordinator:
    fake = FakeCoordinator()
    node.use_transaction_host(fake)
    return fake


@pytest.fixture
def producing(node: Node, coordinator: FakeCoordinator) -> Iterator[Producing]:
    node.create_topic("t", 3)
    made = Producing(node)
    yield made
    made.close()


def end_transaction(node: Node, *, epoch: int = 0, commit: bool = True, partition: int = 0) -> None:
    marker = build_end_marker(PRODUCER, epoch, commit, 0, 1_600_000_000_000)
    node.partitions.get("t", partition).append(marker, -1, origin=AppendOrigin.COORDINATOR)


# --- calls of the coordinator ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_first_batch_is_verified_and_the_next_ones_are_not(
    producing: Producing, coordinator: FakeCoordinator, version: int
) -> None:
    for sequence in range(3):
        assert producing.code(txn_batch(sequence), version=version) is ErrorCode.none
    partitions = [TopicPartition("t", 0)]
    adds = ("add", "tx", PRODUCER, 0, partitions, 2)
    verifies = ("verify", "tx", PRODUCER, 0, partitions)
    assert coordinator.calls == [adds if version > BEFORE_ADDING else verifies]
    assert producing.end_offset() == 3


def test_partitions_of_one_request_are_verified_together(
    producing: Producing, coordinator: FakeCoordinator
) -> None:
    assert producing.code(txn_batch()) is ErrorCode.none
    codes = producing.codes({0: txn_batch(1), 1: txn_batch(), 2: txn_batch()})
    assert codes == [ErrorCode.none] * 3
    assert coordinator.calls[1][4] == [TopicPartition("t", 1), TopicPartition("t", 2)]


def test_next_transaction_is_verified_again(producing: Producing, coordinator: FakeCoordinator) -> None:
    producing.code(txn_batch())
    end_transaction(producing.node, epoch=1)
    assert producing.code(txn_batch(epoch=1)) is ErrorCode.none
    assert [call[3] for call in coordinator.calls] == [0, 1]


def test_idempotent_batches_need_no_coordinator(producing: Producing, coordinator: FakeCoordinator) -> None:
    assert producing.code(txn_batch(transactional=False)) is ErrorCode.none
    assert producing.code(txn_batch(1, transactional=False), transactional_id=None) is ErrorCode.none
    assert coordinator.calls == []


def test_partitions_that_are_not_here_are_not_added(
    producing: Producing, coordinator: FakeCoordinator
) -> None:
    producing.node.elect("t", 1, leader=99)
    codes = producing.codes({0: txn_batch(), 1: txn_batch(), 5: txn_batch()})
    expected = [ErrorCode.none, ErrorCode.not_leader_or_follower, ErrorCode.unknown_topic_or_partition]
    assert codes == expected
    assert coordinator.calls[0][4] == [TopicPartition("t", 0)]


def test_without_verification_only_version_two_asks(start_node: StartNode) -> None:
    node = start_node({"transaction.partition.verification.enable": "false"})
    coordinator = FakeCoordinator()
    node.use_transaction_host(coordinator)
    node.create_topic("t", 2)
    producing = Producing(node)
    assert producing.code(txn_batch(), version=BEFORE_ADDING) is ErrorCode.none
    assert coordinator.calls == []
    assert producing.codes({1: txn_batch()}, version=NEWEST) == [ErrorCode.none]
    assert [call[0] for call in coordinator.calls] == ["add"]
    producing.close()


# --- responses --------------------------------------------------------------------------


@pytest.mark.parametrize("version", [BEFORE_ABORTABLE, BEFORE_ADDING, NEWEST])
@pytest.mark.parametrize("error", [NotCoordinator, CoordinatorNotAvailable, CoordinatorLoadInProgress])
def test_what_passes_by_itself_is_not_enough_replicas(
    producing: Producing, coordinator: FakeCoordinator, version: int, error: type[KafkaError]
) -> None:
    coordinator.errors = [error()]
    assert producing.code(txn_batch(), version=version) is ErrorCode.not_enough_replicas
    assert producing.end_offset() == 0
    assert producing.code(txn_batch(), version=version) is ErrorCode.none


@pytest.mark.parametrize(
    ("error", "version", "code"),
    [
        (ProducerFenced, BEFORE_ABORTABLE, ErrorCode.invalid_producer_epoch),
        (ProducerFenced, NEWEST, ErrorCode.invalid_producer_epoch),
        (InvalidTxnState, NEWEST, ErrorCode.invalid_txn_state),
        (InvalidProducerIdMapping, NEWEST, ErrorCode.invalid_producer_id_mapping),
        (InvalidRequest, NEWEST, ErrorCode.invalid_request),
        (TransactionAbortable, BEFORE_ABORTABLE, ErrorCode.invalid_txn_state),
        (TransactionAbortable, BEFORE_ADDING, ErrorCode.transaction_abortable),
        (TransactionAbortable, NEWEST, ErrorCode.transaction_abortable),
    ],
)
def test_refusals(
    producing: Producing,
    coordinator: FakeCoordinator,
    error: type[KafkaError],
    version: int,
    code: ErrorCode,
) -> None:
    coordinator.errors = [error()]
    assert producing.code(txn_batch(), version=version) is code
    assert producing.end_offset() == 0


def test_what_needs_no_verification_is_stored_though_another_partition_is_refused(
    producing: Producing, coordinator: FakeCoordinator
) -> None:
    producing.code(txn_batch())
    coordinator.errors = [NotCoordinator()]
    codes = producing.codes({0: txn_batch(1), 1: txn_batch()})
    assert codes == [ErrorCode.none, ErrorCode.not_enough_replicas]
    assert (producing.end_offset(0), producing.end_offset(1)) == (2, 0)


def test_later_batch_does_not_overtake_one_that_could_not_be_verified(
    producing: Producing, coordinator: FakeCoordinator
) -> None:
    coordinator.errors = [NotCoordinator()]
    version = BEFORE_ADDING
    assert producing.code(txn_batch(4), version=version) is ErrorCode.not_enough_replicas
    assert producing.code(txn_batch(5), version=version) is ErrorCode.out_of_order_sequence_number
    assert producing.code(txn_batch(4), version=version) is ErrorCode.none
    assert producing.code(txn_batch(5), version=version) is ErrorCode.none


def test_fenced_epoch_is_refused_without_asking(producing: Producing, coordinator: FakeCoordinator) -> None:
    end_transaction(producing.node, epoch=4)
    assert producing.code(txn_batch(epoch=3)) is ErrorCode.invalid_producer_epoch
    assert coordinator.calls == []


def test_plain_batch_in_an_open_transaction_is_refused(producing: Producing) -> None:
    producing.code(txn_batch())
    assert producing.code(txn_batch(1, transactional=False)) is ErrorCode.invalid_txn_state


def test_repeated_batch_of_an_open_transaction_is_stored_once(producing: Producing) -> None:
    producing.code(txn_batch())
    assert producing.code(txn_batch()) is ErrorCode.none
    assert producing.end_offset() == 1


# --- requests that no client sends ----------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_records_of_a_transaction_without_its_id_refuse_the_whole_request(
    producing: Producing, coordinator: FakeCoordinator, version: int
) -> None:
    plain = txn_batch(transactional=False, pid=8)
    codes = producing.codes({0: plain, 1: txn_batch()}, version=version, transactional_id=None)
    assert codes == [ErrorCode.transactional_id_authorization_failed] * 2
    assert (producing.end_offset(0), coordinator.calls) == (0, [])


@pytest.mark.parametrize("other", [txn_batch(pid=8), txn_batch(epoch=1)])
def test_two_producers_in_one_request_refuse_the_whole_request(
    producing: Producing, coordinator: FakeCoordinator, other: bytes
) -> None:
    codes = producing.codes({0: txn_batch(), 1: other})
    assert codes == [ErrorCode.invalid_producer_id_mapping] * 2
    assert (producing.end_offset(0), coordinator.calls) == (0, [])


def test_transactional_batch_without_producer_is_refused(
    producing: Producing, coordinator: FakeCoordinator
) -> None:
    assert producing.code(txn_batch(-1, epoch=-1, pid=-1)) is ErrorCode.invalid_record
    assert coordinator.calls == []


def test_markers_are_not_a_clients_to_write(producing: Producing, coordinator: FakeCoordinator) -> None:
    producing.code(txn_batch())
    marker = build_end_marker(PRODUCER, 1, False, 0, 1_600_000_000_000)
    assert producing.code(marker) is ErrorCode.invalid_record
    assert producing.end_offset() == 1
    assert len(coordinator.calls) == 1


def test_internal_topics_are_refused_before_verification(
    producing: Producing, coordinator: FakeCoordinator
) -> None:
    producing.node.create_topic("__consumer_offsets")
    code = producing.code(txn_batch(), topic="__consumer_offsets")
    assert code is ErrorCode.invalid_topic_exception
    assert coordinator.calls == []


def test_refused_transaction_without_acknowledgement_closes_the_connection(
    producing: Producing, coordinator: FakeCoordinator
) -> None:
    coordinator.errors = [InvalidTxnState()]
    assert producing.send(producing.frame({0: txn_batch()}, acks=0)) is None
    assert producing.connection.is_closed


@pytest.mark.parametrize("size", [0, 1, 22, 23, 43, 52, 60, 61])
def test_cut_off_batches_are_refused(producing: Producing, size: int) -> None:
    assert producing.code(txn_batch()[:size]) in (ErrorCode.corrupt_message, ErrorCode.invalid_record)
    assert producing.end_offset() == 0


def test_any_flipped_bit_is_refused_or_harmless(producing: Producing) -> None:
    good = txn_batch()
    for position in range(len(good) * 8):
        torn = bytearray(good)
        torn[position // 8] ^= 1 << position % 8
        code = producing.code(bytes(torn), acks=1)
        # The leader epoch is not under the CRC, as it is the leader's to write.
        assert code is not ErrorCode.unknown_server_error
        assert (code is ErrorCode.none) == (12 <= position // 8 < 16), position
    assert not producing.connection.is_closed
    assert producing.end_offset() == 1


# --- the shortcut ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_batches_of_an_open_transaction_take_the_shortcut(producing: Producing, version: int) -> None:
    producing.code(txn_batch(), version=version)
    shortcut = producing.connection.shortcut
    assert shortcut is not None
    assert shortcut(producing.frame({0: txn_batch(1)}, version=version)) is not None
    assert producing.end_offset() == 2


def test_first_batch_of_the_next_transaction_takes_the_shortcut_once_verified(
    producing: Producing, coordinator: FakeCoordinator
) -> None:
    producing.code(txn_batch())
    end_transaction(producing.node, epoch=1)
    shortcut = producing.connection.shortcut
    assert shortcut is not None
    assert shortcut(producing.frame({0: txn_batch(epoch=1)})) is not None
    assert [call[3] for call in coordinator.calls] == [0, 1]
    assert producing.end_offset() == 3
    assert shortcut(producing.frame({0: txn_batch(1, epoch=1)})) is not None
    assert len(coordinator.calls) == 2


@pytest.mark.parametrize("version", [BEFORE_ADDING, NEWEST])
def test_first_batch_that_is_not_verified_does_not_take_the_shortcut(
    producing: Producing, coordinator: FakeCoordinator, version: int
) -> None:
    producing.code(txn_batch(), version=version)
    end_transaction(producing.node, epoch=1)
    shortcut = producing.connection.shortcut
    assert shortcut is not None
    assert shortcut(producing.frame({0: txn_batch(1)}, version=version)) is None
    assert len(coordinator.calls) == 1
    coordinator.errors = [ProducerFenced()]
    assert shortcut(producing.frame({0: txn_batch(epoch=1)}, version=version)) is None
    coordinator.is_slow = True
    assert shortcut(producing.frame({0: txn_batch(epoch=1)}, version=version)) is None
    assert producing.end_offset() == 2


def test_first_batch_that_skips_a_sequence_does_not_take_the_shortcut(
    producing: Producing, coordinator: FakeCoordinator
) -> None:
    producing.code(txn_batch())
    end_transaction(producing.node, epoch=1)
    shortcut = producing.connection.shortcut
    assert shortcut is not None
    assert shortcut(producing.frame({0: txn_batch(1, epoch=1)})) is None
    assert producing.code(txn_batch(1, epoch=1)) is ErrorCode.out_of_order_sequence_number
    assert producing.end_offset() == 2


def test_equal_request_is_remembered_once(producing: Producing) -> None:
    producing.code(txn_batch(), version=BEFORE_ADDING)
    end_transaction(producing.node)
    shortcut: Any = producing.connection.shortcut
    first = shortcut.repetitions.find(producing.frame({0: txn_batch(1)}, version=BEFORE_ADDING))
    assert producing.code(txn_batch(1), version=BEFORE_ADDING) is ErrorCode.none
    again = shortcut.repetitions.find(producing.frame({0: txn_batch(2)}, version=BEFORE_ADDING))
    assert first is not None
    assert again is first


def test_transactional_batch_without_an_id_does_not_take_the_shortcut(producing: Producing) -> None:
    producing.code(txn_batch())
    plain = txn_batch(transactional=False, pid=8)
    assert producing.code(plain, transactional_id=None) is ErrorCode.none
    shortcut = producing.connection.shortcut
    assert shortcut is not None
    assert shortcut(producing.frame({0: txn_batch(1)}, transactional_id=None)) is None
