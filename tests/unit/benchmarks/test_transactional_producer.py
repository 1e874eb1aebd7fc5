"""Producers and the consumer of transactions against sockets instead of a broker.

Responses are ready before their requests; afterwards what was sent is read.
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, cast

import pytest
from benchmarks.batches import batch
from benchmarks.protocol import CLIENT_ID, ProduceAnswer, UnexpectedAnswer
from benchmarks.raw_client import Connection
from benchmarks.scenarios.transactions import CommittedTraffic
from benchmarks.transactional_producer import TransactionalProducer, run_transactions
from crc32c import crc32c
from kio.schema.end_txn.v5.request import EndTxnRequest
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.fetch.v12.response import FetchableTopicResponse, FetchResponse, PartitionData
from kio.schema.find_coordinator.v4.response import Coordinator, FindCoordinatorResponse
from kio.schema.init_producer_id.v5.response import InitProducerIdResponse
from kio.schema.produce.v12.request import ProduceRequest
from kio.schema.types import BrokerId, ProducerId, TopicName
from kio.static.primitive import i16, i32, i64
from tests.patience import PATIENCE
from tests.unit.benchmarks.group_answers import NO_TIME
from tests.unit.benchmarks.kio_frames import parse, response

PRODUCE, END_TXN = 0, 26
CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE = 51, 48


def framed(answer: bytes) -> bytes:
    return struct.pack(">i", len(answer)) + answer


def produced(error: int = 0) -> bytes:
    layout = ProduceAnswer("t", 1)
    answer = bytearray(layout.size)
    struct.pack_into(">h", answer, layout.error_positions[0], error)
    return framed(bytes(answer))


def ended(epoch: int, error: ErrorCode = ErrorCode.none) -> bytes:
    """The answer of InitProducerId and of EndTxn."""
    entity = InitProducerIdResponse(
        throttle_time=NO_TIME, error_code=error, producer_id=ProducerId(4000), producer_epoch=i16(epoch)
    )
    return framed(response(entity))


def found() -> bytes:
    node = Coordinator(
        key="tx",
        node_id=BrokerId(1),
        host="localhost",
        port=i32(9092),
        error_code=ErrorCode.none,
        error_message=None,
    )
    return framed(response(FindCoordinatorResponse(throttle_time=NO_TIME, coordinators=(node,))))


def fetched(*batches: tuple[int, bool]) -> bytes:
    """One-record batches, each at its offset and either of records or of a marker."""
    records = b""
    for offset, is_control in batches:
        encoded = bytearray(batch([b"value"]))
        struct.pack_into(">q", encoded, 0, offset)
        struct.pack_into(">h", encoded, 21, 0x30 if is_control else 0x10)
        records += encoded
    partition = PartitionData(
        partition_index=i32(0),
        error_code=ErrorCode.none,
        high_watermark=i64(9),
        last_stable_offset=i64(9),
        log_start_offset=i64(0),
        aborted_transactions=(),
        preferred_read_replica=BrokerId(-1),
        records=cast(Any, records),
    )
    topic = FetchableTopicResponse(topic=TopicName("t"), partitions=(partition,))
    entity = FetchResponse(
        throttle_time=NO_TIME, error_code=ErrorCode.none, session_id=i32(0), responses=(topic,)
    )
    return framed(response(entity))


class Peer:
    """The broker's end of a connection."""

    def __init__(self, stack: ExitStack) -> None:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.connection = stack.enter_context(
            Connection("127.0.0.1", server.getsockname()[1], timeout=PATIENCE)
        )
        self.socket = stack.enter_context(server.accept()[0])

    def sent(self) -> list[bytes]:
        """All requests; no more come afterwards."""
        self.connection.socket.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: self.socket.recv(1 << 16), b""))
        requests = []
        while received:
            size = 4 + int.from_bytes(received[:4], "big")
            requests.append(received[:size])
            received = received[size:]
        return requests


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def key_of(request: bytes) -> int:
    assert CLIENT_ID in request
    return int.from_bytes(request[4:6], "big")


def producer_of(request: bytes) -> tuple[int, int, int]:
    """Producer id, epoch and base sequence of the one batch, whose checksum is right."""
    produce: ProduceRequest = parse(ProduceRequest, request)
    assert (produce.transactional_id, produce.acks) == ("tx", -1)
    records = bytes(produce.topic_data[0].partition_data[0].records or b"")
    crc, attributes = struct.unpack_from(">Ih", records, 17)
    assert crc == crc32c(records[21:])
    assert attributes == 0x10
    producer_id, epoch, sequence = struct.unpack_from(">qhi", records, 43)
    return producer_id, epoch, sequence


