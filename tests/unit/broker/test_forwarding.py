"""Brokers on one store in one process: requests for the controller work at each of them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.faults.topic_life.direct_client import DirectClient
from tests.integration.clients.raw import encode
from tests.patience import PATIENCE
from tests.unit.broker.test_broker import config

from barnabas.base.principal import ANONYMOUS
from barnabas.broker.broker import Broker
from barnabas.handlers.exchange import Exchange
from barnabas.handlers.pipeline import Drop, Stage, Verdict
from barnabas.handlers.registry import ENVELOPE
from barnabas.metadata import paths
from barnabas.wire.envelope import envelope_request

BROKER, TOPIC, LOGGER = 4, 2, 8
SET = 0


class Seen(Stage):
    """Remembers what passes, and leaves envelopes unanswered while `is_deaf`."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.is_deaf: bool = False

    def before(self, exchange: Exchange) -> Verdict | None:
        self.keys.append(exchange.api_key)
        return Drop() if self.is_deaf and exchange.api_key == ENVELOPE else None


class Brokers:
    def __init__(self, directory: Path) -> None:
        self.directory: Path = directory
        self.running: dict[int, Broker] = {}
        self.seen: dict[int, Seen] = {}

    async def start(self, node_id: int, **properties: object) -> Broker:
        store = {"barnabas.metadata.store.path": str(self.directory / "metadata.db"), "node.id": node_id}
        own = config(self.directory / str(node_id), **{**store, **properties})
        self.seen[node_id] = Seen()
        broker = self.running[node_id] = Broker(own, stages=[self.seen[node_id]])
        await broker.start()
        await eventually(
            lambda: all(len(self.image(each).brokers) == len(self.running) for each in self.running)
        )
        return broker

    async def stop(self, node_id: int) -> None:
        await self.running.pop(node_id).stop()

    def image(self, node_id: int) -> Any:
        return self.running[node_id]._cluster.image

    async def call(self, node_id: int, api: str, version: int, **fields: object) -> Any:
        return await DirectClient(self.running[node_id]).call(api, version, **fields)

    async def create(self, node_id: int, name: str, factor: int = 1) -> ErrorCode:
        topic = {
            "name": name,
            "num_partitions": 1,
            "replication_factor": factor,
            "assignments": [],
            "configs": [],
        }
        answer = await self.call(
            node_id, "create_topics", 7, topics=[topic], timeout=30_000, validate_only=False
        )
        return ErrorCode(answer.topics[0].error_code)


@asynccontextmanager
async def brokers(directory: Path, *numbers: int, **properties: object) -> AsyncIterator[Brokers]:
    """The first is the controller."""
    cluster = Brokers(directory)
    try:
        for number in numbers:
            await cluster.start(number, **properties)
        yield cluster
    finally:
        for number in list(cluster.running):
            await cluster.stop(number)


