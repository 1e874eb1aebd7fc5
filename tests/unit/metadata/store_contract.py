"""What every MetadataStore must do.

An implementation's test module subclasses `StoreContract` and the `ExpiryContract` of `expiry_contract.py`,
and gives a `connect` fixture: a function that opens one more session on the same, initially empty tree.
"""

import queue
import threading
from collections.abc import Callable, Sequence

import pytest
from tests.patience import PATIENCE

from barnabas.metadata.store import (
    BadVersion,
    Change,
    Check,
    Create,
    Delete,
    MetadataStore,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionExpired,
    Set,
    Stat,
    StoreError,
    WatchEvent,
)

Connect = Callable[[], MetadataStore]
WAIT_SECONDS = PATIENCE


class Recorder:
    """A watch callback that lets a test wait for events."""

    def __init__(self) -> None:
        self.batches: queue.Queue[Sequence[WatchEvent]] = queue.Queue()

    def __call__(self, events: Sequence[WatchEvent]) -> None:
        self.batches.put(events)

    def wait_for(self, *expected: tuple[Change, str]) -> list[WatchEvent]:
        """Events up to the one that completes `expected`, in any order. Fails if they do not arrive."""
        seen: list[WatchEvent] = []
        while not set(expected) <= {(event.change, event.path) for event in seen}:
            seen.extend(self.batches.get(timeout=WAIT_SECONDS))
        return seen


