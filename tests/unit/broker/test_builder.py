"""Several brokers in one process, each with its own environment; changes of the configuration."""

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.fakes.inline_executor import InlineExecutor
from tests.fakes.node import Node
from tests.faults.topic_life.direct_client import DirectClient
from tests.unit.broker.test_broker import config

from barnabas.base.clock import ManualClock
from barnabas.broker.broker import Broker
from barnabas.broker.environment import Environment


async def started(directory: Path, seed: int, node_id: int) -> Broker:
    """A broker without threads of its own, with its own time and randomness."""
    environment = Environment(
        clock=ManualClock(),
        rng=Random(seed),
        make_executor=lambda _: InlineExecutor(),
        make_thread=lambda _: InlineExecutor(),
    )
    broker = Broker(config(directory, node_id=node_id), environment)
    await broker.start()
    return broker


async def ids_of(broker: Broker) -> list[Any]:
    """The ids that a broker chooses: of the cluster, of a topic, of a fetch session, of members of groups."""
    client = DirectClient(broker)
    topic = {"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    created = await client.call("create_topics", 7, topics=[topic], timeout=1000, validate_only=False)
    assert created.topics[0].error_code == 0
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}
    fetched = await client.call(
        "fetch",
        12,
        max_wait=0,
        min_bytes=1,
        max_bytes=1,
        session_id=0,
        session_epoch=0,
        topics=[{"topic": "t", "partitions": [partition]}],
        forgotten_topics_data=[],
    )
    assert fetched.session_id
    await client.call("find_coordinator", 4, key_type=0, coordinator_keys=["g"])
    joined = await client.call(
        "join_group",
        5,
        group_id="g",
        session_timeout=10_000,
        rebalance_timeout=10_000,
        member_id="",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": b""}],
    )
    assert joined.member_id
    image = broker._cluster.image
    directory_id = broker._logs.directories[0].directory_id
    return [
        image.cluster_id,
        directory_id,
        image.topics["t"].topic_id,
        fetched.session_id,
        joined.member_id,
    ]


def test_brokers_in_one_process_share_nothing_and_repeat_their_randomness(tmp_path: Path) -> None:
    async def scenario() -> None:
        given = [(tmp_path / "a", 7, 3), (tmp_path / "b", 7, 3), (tmp_path / "c", 8, 4)]
        brokers = [await started(*each) for each in given]
        try:
            first, again, other = [await ids_of(broker) for broker in brokers]
            assert first == again
            assert all(mine != theirs for mine, theirs in zip(first, other, strict=True))
            assert len({broker.port for broker in brokers}) == 3
        finally:
            for broker in brokers:
                await broker.stop()

    asyncio.run(scenario())


def test_configuration_change_reaches_its_readers(node: Node) -> None:
    dynamic = {"message.max.bytes": "4321", "auto.create.topics.enable": "false", "num.partitions": "5"}
    node.settings.replace(node.config.with_dynamic({}, dynamic))
    assert not node.contexts.records.topics.config.auto_create_topics_enable
    (described,) = node.ask(
        "DescribeConfigs", 4, resources=[{"resource_type": 4, "resource_name": str(node.config.broker_id)}]
    ).results
    assert {each.name: each.value for each in described.configs}["message.max.bytes"] == "4321"
    node.ask("CreateTopics", 7, topics=[{"name": "t", "num_partitions": -1, "replication_factor": 1}])
    assert len(node.image.topics["t"].partitions) == 5


@pytest.fixture
def node(tmp_path: Path) -> Any:
    node = Node(tmp_path, {})
    yield node
    node.close()
