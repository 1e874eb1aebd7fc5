"""Leases on a manual clock: silence is expiry only if others noticed it while they were running."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.unit.metadata.store_contract import Recorder

from barnabas.metadata.session_lease import PauseDetector, SessionLease
from barnabas.metadata.sessions import StoreSession, is_alive, session_path
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.store import Change, NodeExists, SessionExpired

SECOND_NS = 1_000_000_000
TIMEOUT_MS = 9000


class NanoClock:
    def __init__(self) -> None:
        self.now_ns: int = 1000 * SECOND_NS

    def __call__(self) -> int:
        return self.now_ns


class Stores:
    """Stores on one database and one clock, which advances while they run or while they are stopped."""

    def __init__(self, database: Path) -> None:
        self.clock: NanoClock = NanoClock()
        self._database: Path = database
        self.opened: list[SqliteStore] = []

    def open(self) -> SqliteStore:
        self.opened.append(SqliteStore(self._database, TIMEOUT_MS, self.clock))
        return self.opened[-1]

    def run(self, seconds: int, *running: SqliteStore) -> None:
        for _ in range(seconds):
            self.clock.now_ns += SECOND_NS
            for store in running:
                store.tick()
                if store._session is not None:
                    store._session.stamp(self.clock.now_ns)

    def stop_leases(self) -> None:
        """From now on only `run` renews the stamps."""
        for store in self.opened:
            if store._lease is not None:
                store._lease.stop()
                store._lease._thread.join(PATIENCE)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    stores = Stores(tmp_path / "metadata.db")
    yield stores
    for store in stores.opened:
        store.close()


def test_silent_session_is_expired_after_its_timeout(stores: Stores) -> None:
    silent, other = stores.open(), stores.open()
    silent.create("/a", ephemeral=True)
    other.create("/b", ephemeral=True)
    stores.stop_leases()
    stores.run(9, other)
    other.check_liveness()
    assert other.exists("/a") is not None
    stores.run(1, other)
    other.check_liveness()
    assert other.exists("/a") is None
    assert other.exists("/b") is not None
    with pytest.raises(SessionExpired):
        silent.create("/c")


def test_renewed_session_lives_on(stores: Stores) -> None:
    first, second = stores.open(), stores.open()
    first.create("/a", ephemeral=True)
    second.create("/b", ephemeral=True)
    stores.stop_leases()
    stores.run(100, first, second)
    first.check_liveness()
    second.check_liveness()
    assert first.children("/") == ["a", "b"]


def test_store_that_is_alone_never_expires_its_own_session(stores: Stores) -> None:
    store = stores.open()
    store.create("/a", ephemeral=True)
    stores.stop_leases()
    stores.clock.now_ns += 3600 * SECOND_NS
    store.check_liveness()
    store.create("/b")
    assert store.exists("/a") is not None


def test_stores_that_were_stopped_together_do_not_expire_each_other(stores: Stores) -> None:
    first, second = stores.open(), stores.open()
    first.create("/a", ephemeral=True)
    second.create("/b", ephemeral=True)
    stores.stop_leases()
    stores.run(1, first, second)
    stores.clock.now_ns += 3600 * SECOND_NS
    first.check_liveness()
    with pytest.raises(NodeExists):
        first.create("/b")
    stores.run(1, first, second)
    first.check_liveness()
    second.check_liveness()
    assert first.children("/") == ["a", "b"]


def test_session_that_stays_silent_after_a_common_pause_is_expired(stores: Stores) -> None:
    first, second = stores.open(), stores.open()
    first.create("/a", ephemeral=True)
    second.create("/b", ephemeral=True)
    stores.stop_leases()
    stores.run(1, first, second)
    stores.clock.now_ns += 3600 * SECOND_NS
    stores.run(9, first)
    first.check_liveness()
    assert first.exists("/b") is not None
    stores.run(2, first)
    first.check_liveness()
    assert first.exists("/b") is None


def test_new_store_takes_the_node_of_a_silent_session_at_once(stores: Stores) -> None:
    silent = stores.open()
    silent.create("/a", ephemeral=True)
    stores.stop_leases()
    stores.clock.now_ns += 10 * SECOND_NS
    # Opening removes dead sessions. The silent store is no longer in the way.
    assert stores.open().create("/a", ephemeral=True) == "/a"


def test_watches_see_the_expiry_of_a_silent_session(stores: Stores) -> None:
    silent, other = stores.open(), stores.open()
    silent.create("/a", ephemeral=True)
    events = Recorder()
    other.watch("/a", events)
    stores.stop_leases()
    stores.run(10, other)
    other.check_liveness()
    events.wait_for((Change.DELETED, "/a"))


def test_lease_renews_the_stamp(tmp_path: Path) -> None:
    clock = NanoClock()
    session = StoreSession(tmp_path, clock())
    lease = SessionLease(session, 4, clock)
    clock.now_ns += SECOND_NS
    while not is_alive(tmp_path, session.id, clock.now_ns):
        time.sleep(0.001)
    lease.stop()
    session.close()
    assert not is_alive(tmp_path, session.id, 0)


def test_stamp_that_cannot_be_written_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = NanoClock()
    session = StoreSession(tmp_path, clock())
    calls: list[int] = []

    def fail(_: int) -> None:
        calls.append(1)
        if len(calls) == 5:
            lease.stop()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(session, "stamp", fail)
    lease = SessionLease(session, 4, clock)
    lease._thread.join(PATIENCE)
    assert len(calls) >= 5
    assert caplog.text.count("No space left on device") == 1
    session.close()


def test_locked_file_without_a_stamp_is_live(tmp_path: Path) -> None:
    session = StoreSession(tmp_path, 0)
    session_path(tmp_path, session.id).write_bytes(b"")
    assert is_alive(tmp_path, session.id, stamped_since_ns=2**62)
    session.close()


def test_closed_session_writes_no_stamp(tmp_path: Path) -> None:
    session = StoreSession(tmp_path, 0)
    session.close()
    other = tmp_path / "other"
    with other.open("wb"):  # Most likely gets the descriptor that the session had.
        session.stamp(1)
    assert other.read_bytes() == b""


def test_detector_without_ticks_knows_no_pause() -> None:
    clock = NanoClock()
    pauses = PauseDetector(clock, 1000)
    clock.now_ns += 3600 * SECOND_NS
    assert pauses.stale_before(2000) == clock.now_ns - 2 * SECOND_NS
    pauses.tick()
    pauses.stop()
    clock.now_ns += 3600 * SECOND_NS
    assert pauses.stale_before(2000) == clock.now_ns - 2 * SECOND_NS
