"""Several processes on one database: no update is lost, and killed processes are noticed."""

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import NEVER_MS, PATIENCE
from tests.unit.metadata.store_contract import Recorder

from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.store import Change, NodeExists


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "metadata.db"


@pytest.fixture
def store(database: Path) -> Iterator[SqliteStore]:
    with SqliteStore(database) as opened:
        yield opened


class Child:
    """A Python process that runs `code` with `store` open, prints "ready", and waits to be ended."""

    def __init__(self, database: Path, code: str, session_timeout_ms: int = NEVER_MS) -> None:
        program = (
            "import sys\n"
            "from barnabas.metadata.sqlite_store import SqliteStore\n"
            "store = SqliteStore(sys.argv[1], int(sys.argv[2]))\n"
            + textwrap.dedent(code)
            + "\nprint('ready', flush=True)\n"
            "sys.stdin.read()\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(database), str(session_timeout_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> "Child":
        assert self.next_line() == "ready"
        return self

    def next_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def child(database: Path) -> Iterator[Child]:
    process = Child(database, "store.create('/broker', b'child', ephemeral=True)")
    yield process.wait_until_ready()
    process.kill()


def test_ephemeral_node_of_running_process_stays(child: Child, database: Path) -> None:
    with SqliteStore(database) as store:
        assert store.get("/broker")[0] == b"child"
        with pytest.raises(NodeExists):
            store.create("/broker", ephemeral=True)


def test_opening_store_removes_nodes_of_killed_process(child: Child, database: Path) -> None:
    child.kill()
    with SqliteStore(database) as store:
        assert store.exists("/broker") is None
    assert list(database.with_name("metadata.db-sessions").iterdir()) == []


def test_node_of_killed_process_can_be_taken_at_once(store: SqliteStore, child: Child) -> None:
    child.kill()
    assert store.create("/broker", b"mine", ephemeral=True) == "/broker"


def test_running_store_notices_killed_process(store: SqliteStore, child: Child) -> None:
    events = Recorder()
    store.watch("/broker", events)
    child.kill()
    events.wait_for((Change.DELETED, "/broker"))
    assert store.exists("/broker") is None


def test_changes_of_another_process_are_seen(store: SqliteStore, database: Path) -> None:
    events = Recorder()
    store.watch("/topics", events, recursive=True)
    writer = Child(database, "store.create('/topics'); store.create('/topics/a', b'x')").wait_until_ready()
    events.wait_for((Change.CREATED, "/topics"), (Change.CREATED, "/topics/a"))
    writer.kill()
    assert store.get("/topics/a")[0] == b"x"


def test_writers_in_several_processes_lose_no_update(store: SqliteStore, database: Path) -> None:
    store.create("/count", b"0")
    code = """
        from barnabas.metadata.store import BadVersion
        done = 0
        while done < 50:
            data, stat = store.get('/count')
            try:
                store.set('/count', b'%d' % (int(data) + 1), version=stat.version)
                done += 1
            except BadVersion:
                pass
    """
    children = [Child(database, code) for _ in range(3)]
    for writer in children:
        writer.wait_until_ready().kill()
    assert store.get("/count")[0] == b"150"


def test_process_killed_in_the_middle_of_writing_leaves_whole_transactions(
    store: SqliteStore, database: Path
) -> None:
    store.create("/pairs")
    code = """
        import itertools
        from barnabas.metadata.store import Create
        for number in itertools.count():
            store.transaction([Create(f'/pairs/{number}-a'), Create(f'/pairs/{number}-b')])
            if number == 5:
                print('ready', flush=True)
    """
    for _ in range(3):
        store.delete("/pairs", recursive=True)
        store.create("/pairs")
        Child(database, code).wait_until_ready().kill()
        names = store.children("/pairs")
        assert len(names) >= 12
        assert {name[:-2] for name in names if name.endswith("a")} == {
            name[:-2] for name in names if name.endswith("b")
        }


def test_forked_child_does_not_keep_a_dead_parent_alive(store: SqliteStore, database: Path) -> None:
    code = """
        import os
        store.create('/broker', ephemeral=True)
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.write(writing, b'alive')
            sys.stdin.read()
            os._exit(0)
        os.read(reading, 5)
    """
    parent = Child(database, code).wait_until_ready()
    parent.process.send_signal(signal.SIGKILL)
    parent.process.wait()
    store._remove_dead_sessions()
    assert store.exists("/broker") is None
    parent.process.communicate()


# A stopped process

PAUSED = """
    import threading
    from barnabas.metadata.store import SessionExpired, StoreError
    store.check_session = lambda connection: None  # The write comes before the watch thread notices.
    store.create('/broker', b'child', ephemeral=True)
    store.create('/data')
    expired = threading.Event()
    store.on_expired(expired.set)
    print('ready', flush=True)
    sys.stdin.readline()
    try:
        store.set('/data', b'written after the pause')
        print('written', flush=True)
    except SessionExpired:
        print('expired', flush=True)
    print(expired.wait(60), flush=True)
    del store.check_session
    store.renew()
    store.create('/broker', b'again', ephemeral=True)
"""


def test_stopped_process_is_expired_and_cannot_write_when_it_continues(
    store: SqliteStore, database: Path
) -> None:
    events = Recorder()
    store.watch("/broker", events)
    child = Child(database, PAUSED, session_timeout_ms=2000).wait_until_ready()
    child.process.send_signal(signal.SIGSTOP)
    try:
        events.wait_for((Change.DELETED, "/broker"))
        # The broker that replaces it.
        store.create("/broker", b"heir", ephemeral=True)
        store.delete("/broker")
    finally:
        child.process.send_signal(signal.SIGCONT)
    assert child.process.stdin is not None
    child.process.stdin.write("\n")
    child.process.stdin.flush()
    assert child.next_line() == "expired"
    assert child.next_line() == "True"
    child.wait_until_ready()
    assert store.get("/data")[0] == b""
    assert store.get("/broker")[0] == b"again"
    child.kill()


def test_node_of_stopped_process_can_be_taken_after_the_timeout(store: SqliteStore, database: Path) -> None:
    child = Child(database, "store.create('/broker', ephemeral=True)", session_timeout_ms=1000)
    child.wait_until_ready()
    child.process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            store.create("/broker", b"heir")
            break
        except NodeExists:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    child.process.send_signal(signal.SIGCONT)
    child.kill()
    assert store.get("/broker")[0] == b"heir"


def test_doorbell_reaches_watches_of_another_process_without_the_poll(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.metadata.sqlite_store.LOOK_SECONDS", PATIENCE * 10)
    with SqliteStore(database, NEVER_MS * 100) as store:
        events = Recorder()
        store.watch("/", events, recursive=True)
        code = "store.create('/broker', ephemeral=True); store.create('/data')"
        child = Child(database, code).wait_until_ready()
        events.wait_for((Change.CREATED, "/broker"), (Change.CREATED, "/data"))
        child.kill()
        events.wait_for((Change.DELETED, "/broker"))


def test_ten_processes_create_sequential_nodes(store: SqliteStore, database: Path) -> None:
    store.create("/queue")
    code = "paths = [store.create('/queue/n-', ephemeral=False, sequential=True) for _ in range(20)]"
    children = [Child(database, code) for _ in range(10)]
    for child in children:
        child.wait_until_ready()
    names = store.children("/queue")
    assert names == [f"n-{number:010d}" for number in range(200)]
    for child in children:
        child.kill()