class StoreContract:
    @pytest.fixture
    def store(self, connect: Connect) -> MetadataStore:
        return connect()

    # Nodes

    def test_created_node_is_read_back_with_version_zero(self, store: MetadataStore) -> None:
        assert store.create("/a", b"x") == "/a"
        data, stat = store.get("/a")
        assert (data, stat.version, stat.ephemeral_owner) == (b"x", 0, 0)
        assert stat.created_in == stat.modified_in > 0

    def test_root_exists_from_the_start(self, store: MetadataStore) -> None:
        assert store.exists("/") is not None

    def test_create_of_existing_node_fails(self, store: MetadataStore) -> None:
        store.create("/a", b"first")
        with pytest.raises(NodeExists) as raised:
            store.create("/a", b"second")
        assert raised.value.path == "/a"
        assert store.get("/a")[0] == b"first"

    def test_create_needs_a_parent(self, store: MetadataStore) -> None:
        with pytest.raises(NoNode) as raised:
            store.create("/a/b")
        assert raised.value.path == "/a"

    @pytest.mark.parametrize("path", ["", "a", "/a/", "//a", "/a//b", "/./a", "/a/..", "/a\0b"])
    def test_illegal_path_is_refused(self, store: MetadataStore, path: str) -> None:
        with pytest.raises(StoreError):
            store.create(path)
        with pytest.raises(StoreError):
            store.exists(path)

    def test_missing_node(self, store: MetadataStore) -> None:
        assert store.exists("/a") is None
        assert store.subtree("/a") == {}
        for action in (
            lambda: store.get("/a"),
            lambda: store.set("/a", b""),
            lambda: store.delete("/a"),
            lambda: store.children("/a"),
        ):
            with pytest.raises(NoNode):
                action()

    def test_set_raises_the_version_and_keeps_the_creation(self, store: MetadataStore) -> None:
        store.create("/a", b"x")
        before = store.exists("/a")
        after = store.set("/a", b"y")
        assert before is not None
        assert after == store.exists("/a")
        assert (after.version, after.created_in) == (1, before.created_in)
        assert after.modified_in > before.modified_in
        assert store.get("/a")[0] == b"y"

    def test_compare_and_set(self, store: MetadataStore) -> None:
        store.create("/a", b"x")
        assert store.set("/a", b"y", version=0).version == 1
        with pytest.raises(BadVersion):
            store.set("/a", b"z", version=0)
        with pytest.raises(BadVersion):
            store.delete("/a", version=0)
        assert store.get("/a")[0] == b"y"
        store.delete("/a", version=1)
        assert store.exists("/a") is None

    def test_recreated_node_starts_at_version_zero(self, store: MetadataStore) -> None:
        store.create("/a")
        store.set("/a", b"y")
        first = store.exists("/a")
        store.delete("/a")
        store.create("/a")
        second = store.exists("/a")
        assert first is not None
        assert second is not None
        assert second.version == 0
        assert second.created_in > first.created_in

    def test_node_with_children_is_deleted_only_recursively(self, store: MetadataStore) -> None:
        for path in ("/a", "/a/b", "/a/b/c", "/a0", "/a-"):
            store.create(path)
        with pytest.raises(NotEmpty):
            store.delete("/a")
        store.delete("/a", recursive=True)
        assert list(store.subtree("/a")) == []
        assert {"a0", "a-"} <= set(store.children("/"))

    def test_children_are_names_sorted_and_only_direct_ones(self, store: MetadataStore) -> None:
        for path in ("/a", "/a/y", "/a/x", "/a/x/deep", "/ab"):
            store.create(path)
        assert store.children("/a") == ["x", "y"]
        assert store.children("/a/y") == []

    def test_subtree_has_data_and_versions_of_everything_below(self, store: MetadataStore) -> None:
        for path in ("/a", "/a/b", "/a/b/c", "/a/é", "/a-b", "/a0", "/ab"):
            store.create(path, path.encode())
        store.set("/a/b", b"new")
        tree = store.subtree("/a")
        assert tree == {
            "/a": (b"/a", 0),
            "/a/b": (b"new", 1),
            "/a/b/c": (b"/a/b/c", 0),
            "/a/é": ("/a/é".encode(), 0),
        }
        assert next(iter(tree)) == "/a"
        assert set(tree) < set(store.subtree("/"))

    def test_large_and_binary_data(self, store: MetadataStore) -> None:
        data = bytes(range(256)) * 3000
        store.create("/a", data)
        assert store.get("/a")[0] == data

    def test_sequential_names_grow_and_are_never_reused(self, store: MetadataStore) -> None:
        store.create("/a")
        first = store.create("/a/n-", b"1", sequential=True)
        second = store.create("/a/n-", b"2", sequential=True)
        store.delete(second)
        third = store.create("/a/m-", b"3", sequential=True)
        numbers = [int(path[-10:]) for path in (first, second, third)]
        assert numbers == sorted(set(numbers))
        assert first.startswith("/a/n-")
        assert store.get(third)[0] == b"3"

    # Transactions

    def test_transaction_gives_one_result_per_operation(self, store: MetadataStore) -> None:
        store.create("/a", b"x")
        created, stat, deleted, checked = store.transaction(
            [Create("/a/b", b"1"), Set("/a", b"y", version=0), Delete("/a/b"), Check("/a", version=1)]
        )
        assert (created, deleted, checked) == ("/a/b", None, None)
        assert isinstance(stat, Stat)
        assert stat.version == 1
        assert store.subtree("/a") == {"/a": (b"y", 1)}

    def test_changes_of_one_transaction_carry_one_number(self, store: MetadataStore) -> None:
        store.transaction([Create("/a"), Create("/a/b")])
        assert store.get("/a")[1].created_in == store.get("/a/b")[1].created_in

    def test_failing_transaction_changes_nothing_and_says_where(self, store: MetadataStore) -> None:
        store.create("/a", b"x")
        with pytest.raises(BadVersion) as raised:
            store.transaction([Create("/b"), Set("/a", b"y"), Check("/a", version=7), Delete("/a")])
        assert raised.value.operation_index == 2
        assert store.exists("/b") is None
        assert store.get("/a")[0] == b"x"

    def test_check_of_missing_node_fails(self, store: MetadataStore) -> None:
        with pytest.raises(NoNode):
            store.transaction([Check("/a")])

    def test_empty_transaction(self, store: MetadataStore) -> None:
        assert store.transaction([]) == []

    def test_node_replaced_in_one_transaction(self, store: MetadataStore) -> None:
        store.transaction([Create("/a"), Create("/a/b", b"old")])
        store.transaction([Delete("/a", recursive=True), Create("/a"), Create("/a/c", b"new")])
        assert set(store.subtree("/a")) == {"/a", "/a/c"}

    def test_concurrent_compare_and_set_loses_no_update(self, connect: Connect) -> None:
        first, second = connect(), connect()
        first.create("/count", b"0")

        def count(store: MetadataStore) -> None:
            for _ in range(20):
                while True:
                    data, stat = store.get("/count")
                    try:
                        store.set("/count", b"%d" % (int(data) + 1), version=stat.version)
                        break
                    except BadVersion:
                        continue

        threads = [threading.Thread(target=count, args=(store,)) for store in (first, first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert first.get("/count") == (b"60", first.exists("/count"))

    # Sessions

    def test_other_session_sees_writes_at_once(self, connect: Connect) -> None:
        first, second = connect(), connect()
        first.create("/a", b"x")
        assert second.get("/a")[0] == b"x"

    def test_ephemeral_node_ends_with_its_session(self, connect: Connect) -> None:
        first, second = connect(), connect()
        first.create("/lasting")
        first.create("/fleeting", ephemeral=True)
        stat = second.exists("/fleeting")
        assert stat is not None
        assert stat.ephemeral_owner == first.session_id != second.session_id
        first.close()
        assert second.exists("/fleeting") is None
        assert second.exists("/lasting") is not None

    def test_ephemeral_node_of_live_session_cannot_be_taken(self, connect: Connect) -> None:
        first, second = connect(), connect()
        first.create("/a", ephemeral=True)
        with pytest.raises(NodeExists):
            second.create("/a", ephemeral=True)

    def test_ephemeral_node_has_no_children(self, store: MetadataStore) -> None:
        store.create("/a", ephemeral=True)
        with pytest.raises(NoChildrenForEphemerals):
            store.create("/a/b")

    def test_ephemeral_sequential_node(self, connect: Connect) -> None:
        first, second = connect(), connect()
        path = first.create("/n-", ephemeral=True, sequential=True)
        assert second.exists(path) is not None
        first.close()
        assert second.exists(path) is None

    def test_closed_store_does_nothing_more(self, store: MetadataStore) -> None:
        store.close()
        store.close()
        for action in (
            lambda: store.create("/a"),
            lambda: store.exists("/"),
            lambda: store.watch("/", Recorder()),
        ):
            with pytest.raises(SessionExpired):
                action()

    # Watches

    def test_watch_sees_the_life_of_a_node(self, connect: Connect) -> None:
        watcher, writer = connect(), connect()
        events = Recorder()
        watcher.watch("/a", events)
        writer.create("/a")
        events.wait_for((Change.CREATED, "/a"))
        writer.set("/a", b"x")
        events.wait_for((Change.CHANGED, "/a"))
        writer.delete("/a")
        events.wait_for((Change.DELETED, "/a"))

    def test_watch_sees_created_and_deleted_children_but_not_grandchildren(self, connect: Connect) -> None:
        watcher, writer = connect(), connect()
        writer.create("/a")
        events = Recorder()
        watcher.watch("/a", events)
        writer.create("/a/b")
        events.wait_for((Change.CHILDREN, "/a"))
        writer.create("/a/b/c")
        writer.set("/a/b", b"x")
        writer.delete("/a", recursive=True)
        seen = events.wait_for((Change.DELETED, "/a"))
        assert {event.path for event in seen} == {"/a"}

    def test_recursive_watch_sees_everything_below(self, connect: Connect) -> None:
        watcher, writer = connect(), connect()
        events = Recorder()
        watcher.watch("/a", events, recursive=True)
        writer.transaction([Create("/a"), Create("/a/b"), Create("/a/b/c"), Create("/ab")])
        seen = events.wait_for((Change.CREATED, "/a"), (Change.CREATED, "/a/b"), (Change.CREATED, "/a/b/c"))
        assert "/ab" not in {event.path for event in seen}
        writer.set("/a/b/c", b"x")
        events.wait_for((Change.CHANGED, "/a/b/c"))
        writer.delete("/a", recursive=True)
        events.wait_for((Change.DELETED, "/a/b/c"), (Change.DELETED, "/a/b"), (Change.DELETED, "/a"))

    def test_replaced_node_is_reported_deleted_then_created(self, connect: Connect) -> None:
        watcher, writer = connect(), connect()
        writer.create("/a")
        events = Recorder()
        watcher.watch("/a", events)
        writer.transaction([Delete("/a"), Create("/a")])
        seen = events.wait_for((Change.DELETED, "/a"), (Change.CREATED, "/a"))
        assert [event.change for event in seen] == [Change.DELETED, Change.CREATED]

    def test_own_writes_are_seen_too(self, store: MetadataStore) -> None:
        events = Recorder()
        store.watch("/a", events)
        store.create("/a")
        events.wait_for((Change.CREATED, "/a"))

    def test_what_happened_before_the_watch_is_not_reported(self, connect: Connect) -> None:
        watcher, writer = connect(), connect()
        writer.create("/a")
        events, other = Recorder(), Recorder()
        watcher.watch("/b", other)
        writer.set("/a", b"x")
        watcher.watch("/a", events)
        writer.set("/a", b"y")
        seen = events.wait_for((Change.CHANGED, "/a"))
        assert len(seen) == 1

    def test_end_of_a_session_is_seen_by_watches(self, connect: Connect) -> None:
        watcher, mortal = connect(), connect()
        mortal.create("/a", ephemeral=True)
        events = Recorder()
        watcher.watch("/a", events)
        mortal.close()
        events.wait_for((Change.DELETED, "/a"))

    def test_cancelled_watch_is_quiet(self, connect: Connect) -> None:
        watcher, writer = connect(), connect()
        cancelled, kept = Recorder(), Recorder()
        watch = watcher.watch("/a", cancelled)
        watcher.watch("/a", kept)
        watch.cancel()
        watch.cancel()
        writer.create("/a")
        kept.wait_for((Change.CREATED, "/a"))
        assert cancelled.batches.empty()

    def test_watches_can_be_taken_up_again(self, connect: Connect) -> None:
        watcher, writer = connect(), connect()
        watcher.watch("/a", Recorder()).cancel()
        events = Recorder()
        watcher.watch("/a", events)
        writer.create("/a")
        events.wait_for((Change.CREATED, "/a"))

    def test_callback_may_use_the_store_and_cancel_its_watch(self, connect: Connect) -> None:
        watcher, writer = connect(), connect()
        seen: queue.Queue[bytes] = queue.Queue()

        def read(events: Sequence[WatchEvent]) -> None:
            seen.put(watcher.get(events[0].path)[0])
            watch.cancel()

        watch = watcher.watch("/a", read)
        writer.create("/a", b"x")
        assert seen.get(timeout=WAIT_SECONDS) == b"x"

    def test_failing_callback_does_not_silence_the_others(
        self, connect: Connect, caplog: pytest.LogCaptureFixture
    ) -> None:
        watcher, writer = connect(), connect()
        events = Recorder()

        def fail(_: Sequence[WatchEvent]) -> None:
            raise RuntimeError("on purpose")

        watcher.watch("/a", fail)
        watcher.watch("/a", events)
        writer.create("/a")
        events.wait_for((Change.CREATED, "/a"))
        assert "on purpose" in caplog.text