def test_each_transaction_goes_on_with_the_epoch_that_the_last_end_gave(stack: ExitStack) -> None:
    peer = Peer(stack)
    peer.socket.sendall(found() + ended(0) + produced() + ended(1) + produced() + ended(2))
    producer = TransactionalProducer(peer.connection, "tx", "t", 0, records=3)
    producer.prepare()
    producer.send()
    assert producer.receive() is None
    assert producer.receive() is not None
    *_, first, first_end, second, second_end = peer.sent()
    assert [producer_of(first), producer_of(second)] == [(4000, 0, 0), (4000, 1, 0)]
    ends: list[EndTxnRequest] = [parse(EndTxnRequest, first_end), parse(EndTxnRequest, second_end)]
    assert [(end.producer_id, end.producer_epoch) for end in ends] == [(4000, 0), (4000, 1)]


def test_a_batch_that_came_before_the_markers_is_sent_again(stack: ExitStack) -> None:
    peer = Peer(stack)
    peer.socket.sendall(produced(CONCURRENT_TRANSACTIONS) + produced() + ended(1))
    producer = TransactionalProducer(peer.connection, "tx", "t", 0, records=1)
    producer.send()
    assert [producer.receive() is None for _ in range(3)] == [True, True, False]
    assert [key_of(request) for request in peer.sent()] == [PRODUCE, PRODUCE, END_TXN]


def test_other_errors_end_the_measurement(stack: ExitStack) -> None:
    peer = Peer(stack)
    peer.socket.sendall(produced(INVALID_TXN_STATE) + produced() + ended(-1, ErrorCode.producer_fenced))
    producer = TransactionalProducer(peer.connection, "tx", "t", 0, records=1)
    with pytest.raises(UnexpectedAnswer, match="48"):
        producer.receive()
    assert producer.receive() is None
    with pytest.raises(UnexpectedAnswer, match="90"):
        producer.receive()


def test_a_run_leaves_no_transaction_open(stack: ExitStack) -> None:
    peers = [Peer(stack), Peer(stack)]
    for peer in peers:
        peer.socket.sendall(produced() + ended(1))
    producers = [TransactionalProducer(peer.connection, "tx", "t", 0, records=1) for peer in peers]
    done = run_transactions(producers, warm_up=0.0, seconds=0.0)
    assert done.commits == []
    for peer in peers:
        assert [key_of(request) for request in peer.sent()] == [PRODUCE, END_TXN]


def test_a_run_counts_the_commits_of_its_time(stack: ExitStack) -> None:
    peer = Peer(stack)
    ends = 0

    def serve() -> None:
        nonlocal ends
        while length := peer.socket.recv(4, socket.MSG_WAITALL):
            request = peer.socket.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL)
            is_end = request[:2] == END_TXN.to_bytes(2, "big")
            ends += is_end
            peer.socket.sendall(ended(ends) if is_end else produced())

    thread = threading.Thread(target=serve)
    thread.start()
    producer = TransactionalProducer(peer.connection, "tx", "t", 0, records=1)
    done = run_transactions([producer], warm_up=0.0, seconds=0.05)
    peer.connection.socket.shutdown(socket.SHUT_WR)
    thread.join()
    assert len(done.commits) == ends - 1  # the last ends after the time
    assert done.rate == pytest.approx(len(done.commits) / done.seconds)
    assert all(0 < seconds < 5 for seconds in done.commits)


def test_only_records_count_as_arrived_and_the_next_fetch_is_behind_the_marker(stack: ExitStack) -> None:
    broker, other = Peer(stack), Peer(stack)
    broker.socket.sendall(produced() + ended(1))
    other.socket.sendall(fetched((0, False), (1, True)) + fetched((2, False), (3, True)))
    producer = TransactionalProducer(broker.connection, "tx", "t", 0, records=1)
    traffic = CommittedTraffic(producer, other.connection, "t")
    traffic.run(1)
    assert len(traffic.latencies) == 2
    assert all(0 <= latency < 5 for latency in traffic.latencies)
    requests: list[FetchRequest] = [parse(FetchRequest, request) for request in other.sent()]
    assert [request.topics[0].partitions[0].fetch_offset for request in requests] == [0, 2, 4]
    assert {request.isolation_level for request in requests} == {1}
    assert requests[0].max_wait == timedelta(milliseconds=500)
