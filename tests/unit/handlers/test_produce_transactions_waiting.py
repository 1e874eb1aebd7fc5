"""Transactional batches whose coordinator takes its time, as one on another broker does."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.patience import PATIENCE
from tests.unit.handlers.conftest import StartNode
from tests.unit.handlers.producing import (
    BEFORE_ABORTABLE,
    BEFORE_ADDING,
    NEWEST,
    PRODUCER,
    FakeCoordinator,
    Producing,
    codes_in,
    txn_batch,
)

from barnabas.base.errors import ConcurrentTransactions
from barnabas.base.ids import TopicPartition
from barnabas.handlers.dispatch import Dispatcher
from barnabas.network.connection import RECEIVE_BUFFER_SIZE, Connection, Peer
from barnabas.network.responses import Pending
from barnabas.records.control import build_end_marker
from barnabas.storage.append_info import AppendOrigin

Scenario = Callable[[Producing, FakeCoordinator], Awaitable[None]]
Run = Callable[[Scenario], None]


@pytest.fixture
def run(start_node: StartNode) -> Run:
    def run_scenario(scenario: Scenario) -> None:
        node, coordinator = start_node({"request.timeout.ms": "200"}), FakeCoordinator()
        node.use_transaction_host(coordinator)
        node.create_topic("t", 2)
        coordinator.is_slow = True

        async def with_loop() -> None:
            async with asyncio.timeout(PATIENCE):
                await scenario(Producing(node, asyncio.get_running_loop()), coordinator)

        asyncio.run(with_loop())

    return run_scenario


def end_transaction(node: Node, *, epoch: int = 0) -> None:
    marker = build_end_marker(PRODUCER, epoch, False, 0, 1_600_000_000_000)
    node.partitions.get("t", 0).append(marker, -1, origin=AppendOrigin.COORDINATOR)


def sent(producing: Producing, records: bytes, version: int = NEWEST) -> Pending:
    """Send it from a buffer that is then used for something else, as a connection's is."""
    buffer = bytearray(producing.frame({0: records}, version=version))
    pending = producing.send(memoryview(buffer).toreadonly())
    buffer[:] = bytes(len(buffer))
    assert isinstance(pending, Pending)
    return pending


async def code_of(pending: Pending, version: int = NEWEST) -> ErrorCode:
    while not pending.is_done:
        await asyncio.sleep(0.001)
    (code,) = codes_in(pending.parts, version)
    return code


