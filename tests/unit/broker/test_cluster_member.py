"""Brokers that share a store: each is activated by the controller, and the controller's role moves."""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.unit.broker.test_broker import config

from barnabas.base.ids import TopicPartition
from barnabas.broker.broker import Broker
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.reassignments import Reassignment, reassign
from barnabas.controller.requests import ConfigAlteration, ConfigOperation, NewTopic, ResourceType
from barnabas.metadata import paths
from barnabas.metadata.image import NO_LEADER, PartitionImage
from barnabas.metadata.sqlite_store import SqliteStore


async def started(directory: Path, node_id: int, **properties: str) -> Broker:
    store = directory / "metadata.db"
    settings = {"barnabas.metadata.store.path": str(store), **properties}
    broker = Broker(config(directory / str(node_id), node_id=node_id, **settings))
    await broker.start()
    return broker


async def eventually(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_true():
            await asyncio.sleep(0.01)


def test_controller_activates_brokers_and_its_role_moves_when_it_stops(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = await started(tmp_path, 1)
        second = await started(tmp_path, 2)
        try:
            await eventually(lambda: sorted(first._cluster.image.brokers) == [1, 2])
            await eventually(lambda: sorted(second._cluster.image.brokers) == [1, 2])
            assert second._cluster.image.controller_id == 1
            await first.stop()
            await eventually(lambda: second._cluster.image.controller_id == 2)
            await eventually(lambda: list(second._cluster.image.brokers) == [2])
            assert second._cluster.image.controller_epoch == 2
        finally:
            await second.stop()
            await first.stop()

    asyncio.run(scenario())


def test_broker_registers_again_after_its_session_expired(tmp_path: Path) -> None:
    async def scenario() -> None:
        broker = await started(tmp_path, 1)
        try:
            epoch = broker._membership.epoch
            store = broker._store
            with SqliteStore(tmp_path / "metadata.db") as other:
                other.expire(store.session_id)
            await eventually(lambda: broker._membership.epoch > epoch)
            await eventually(lambda: broker._cluster.image.controller_id == 1)
            await eventually(lambda: 1 in broker._cluster.image.brokers)
            assert broker._cluster.image.brokers[1].epoch == broker._membership.epoch
            assert store.get(paths.broker(1))[1].ephemeral_owner == store.session_id
        finally:
            await broker.stop()

    asyncio.run(scenario())


def _topic(replicas: tuple[int, ...], **configs: str) -> NewTopic:
    own = {key.replace("_", "."): value for key, value in configs.items()}
    return NewTopic("t", assignments=((0, replicas),), configs=own)


def _partition(broker: Broker) -> PartitionImage:
    return broker._cluster.image.topics["t"].partitions[0]


async def _create(broker: Broker, topic: NewTopic) -> None:
    (created,) = await broker._store_thread.run(broker.contexts.topics.topics.create_topics, [topic])
    assert not created.error, created


@pytest.mark.parametrize("resource", [(ResourceType.TOPIC, "t"), (ResourceType.BROKER, "")])
def test_unclean_election_happens_when_it_is_enabled(tmp_path: Path, resource: tuple[int, str]) -> None:
    async def scenario() -> None:
        first, second, third = [await started(tmp_path, number) for number in (1, 2, 3)]
        try:
            await eventually(lambda: sorted(first._cluster.image.brokers) == [1, 2, 3])
            await _create(first, _topic((2, 3)))
            await third.stop(clean=False)
            await eventually(lambda: _partition(first).isr == (2,))
            await second.stop(clean=False)
            await eventually(lambda: _partition(first).leader == NO_LEADER)
            third = await started(tmp_path, 3)
            await eventually(lambda: 3 in first._cluster.image.brokers)
            assert _partition(first).leader == NO_LEADER
            change = ConfigAlteration(
                *resource, (("unclean.leader.election.enable", ConfigOperation.SET, "true"),)
            )
            configs = ConfigAdmin(first._cluster, first.config)
            (altered,) = await first._store_thread.run(configs.alter, [change])
            assert not altered.error, altered
            await eventually(lambda: _partition(first).leader == 3)
            assert _partition(first).isr == (3,)
            await eventually(lambda: not _partition(first).is_recovering)
        finally:
            for broker in (third, second, first):
                await broker.stop()

    asyncio.run(scenario())


def test_leadership_returns_to_the_preferred_replica(tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second = [await started(tmp_path, number) for number in (1, 2)]
        try:
            await eventually(lambda: sorted(first._cluster.image.brokers) == [1, 2])
            await _create(first, _topic((2, 1)))
            await second.stop()
            await eventually(lambda: _partition(first).leader == 1)
            second = await started(tmp_path, 2)
            await eventually(lambda: set(_partition(first).isr) == {1, 2})
            assert _partition(first).leader == 1
            await second._leader_balance.check()  # It is not the controller.
            assert _partition(first).leader == 1
            await first._leader_balance.check()
            await eventually(lambda: _partition(first).leader == 2)
        finally:
            await second.stop()
            await first.stop()

    asyncio.run(scenario())


def test_replica_that_was_moved_while_its_broker_was_down_is_set_aside(tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second, third = [await started(tmp_path, number) for number in (1, 2, 3)]
        try:
            await eventually(lambda: sorted(first._cluster.image.brokers) == [1, 2, 3])
            await _create(first, _topic((1, 2)))
            await eventually(lambda: list(second.config.log_dirs[0].glob("t-0")) != [])
            await second.stop()
            target = Reassignment(TopicPartition("t", 0), (1, 3))
            (begun,) = await first._store_thread.run(reassign, first._controller, [target])
            assert not begun.error
            await eventually(lambda: _partition(first).replicas == (1, 3))
            assert list(second.config.log_dirs[0].glob("t-0")) != []
            second = await started(tmp_path, 2)
            assert list(second.config.log_dirs[0].glob("t-0")) == []
            assert len(list(second.config.log_dirs[0].glob("t-0.*-stray"))) == 1
        finally:
            for broker in (third, second, first):
                await broker.stop()

    asyncio.run(scenario())


def test_partitions_of_a_failed_log_directory_are_led_elsewhere_until_it_is_back(tmp_path: Path) -> None:
    """Broker 2 has two log directories, and the partition in one of them."""

    async def scenario() -> None:
        directories = ",".join(str(tmp_path / name) for name in ("disk-a", "disk-b"))
        first = await started(tmp_path, 1)
        second = await started(tmp_path, 2, **{"log.dirs": directories})
        try:
            await eventually(lambda: sorted(first._cluster.image.brokers) == [1, 2])
            await _create(first, _topic((2, 1)))
            await eventually(lambda: _partition(second).leader == 2)
            root = second._logs.directory_of(TopicPartition("t", 0))
            assert root is not None
            root.fail(OSError(errno.EIO, "Input/output error"))
            await eventually(lambda: (_partition(first).leader, _partition(first).isr) == (1, (1,)))
            assert 2 in first._cluster.image.brokers
            await second.stop()
            second = await started(tmp_path, 2, **{"log.dirs": directories})
            await eventually(lambda: set(_partition(first).isr) == {1, 2})
        finally:
            await second.stop()
            await first.stop()

    asyncio.run(scenario())
