import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.unit.metadata.expiry_contract import Expire, ExpiryContract
from tests.unit.metadata.store_contract import Recorder, StoreContract

from barnabas.metadata import sqlite_writes
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.store import Change, Create, Delete, SessionExpired, Set, StoreError

Connect = Callable[[], SqliteStore]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "dir" / "metadata.db"


@pytest.fixture
def connect(database: Path) -> Iterator[Connect]:
    opened: list[SqliteStore] = []

    def open_one() -> SqliteStore:
        opened.append(SqliteStore(database))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def expire(database: Path) -> Iterator[Expire]:
    with SqliteStore(database) as other:
        yield lambda store: other.expire(store.session_id)


class TestContract(StoreContract, ExpiryContract):
    pass


def test_tree_survives_reopening(connect: Connect) -> None:
    first = connect()
    first.transaction([Create("/a", b"x"), Create("/a/b", b"y")])
    first.set("/a", b"z")
    first.close()
    again = connect()
    assert again.subtree("/a") == {"/a": (b"z", 1), "/a/b": (b"y", 0)}
    created = again.exists("/a")
    again.create("/c")
    assert created is not None
    assert again.get("/c")[1].created_in > created.modified_in


def test_close_leaves_no_session_file(connect: Connect, database: Path) -> None:
    store = connect()
    store.create("/a", ephemeral=True)
    directory = database.with_name("metadata.db-sessions")
    assert (directory / f"{store.session_id:016x}").exists()
    store.close()
    assert list(directory.iterdir()) == []


def test_session_whose_file_was_removed_is_expired(connect: Connect, database: Path) -> None:
    victim, other = connect(), connect()
    victim.create("/a", ephemeral=True)
    for path in database.with_name("metadata.db-sessions").iterdir():
        path.unlink()
    other._remove_dead_sessions()
    assert other.exists("/a") is None
    with pytest.raises(SessionExpired, match="has expired"):
        victim.create("/b")
    victim.renew()
    victim.create("/a", ephemeral=True)


def test_node_of_dead_session_can_be_taken_at_once(connect: Connect) -> None:
    victim, heir = connect(), connect()
    victim.create("/a", b"old", ephemeral=True)
    assert victim._session is not None
    victim._session.abandon()
    assert heir.create("/a", b"new", ephemeral=True) == "/a"
    assert heir.get("/a")[0] == b"new"


def test_transaction_that_changes_nothing_writes_nothing(connect: Connect, database: Path) -> None:
    store = connect()
    store.create("/a")
    wal = database.with_name("metadata.db-wal")
    before = wal.stat().st_size
    store.transaction([])
    with pytest.raises(StoreError):
        store.create("/a")
    assert wal.stat().st_size == before


def test_watch_that_is_too_far_behind_gets_a_lost_event(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writes, "KEPT_REMOVALS", 2)
    watcher, writer = connect(), connect()
    asleep, sleeping = threading.Event(), threading.Event()
    events = Recorder()

    def sleep(_: object) -> None:
        asleep.set()
        sleeping.wait(PATIENCE)

    watcher.watch("/first", sleep)
    watcher.watch("/a", events, recursive=True)
    writer.create("/first")
    assert asleep.wait(PATIENCE)
    for _ in range(10):
        writer.transaction([Create("/a"), Create("/a/b")])
        writer.delete("/a", recursive=True)
    sleeping.set()
    events.wait_for((Change.LOST, "/a"))


def test_own_writes_are_left_out_on_request(connect: Connect) -> None:
    store, other = connect(), connect()
    events = Recorder()
    store.watch("/", events, recursive=True, skip_own=True)
    store.create("/mine")
    other.create("/theirs")
    store.set("/mine", b"x")
    seen = events.wait_for((Change.CREATED, "/theirs"))
    assert {event.path for event in seen} == {"/theirs"}


def test_thousand_operations_in_one_transaction(connect: Connect) -> None:
    store = connect()
    store.transaction([Create("/t")] + [Create(f"/t/{number}", b"x") for number in range(1000)])
    store.transaction([Set(f"/t/{number}", b"y", version=0) for number in range(1000)])
    assert set(store.subtree("/t").values()) == {(b"", 0), (b"y", 1)}
    store.transaction([Delete("/t", recursive=True)])
    assert store.children("/") == []


def test_two_stores_may_create_the_file_at_the_same_time(database: Path) -> None:
    barrier = threading.Barrier(8)
    failures: list[BaseException] = []

    def open_and_write(number: int) -> None:
        barrier.wait()
        try:
            with SqliteStore(database) as store:
                store.create(f"/{number}")
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test must show it
            failures.append(error)

    threads = [threading.Thread(target=open_and_write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with SqliteStore(database) as store:
        assert len(store.children("/")) == 8


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    path.write_bytes(b"certainly no database, but long enough to look at" * 100)
    with pytest.raises(StoreError, match=r"metadata\.db is not a database"):
        SqliteStore(path)
    assert path.read_bytes().startswith(b"certainly")


def test_database_of_another_application_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (id INTEGER)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another application"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_newer_format_is_refused(connect: Connect, database: Path) -> None:
    connect().close()
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA user_version = 3")
    connection.close()
    with pytest.raises(StoreError, match="format 3"):
        SqliteStore(database)


def test_format_1_is_migrated_and_keeps_its_nodes(connect: Connect, database: Path) -> None:
    with SqliteStore(database) as store:
        store.create("/a", b"x")
    connection = sqlite3.connect(database)
    connection.execute("DROP TABLE sessions")
    connection.execute("PRAGMA user_version = 1")
    # An ephemeral node of a process that has ended.
    connection.execute("INSERT INTO nodes VALUES ('/b', '/', x'', 0, 2, 2, 12345, 0)")
    connection.commit()
    connection.close()
    first, second = connect(), connect()
    assert first.children("/") == ["a"]
    first.create("/c", ephemeral=True)
    assert second.get("/a")[0] == b"x"
    assert first.children("/") == ["a", "c"]


def test_damaged_database_gives_a_clear_error(connect: Connect, database: Path) -> None:
    store = connect()
    store.transaction([Create(f"/{number}", b"x" * 500) for number in range(200)])
    store.close()
    with database.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(100) * 2000)
    with pytest.raises(StoreError, match=r"metadata\.db is damaged"):
        SqliteStore(database).subtree("/")


def test_full_disk_gives_a_clear_error_and_keeps_what_was_there(connect: Connect) -> None:
    store = connect()
    store.create("/a", b"x")
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="disk is full"):
        store.create("/b", bytes(1_000_000))
    assert store.get("/a")[0] == b"x"
    assert store.exists("/b") is None
    store._connection.execute("PRAGMA max_page_count = 1000000")
    store.create("/b", bytes(1_000_000))


def test_read_only_file_gives_a_clear_error(connect: Connect) -> None:
    store = connect()
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="read-only"):
        store.create("/a")


def test_close_on_a_failing_disk_leaves_the_rest_to_others(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    store = connect()
    store.create("/a", ephemeral=True)
    store._connection.execute("PRAGMA query_only = ON")
    store.close()
    assert "could not be removed" in caplog.text
    assert connect().exists("/a") is None


def test_directory_that_cannot_be_made_gives_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot create"):
        SqliteStore(tmp_path / "file" / "metadata.db")
    (tmp_path / "directory.db").mkdir()
    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore(tmp_path / "directory.db")


def test_database_is_not_world_writable(connect: Connect, database: Path) -> None:
    connect()
    assert not stat.S_IMODE(database.stat().st_mode) & stat.S_IWOTH