def test_batch_is_stored_when_the_answer_comes(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        pending = sent(producing, txn_batch())
        assert pending.holds_back
        assert producing.end_offset() == 0
        coordinator.answer()
        assert await code_of(pending) is ErrorCode.none
        assert producing.end_offset() == 1

    run(scenario)


@pytest.mark.parametrize("version", [BEFORE_ABORTABLE, BEFORE_ADDING, NEWEST])
def test_marker_that_comes_before_the_append_refuses_it(run: Run, version: int) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        pending = sent(producing, txn_batch(), version)
        coordinator.answer()
        end_transaction(producing.node, epoch=0 if version <= BEFORE_ADDING else 1)
        refused = (
            ErrorCode.invalid_txn_state if version <= BEFORE_ADDING else ErrorCode.invalid_producer_epoch
        )
        assert await code_of(pending, version) is refused
        assert producing.end_offset() == 1
        assert producing.node.partitions.get("t", 0).log.last_stable_offset == 1

    run(scenario)


def test_both_of_two_repeated_requests_are_answered_and_one_is_stored(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        first = sent(producing, txn_batch())
        producing.connection.shortcut = None
        second = sent(producing, txn_batch())
        coordinator.answer()
        assert (await code_of(first), await code_of(second)) == (ErrorCode.none, ErrorCode.none)
        assert producing.end_offset() == 1

    run(scenario)


def test_nothing_is_stored_for_a_client_that_has_hung_up(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        pending = sent(producing, txn_batch())
        producing.connection.is_closed = True
        pending.cancel()
        coordinator.answer()
        for _ in range(10):
            await asyncio.sleep(0)
        assert producing.end_offset() == 0

    run(scenario)


def test_topic_that_is_deleted_meanwhile_does_not_come_back(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        pending = sent(producing, txn_batch())
        producing.node.partitions.remove_topic("t")
        coordinator.answer()
        assert await code_of(pending) is ErrorCode.unknown_topic_id

    run(scenario)


def test_topic_that_is_deleted_while_its_transaction_waits_does_not_come_back(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        coordinator.is_slow = False
        coordinator.errors = [ConcurrentTransactions()]
        pending = sent(producing, txn_batch())
        node = producing.node
        node.partitions.remove_topic("t")
        assert await code_of(pending) is ErrorCode.unknown_topic_id
        assert node.logs.get(TopicPartition("t", 0)) is None

    run(scenario)


def test_leadership_lost_meanwhile_is_an_error(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        pending = sent(producing, txn_batch())
        producing.node.elect("t", leader=99)
        coordinator.answer()
        assert await code_of(pending) is ErrorCode.not_leader_or_follower

    run(scenario)


def test_coordinator_that_does_not_answer_is_given_up_on(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        pending = sent(producing, txn_batch())
        assert await code_of(pending) is ErrorCode.not_enough_replicas
        coordinator.answer()  # too late
        await asyncio.sleep(0)
        assert producing.end_offset() == 0

    run(scenario)


def test_transaction_before_that_is_being_completed_is_waited_for(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        coordinator.is_slow = False
        coordinator.errors = [ConcurrentTransactions(), ConcurrentTransactions()]
        assert await code_of(sent(producing, txn_batch())) is ErrorCode.none
        assert len(coordinator.calls) == 3

    run(scenario)


def test_marker_of_the_transaction_before_does_not_refuse_the_one_that_waits_for_it(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        coordinator.is_slow = False
        assert producing.code(txn_batch()) is ErrorCode.none
        # The shortcut passes the error on; the full path tries again.
        coordinator.errors = [ConcurrentTransactions(), ConcurrentTransactions()]
        pending = sent(producing, txn_batch(epoch=1))
        end_transaction(producing.node, epoch=1)
        assert await code_of(pending) is ErrorCode.none
        assert producing.end_offset() == 3

    run(scenario)


def test_earlier_transaction_not_completed_in_time_is_an_error(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        coordinator.is_slow = False
        coordinator.errors = [ConcurrentTransactions() for _ in range(50)]
        pending = sent(producing, txn_batch())
        producing.node.clock.advance(100)
        assert await code_of(pending) is ErrorCode.concurrent_transactions
        assert len(coordinator.calls) == 2

    run(scenario)


def test_older_clients_repeat_the_batch_themselves(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        coordinator.is_slow = False
        coordinator.errors = [ConcurrentTransactions()]
        code = producing.code(txn_batch(), version=BEFORE_ADDING)
        assert code is ErrorCode.not_enough_replicas

    run(scenario)


def test_later_requests_of_the_connection_do_not_overtake_a_batch_that_waits(run: Run) -> None:
    async def scenario(producing: Producing, coordinator: FakeCoordinator) -> None:
        loop = asyncio.get_running_loop()
        dispatcher = Dispatcher(producing.node.contexts, loop)
        client, server = socket.socketpair()
        client.setblocking(False)
        server.setblocking(False)
        connection = Connection(
            server,
            Peer("test", 0, "PLAINTEXT"),
            loop,
            memoryview(bytearray(RECEIVE_BUFFER_SIZE)),
            max_frame=1 << 20,
            on_frame=dispatcher.on_frame,
            on_closed=lambda _: None,
        )
        frames = [producing.frame({0: txn_batch(sequence)}) for sequence in range(4)]
        await loop.sock_sendall(client, b"".join(struct.pack(">i", len(each)) + each for each in frames))
        while not coordinator.has_waiting:
            await asyncio.sleep(0)
        coordinator.answer()
        for expected in range(4):
            (size,) = struct.unpack(">i", await exactly(client, 4))
            answer = await exactly(client, size)
            assert struct.pack(">ihq", 0, 0, expected) in answer
        assert len(coordinator.calls) == 1
        connection.close("test is over")
        client.close()

    run(scenario)


async def exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = await asyncio.get_running_loop().sock_recv(client, size - len(data))
        assert part, "hung up"
        data += part
    return data
