"""Brokers that share a store: each is activated by the controller, and the controller's role moves."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.patience import PATIENCE
from tests.unit.broker.test_broker import config

from barnabas.broker.broker import Broker
from barnabas.metadata import paths
from barnabas.metadata.sqlite_store import SqliteStore


async def started(directory: Path, node_id: int) -> Broker:
    store = directory / "metadata.db"
    settings = {"barnabas.metadata.store.path": str(store)}
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
