"""The simulated store: the contract of every store, and what can go wrong for single clients."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.simulation.leases import Leases
from tests.simulation.node_loop import NodeLoop
from tests.simulation.scheduler import Scheduler
from tests.simulation.store import SimulatedStore, StoreClient
from tests.simulation.threads import InOrder
from tests.unit.metadata.expiry_contract import Expire, ExpiryContract
from tests.unit.metadata.store_contract import Connect, StoreContract

from barnabas.metadata.store import (
    Change,
    MetadataStore,
    Operation,
    OperationResult,
    SessionExpired,
    StoreError,
    WatchEvent,
)


class LockedStore(SimulatedStore):
    """For a contract that uses threads."""

    def __init__(self) -> None:
        super().__init__()
        self._lock: threading.RLock = threading.RLock()

    def write(self, operations: Sequence[Operation], writer: StoreClient | None) -> list[OperationResult]:
        with self._lock:
            return super().write(operations, writer)


@pytest.fixture
def notify() -> Iterator[Callable[[Callable[[], None]], Any]]:
    with ThreadPoolExecutor(1, "store") as thread:
        yield thread.submit


class TestContract(StoreContract, ExpiryContract):
    @pytest.fixture
    def connect(self, notify: Callable[[Callable[[], None]], Any]) -> Connect:
        store = LockedStore()

        def connect() -> MetadataStore:
            return store.connect(notify)

        return connect

    @pytest.fixture
    def expire(self) -> Expire:
        def expire(store: MetadataStore) -> None:
            assert isinstance(store, StoreClient)
            store.expire()

        return expire


class Scene:
    def __init__(self) -> None:
        self.scheduler: Scheduler = Scheduler(5)
        self.store: SimulatedStore = SimulatedStore()
        self.loop: NodeLoop = NodeLoop.on(self.scheduler, "broker")
        self.client: StoreClient = self.store.connect(InOrder(self.loop.threads, lambda: 0.5))
        self.other: StoreClient = self.store.connect(lambda action: action())
        self.events: list[WatchEvent] = []

    def watch(self, path: str) -> None:
        self.client.watch(path, self.events.extend)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_watch_events_are_late_and_in_order(scene: Scene) -> None:
    scene.watch("/a")
    scene.other.create("/a")
    for number in range(20):
        scene.other.set("/a", b"%d" % number)
    scene.other.delete("/a")
    assert scene.events == []
    scene.scheduler.run_for(2)
    changes = [change for change, _ in scene.events]
    assert changes == [Change.CREATED, *[Change.CHANGED] * 20, Change.DELETED]


def test_paused_node_gets_its_events_when_it_is_resumed(scene: Scene) -> None:
    scene.watch("/a")
    scene.loop.pause()
    scene.other.create("/a")
    scene.other.delete("/a")
    scene.scheduler.run_for(5)
    assert scene.events == []
    scene.loop.resume()
    scene.scheduler.run_for(5)
    assert [change for change, _ in scene.events] == [Change.CREATED, Change.DELETED]


def test_client_out_of_reach_fails_and_learns_that_it_missed_changes(scene: Scene) -> None:
    scene.watch("/a")
    scene.client.disconnect()
    for action in (lambda: scene.client.get("/"), lambda: scene.client.create("/b")):
        with pytest.raises(StoreError, match="does not respond"):
            action()
    scene.other.create("/a")
    scene.scheduler.run_for(5)
    assert scene.events == []
    scene.client.reconnect()
    scene.scheduler.run_for(5)
    assert scene.events == [WatchEvent(Change.LOST, "/a")]


def test_lost_reply_does_not_undo_the_write(scene: Scene) -> None:
    scene.client.loses_next_reply = True
    with pytest.raises(StoreError):
        scene.client.create("/a")
    assert scene.other.exists("/a") is not None
    scene.client.create("/b")


def test_expiry_out_of_reach_is_known_after_the_return(scene: Scene) -> None:
    expired: list[float] = []
    scene.client.on_expired(lambda: expired.append(scene.scheduler.now))
    scene.client.create("/a", ephemeral=True)
    scene.client.disconnect()
    scene.client.expire()
    scene.scheduler.run_for(5)
    assert (scene.other.exists("/a"), expired) == (None, [])
    scene.client.reconnect()
    with pytest.raises(SessionExpired):
        scene.client.create("/b")
    scene.scheduler.run_for(5)
    assert len(expired) == 1
    scene.client.renew()
    scene.client.create("/a", ephemeral=True)


def test_lease_of_a_node_that_cannot_renew_it_expires(scene: Scene) -> None:
    leases = Leases(scene.scheduler, timeout=6)
    leases.add(scene.client, lambda: not scene.loop.is_paused)
    scene.client.create("/a", ephemeral=True)
    scene.scheduler.run_for(20)
    scene.loop.pause()
    scene.scheduler.run_for(5)
    assert scene.other.exists("/a") is not None
    scene.scheduler.run_for(2)
    assert scene.other.exists("/a") is None