async def eventually(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_true():
            await asyncio.sleep(0.01)


def alteration(kind: int, name: str, key: str, value: str) -> dict[str, object]:
    configs = [{"name": key, "config_operation": SET, "value": value}]
    return {"resource_type": kind, "resource_name": name, "configs": configs}


def codes(answer: Any) -> list[ErrorCode]:
    return [ErrorCode(each.error_code) for each in answer.responses]


def test_topics_are_created_grown_and_deleted_at_another_broker(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2) as cluster:
            assert await cluster.create(2, "t", factor=2) is ErrorCode.none
            assert "t" in cluster.image(2).topics, "a client finds the topic where it created it"
            assert "t" in cluster.image(1).topics
            assert await cluster.create(2, "t") is ErrorCode.topic_already_exists
            grown = {"name": "t", "count": 3, "assignments": None}
            answer = await cluster.call(
                2, "create_partitions", 3, topics=[grown], timeout=30_000, validate_only=False
            )
            assert answer.results[0].error_code == 0
            assert len(cluster.image(2).topics["t"].partitions) == 3
            topic = {"name": None, "topic_id": cluster.image(2).topics["t"].topic_id}
            answer = await cluster.call(2, "delete_topics", 6, topics=[topic], timeout=30_000)
            assert answer.responses[0].error_code == 0
            assert "t" not in cluster.image(2).topics
            found = await cluster.call(
                2,
                "metadata",
                12,
                topics=[{"topic_id": None, "name": "t"}],
                allow_auto_topic_creation=True,
                include_topic_authorized_operations=False,
            )
            assert found.topics[0].error_code == ErrorCode.unknown_topic_or_partition, "not created again"
            assert cluster.seen[1].keys.count(ENVELOPE) == 4
            assert 19 in cluster.seen[2].keys, "the stages see the request of the client"

    asyncio.run(scenario())


def test_configurations_are_changed_at_another_broker_and_reach_every_broker(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2, 3) as cluster:
            await cluster.create(2, "t")
            changes = [
                alteration(TOPIC, "t", "retention.ms", "12345"),
                alteration(BROKER, "2", "log.cleaner.threads", "2"),
                alteration(BROKER, "", "log.retention.ms", "777"),
            ]
            answer = await cluster.call(
                2, "incremental_alter_configs", 1, resources=changes, validate_only=False
            )
            assert codes(answer) == [ErrorCode.none] * 3
            for number in (1, 2, 3):
                broker = cluster.running[number]
                await eventually(
                    lambda number=number: (
                        cluster.image(number).topic_configs["t"] == {"retention.ms": "12345"}
                    )  # type: ignore[misc]
                )
                await eventually(lambda broker=broker: broker.config.get("log.retention.ms") == 777)  # type: ignore[misc]
            assert cluster.running[2].config.get("log.cleaner.threads") == 2
            assert cluster.running[1].config.get("log.cleaner.threads") == 1
            replaced = {"resource_type": TOPIC, "resource_name": "t", "configs": []}
            answer = await cluster.call(3, "alter_configs", 2, resources=[replaced], validate_only=False)
            assert codes(answer) == [ErrorCode.none]
            await eventually(lambda: not any("t" in cluster.image(each).topic_configs for each in (1, 2, 3)))

    asyncio.run(scenario())


def test_broker_answers_its_own_part_of_a_change_of_configurations(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2) as cluster:
            await cluster.create(1, "t")
            changes = [
                alteration(BROKER, "1", "log.cleaner.threads", "2"),
                alteration(TOPIC, "t", "retention.ms", "5"),
                alteration(LOGGER, "2", "broker", "DEBUG"),
                alteration(TOPIC, "missing", "retention.ms", "5"),
                alteration(BROKER, "2", "log.cleaner.threads", "many"),
            ]
            answer = await cluster.call(
                2, "incremental_alter_configs", 1, resources=changes, validate_only=False
            )
            assert codes(answer) == [
                ErrorCode.invalid_request,  # a broker changes its own configuration only
                ErrorCode.none,
                ErrorCode.none,
                ErrorCode.unknown_topic_or_partition,
                ErrorCode.invalid_request,
            ]
            assert [each.resource_name for each in answer.responses] == ["1", "t", "2", "missing", "2"]
            assert cluster.image(2).topic_configs["t"] == {"retention.ms": "5"}
            assert logging.getLogger("broker").level == logging.DEBUG
            only_own = [alteration(LOGGER, "2", "broker", "INFO")]
            answer = await cluster.call(
                2, "incremental_alter_configs", 1, resources=only_own, validate_only=False
            )
            assert codes(answer) == [ErrorCode.none]
            assert cluster.seen[1].keys.count(ENVELOPE) == 1

    asyncio.run(scenario())


def test_request_waits_for_the_next_controller(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2, 3) as cluster:
            cluster.seen[1].is_deaf = True
            creation = asyncio.create_task(cluster.create(2, "t"))
            await eventually(lambda: ENVELOPE in cluster.seen[1].keys)
            await cluster.stop(1)
            assert await creation is ErrorCode.none
            assert cluster.image(2).controller_id in (2, 3)

    asyncio.run(scenario())


def test_request_moves_on_when_the_role_moves_and_the_old_controller_is_silent(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2, 3) as cluster:
            cluster.seen[1].is_deaf = True
            creation = asyncio.create_task(cluster.create(2, "t"))
            await eventually(lambda: ENVELOPE in cluster.seen[1].keys)
            while not creation.done():  # Any broker may take the role, also the silent one.
                cluster.running[1]._store.delete(paths.CONTROLLER)
                await asyncio.wait([creation], timeout=0.5)
            assert await creation is ErrorCode.none

    asyncio.run(scenario())


_NEW = {"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
_MOVED = {"name": "t", "partitions": [{"partition_index": 0, "replicas": [1]}]}
TIMED_OUT: list[tuple[str, int, dict[str, object]]] = [
    ("create_topics", 7, {"topics": [_NEW], "validate_only": False}),
    ("delete_topics", 6, {"topics": [{"name": "t", "topic_id": None}]}),
    (
        "create_partitions",
        3,
        {"topics": [{"name": "t", "count": 2, "assignments": None}], "validate_only": False},
    ),
    ("elect_leaders", 2, {"election_type": 0, "topic_partitions": [{"topic": "t", "partitions": [0]}]}),
    ("alter_partition_reassignments", 0, {"topics": [_MOVED]}),
    ("list_partition_reassignments", 0, {"topics": None}),
]


def test_controller_that_does_not_answer_is_a_timeout_and_other_requests_go_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2) as cluster:
            cluster.seen[1].is_deaf = True
            for api, version, fields in TIMED_OUT:
                answer = await cluster.call(2, api, version, timeout=50, **fields)
                assert "request_timed_out" in repr(answer), answer
            described = await cluster.call(
                2, "describe_cluster", 0, include_cluster_authorized_operations=False
            )
            assert len(described.brokers) == 2

    asyncio.run(scenario())


def test_timeout_of_requests_without_one_is_that_of_the_broker(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2, request_timeout_ms=50) as cluster:
            cluster.seen[1].is_deaf = True
            unregistered = await cluster.call(2, "unregister_broker", 0, broker_id=7)
            assert unregistered.error_code == ErrorCode.request_timed_out
            changes = [alteration(TOPIC, "t", "retention.ms", "1")]
            answer = await cluster.call(
                2, "incremental_alter_configs", 1, resources=changes, validate_only=False
            )
            assert codes(answer) == [ErrorCode.request_timed_out]

    asyncio.run(scenario())


def test_broker_that_is_not_the_controller_refuses_envelopes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2) as cluster:
            other = encode("describe_cluster", 0, 1, include_cluster_authorized_operations=False)
            for number, frame, expected in (
                (2, encode("delete_topics", 6, 1, topics=[], timeout=1), ErrorCode.not_controller),
                (1, other, ErrorCode.invalid_request),
                (1, b"\x00", ErrorCode.invalid_request),
                (1, encode("delete_topics", 6, 1, topics=[], timeout=1)[:-3], ErrorCode.invalid_request),
                (1, b"\x00\x13\x00\x63\x00\x00\x00\x01\xff\xff", ErrorCode.unsupported_version),
                (1, encode("delete_topics", 6, 1, topics=[], timeout=1), ErrorCode.none),
            ):
                built = envelope_request(bytes(frame), ANONYMOUS, "127.0.0.1")
                assert not built.is_advertised
                answer = await cluster.call(
                    number,
                    "envelope",
                    0,
                    request_data=bytes(frame),
                    request_principal=None,
                    client_host_address=b"",
                )
                assert answer.error_code == expected

    asyncio.run(scenario())


