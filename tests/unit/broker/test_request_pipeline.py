"""Every way through a running broker passes its stages, exactly once, from receipt to the last byte sent."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.clients.raw import decode, encode
from tests.patience import PATIENCE
from tests.unit.broker.test_broker import config

from barnabas.broker.broker import Broker
from barnabas.handlers.exchange import Exchange
from barnabas.handlers.pipeline import Delay, Disconnect, Drop, Respond, Stage, Verdict
from barnabas.records.builder import build_batch
from barnabas.records.record import Record

PRODUCE, FETCH, METADATA, OFFSET_COMMIT, API_VERSIONS = 0, 1, 3, 8, 18


class Recording(Stage):
    """Counts the hooks of each request."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        """API keys."""
        self.ended: list[Exchange] = []
        self.sent_to: list[Exchange] = []
        self.verdict: Callable[[Exchange], Verdict | None] = lambda _: None
        self.verdict_after: Callable[[Exchange], Verdict | None] = lambda _: None

    def before(self, exchange: Exchange) -> Verdict | None:
        self.begun.append(exchange.api_key)
        return self.verdict(exchange)

    def after(self, exchange: Exchange) -> Verdict | None:
        self.ended.append(exchange)
        return self.verdict_after(exchange)

    def sent(self, exchange: Exchange) -> None:
        self.sent_to.append(exchange)

    def expect(self, *keys: int, sent: bool = True) -> list[Exchange]:
        """These requests, and no others, had every hook once since the last call."""
        assert self.begun == list(keys)
        assert sorted(each.api_key for each in self.ended) == sorted(keys)
        assert len(self.sent_to) == (len(keys) if sent else 0)
        ended, self.begun, self.ended, self.sent_to = self.ended, [], [], []
        return ended

    async def until_ended(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.ended) < count:
                await asyncio.sleep(0)


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader: asyncio.StreamReader = reader
        self.writer: asyncio.StreamWriter = writer
        self._last_id: int = 0

    def send(self, api: str, version: int, **fields: object) -> None:
        self._last_id += 1
        self.send_bytes(encode(api, version, self._last_id, **fields))

    def send_bytes(self, payload: bytes) -> None:
        self.writer.write(struct.pack(">i", len(payload)) + payload)

    async def receive(self, api: str, version: int) -> Any:
        async with asyncio.timeout(PATIENCE):
            (size,) = struct.unpack(">i", await self._reader.readexactly(4))
            return decode(api, version, await self._reader.readexactly(size))

    async def call(self, api: str, version: int, **fields: object) -> Any:
        self.send(api, version, **fields)
        return await self.receive(api, version)

    async def is_closed(self) -> bool:
        async with asyncio.timeout(PATIENCE):
            return await self._reader.read(1) == b""


class Served:
    def __init__(self, broker: Broker, stage: Recording, client: Client) -> None:
        self.broker: Broker = broker
        self.stage: Recording = stage
        self.client: Client = client

    @property
    def connection(self) -> Any:
        (connection,) = self.broker._server.connections
        return connection


@asynccontextmanager
async def served(directory: Path) -> AsyncIterator[Served]:
    """A broker with topic `t` and a client that has loaded the routes it needs."""
    stage = Recording()
    properties = {"group_initial_rebalance_delay_ms": 0, "offsets_topic_num_partitions": 1}
    broker = Broker(config(directory, **properties), stages=[stage])
    await broker.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    client = Client(reader, writer)
    try:
        topic = {"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
        await client.call("create_topics", 7, topics=[topic], timeout=10_000, validate_only=False)
        await client.call("produce", 9, **produced(b"first"))
        stage.begun, stage.ended, stage.sent_to = [], [], []
        yield Served(broker, stage, client)
    finally:
        writer.close()
        await broker.stop()


def produced(value: bytes, acks: int = 1) -> dict[str, object]:
    records = build_batch([Record(0, 1_600_000_000_000, None, value)])
    partition = {"index": 0, "records": records}
    topic_data = [{"name": "t", "partition_data": [partition]}]
    return {"transactional_id": None, "acks": acks, "timeout": 10_000, "topic_data": topic_data}


def fetched(offset: int, *, max_wait: int = 0, session_id: int = 0, epoch: int = -1) -> dict[str, object]:
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    topics = [{"topic": "t", "partitions": [partition]}] if epoch <= 0 else []
    return {
        "max_wait": max_wait,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_id": session_id,
        "session_epoch": epoch,
        "topics": topics,
        "forgotten_topics_data": [],
    }


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def test_ordinary_request(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            await it.client.call("metadata", 1, topics=None)
            (exchange,) = it.stage.expect(METADATA)
            assert str(exchange.principal) == "User:ANONYMOUS"
            assert exchange.begun <= exchange.handled <= exchange.completed <= exchange.sent

    run(scenario)


def test_repeated_produce_that_its_shortcut_answers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            shortcut, answered = it.connection.shortcut, []

            def spy(frame: memoryview) -> Any:
                answered.append(shortcut(frame))
                return answered[-1]

            it.connection.shortcut = spy
            for value in (b"second", b"third"):
                await it.client.call("produce", 9, **produced(value))
            assert all(answered)
            assert len(answered) == 2
            it.stage.expect(PRODUCE, PRODUCE)

            it.broker._server.forget_shortcuts()
            await it.client.call("produce", 9, **produced(b"fourth"))
            assert len(answered) == 2
            it.stage.expect(PRODUCE)

    run(scenario)


def test_stage_refuses_a_repeated_produce(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            assert it.connection.shortcut is not None
            it.stage.verdict = lambda _: Disconnect("not authorised")
            it.client.send("produce", 9, **produced(b"second"))
            assert await it.client.is_closed()
            it.stage.expect(PRODUCE, sent=False)
            assert it.broker._partitions.get("t", 0).log.log_end_offset == 1

    run(scenario)


def test_fetch_of_a_session(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            full = await it.client.call("fetch", 12, **fetched(0, epoch=0))
            session = full.session_id
            assert session
            await it.client.call("fetch", 12, **fetched(0, session_id=session, epoch=1))
            it.stage.expect(FETCH, FETCH)

    run(scenario)


def test_fetch_that_waits_for_records(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            await it.client.call("fetch", 12, **fetched(0))
            it.stage.expect(FETCH)
            it.client.send("fetch", 12, **fetched(1, max_wait=60_000))
            async with asyncio.timeout(PATIENCE):
                while it.stage.begun != [FETCH]:
                    await asyncio.sleep(0)
            assert not it.stage.ended
            it.broker._partitions.get("t", 0).append(build_batch([Record(0, 1, None, b"v")]), acks=1)
            await it.client.receive("fetch", 12)
            (exchange,) = it.stage.expect(FETCH)
            assert exchange.begun <= exchange.handled <= exchange.completed <= exchange.sent

    run(scenario)


def test_produce_that_waits_for_all_replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            partition = it.broker._partitions.get("t", 0)
            monkeypatch.setattr(type(partition), "must_wait", lambda *_: True)
            it.client.send("produce", 9, **produced(b"second", acks=-1))
            async with asyncio.timeout(PATIENCE):
                while it.stage.begun != [PRODUCE]:
                    await asyncio.sleep(0)
            assert not it.stage.ended
            monkeypatch.undo()
            await it.client.call("produce", 9, **produced(b"third", acks=-1))
            assert (await it.client.receive("produce", 9)).responses
            it.stage.expect(PRODUCE, PRODUCE)

    run(scenario)


def test_produce_without_a_response(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            it.client.send("produce", 9, **produced(b"second", acks=0))
            await it.stage.until_ended(1)
            (exchange,) = it.stage.expect(PRODUCE, sent=False)
            assert exchange.response is None
            assert not exchange.is_disconnected

    run(scenario)


def test_repeated_commit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            await it.client.call("find_coordinator", 4, key_type=0, coordinator_keys=["g"])
            it.broker._server.forget_shortcuts()
            it.stage.begun, it.stage.ended, it.stage.sent_to = [], [], []
            for offset in range(3):
                partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
                await it.client.call(
                    "offset_commit",
                    9,
                    group_id="g",
                    generation_id_or_member_epoch=-1,
                    member_id="",
                    topics=[{"name": "t", "partitions": [partition]}],
                )
            assert type(it.connection.shortcut).__name__ == "RepeatedCommit"
            it.stage.expect(OFFSET_COMMIT, OFFSET_COMMIT, OFFSET_COMMIT)

    run(scenario)


def test_unsupported_version(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            it.client.send_bytes(struct.pack(">hhih", API_VERSIONS, 99, 7, -1))
            assert (await it.client.receive("api_versions", 0)).error_code == 35
            it.stage.expect(API_VERSIONS)
            it.client.send_bytes(struct.pack(">hhih", METADATA, 99, 8, -1))
            assert await it.client.is_closed()
            (exchange,) = it.stage.expect(METADATA, sent=False)
            assert exchange.is_disconnected

    run(scenario)


@pytest.mark.parametrize(
    ("payload", "key"), [(b"\x00", -1), (struct.pack(">hhih", METADATA, 1, 7, -1) + b"\x00", METADATA)]
)
def test_malformed_request(tmp_path: Path, payload: bytes, key: int) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            it.client.send_bytes(payload)
            assert await it.client.is_closed()
            (exchange,) = it.stage.expect(key, sent=False)
            assert exchange.is_disconnected

    run(scenario)


def test_faults_are_injected_without_the_handlers_knowing(tmp_path: Path) -> None:
    """An error, a delay, a dropped response: one stage each."""

    async def scenario() -> None:
        async with served(tmp_path) as it:
            error = struct.pack(">iihi", 10, 2, 35, 0)
            verdicts: list[Verdict] = [Respond([error]), Delay(0.001)]
            it.stage.verdict = lambda _: verdicts.pop(0) if verdicts else None
            it.client.send_bytes(struct.pack(">hhih", API_VERSIONS, 0, 2, -1))
            assert (await it.client.receive("api_versions", 0)).error_code == 35
            assert (await it.client.call("metadata", 1, topics=None)).topics
            it.stage.verdict_after = lambda exchange: Drop() if exchange.api_key == METADATA else None
            it.client.send("metadata", 1, topics=None)
            it.client.send("produce", 9, **produced(b"second"))
            assert (await it.client.receive("produce", 9)).responses
            assert [each.api_key for each in it.stage.ended] == [API_VERSIONS, METADATA, METADATA, PRODUCE]

    run(scenario)


def test_muted_connection_gets_its_response_and_waits_with_the_next_request(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            loop = asyncio.get_running_loop()
            await it.client.call("metadata", 1, topics=None)
            it.stage.verdict_after = lambda exchange: exchange.connection.mute(0.2)
            begun = loop.time()
            it.client.send("metadata", 1, topics=None)
            it.client.send("metadata", 1, topics=None)
            await it.client.receive("metadata", 1)
            assert len(it.stage.begun) == 2
            await it.client.receive("metadata", 1)
            assert loop.time() - begun >= 0.2

    run(scenario)