def test_topic_that_a_client_names_is_created_by_the_controller(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2, num_partitions=4) as cluster:
            found = await cluster.call(
                2,
                "metadata",
                12,
                topics=[{"topic_id": None, "name": "named"}],
                allow_auto_topic_creation=True,
                include_topic_authorized_operations=False,
            )
            assert [len(each.partitions) for each in found.topics] == [4]
            assert "named" in cluster.image(1).topics
            assert ENVELOPE in cluster.seen[1].keys

    asyncio.run(scenario())


def test_coordinator_waits_for_the_brokers_of_its_topic(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def find(cluster: Brokers, node_id: int) -> ErrorCode:
        answer = await cluster.call(node_id, "find_coordinator", 4, key_type=0, coordinator_keys=["g"])
        return ErrorCode(answer.coordinators[0].error_code)

    async def scenario() -> None:
        settings = {"offsets.topic.replication.factor": 3, "offsets.topic.num.partitions": 2}
        async with brokers(tmp_path, 1, 2, **settings) as cluster:
            for _ in range(3):
                assert await find(cluster, 2) is ErrorCode.coordinator_not_available
            lines = [each for each in caplog.messages if "__consumer_offsets" in each]
            assert len(lines) == 1
            assert "is to have 3 replicas and there are 2 brokers" in lines[0]
            assert "offsets.topic.replication.factor" in lines[0]
            await cluster.start(3, **settings)
            assert await find(cluster, 2) is ErrorCode.none
            topic = cluster.image(2).topics["__consumer_offsets"]
            assert all(len(each.replicas) == 3 for each in topic.partitions.values())

    asyncio.run(scenario())


def test_stopped_broker_is_fenced_until_it_is_unregistered(tmp_path: Path) -> None:
    async def known(cluster: Brokers) -> dict[int, bool]:
        answer = await cluster.call(
            2,
            "describe_cluster",
            2,
            include_cluster_authorized_operations=False,
            endpoint_type=1,
            include_fenced_brokers=True,
        )
        return {each.broker_id: each.is_fenced for each in answer.brokers}

    async def unregister(cluster: Brokers, number: int) -> ErrorCode:
        answer = await cluster.call(2, "unregister_broker", 0, broker_id=number)
        return ErrorCode(answer.error_code)

    async def scenario() -> None:
        async with brokers(tmp_path, 1, 2, 3) as cluster:
            assert await known(cluster) == {1: False, 2: False, 3: False}
            assert await unregister(cluster, 3) is ErrorCode.invalid_request, "it is running"
            await cluster.stop(3)
            await eventually(lambda: all(3 not in cluster.image(each).brokers for each in (1, 2)))
            assert await known(cluster) == {1: False, 2: False, 3: True}
            assert await unregister(cluster, 3) is ErrorCode.none
            assert await known(cluster) == {1: False, 2: False}
            assert await unregister(cluster, 3) is ErrorCode.broker_id_not_registered

    asyncio.run(scenario())
