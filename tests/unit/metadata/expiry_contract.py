"""What every MetadataStore must do when its session expires.

An implementation's test module gives the `connect` fixture of `store_contract.py`, and an `expire` fixture: a
function that ends the session of a store other than by `close()`, as a lost connection would. The session's
nodes are removed when it returns.
"""

import queue
import threading
from collections.abc import Callable

import pytest
from tests.unit.metadata.store_contract import WAIT_SECONDS, Connect, Recorder

from barnabas.metadata.store import Change, Check, MetadataStore, SessionExpired

Expire = Callable[[MetadataStore], None]


class ExpiryContract:
    def test_expired_session_loses_its_nodes_and_cannot_write(self, connect: Connect, expire: Expire) -> None:
        victim, other = connect(), connect()
        victim.create("/lasting")
        victim.create("/fleeting", ephemeral=True)
        expire(victim)
        assert other.exists("/fleeting") is None
        for write in (
            lambda: victim.create("/a"),
            lambda: victim.create("/a", ephemeral=True),
            lambda: victim.set("/lasting", b"x"),
            lambda: victim.delete("/lasting"),
            lambda: victim.transaction([Check("/lasting")]),
            lambda: victim.transaction([]),
        ):
            with pytest.raises(SessionExpired):
                write()
        assert other.get("/lasting")[1].version == 0
        assert other.exists("/a") is None

    def test_expired_session_can_still_read_and_watch(self, connect: Connect, expire: Expire) -> None:
        victim, other = connect(), connect()
        expired_id = victim.session_id
        early, late = Recorder(), Recorder()
        victim.watch("/a", early)
        expire(victim)
        victim.watch("/a", late)
        other.create("/a", b"x")
        early.wait_for((Change.CREATED, "/a"))
        late.wait_for((Change.CREATED, "/a"))
        assert victim.get("/a")[0] == b"x"
        assert victim.children("/") == other.children("/")
        assert victim.subtree("/a") == {"/a": (b"x", 0)}
        assert victim.session_id == expired_id

    def test_expiry_is_reported_once_on_a_thread_of_the_store(self, connect: Connect, expire: Expire) -> None:
        store = connect()
        calls: queue.Queue[tuple[str, str]] = queue.Queue()
        store.on_expired(lambda: calls.put(("first", threading.current_thread().name)))
        store.on_expired(lambda: calls.put(("second", threading.current_thread().name)))
        store.create("/a", ephemeral=True)
        expire(store)
        for name in ("first", "second"):
            called, thread = calls.get(timeout=WAIT_SECONDS)
            assert called == name
            assert thread != threading.current_thread().name
        with pytest.raises(SessionExpired):
            store.create("/a")
        store.renew()
        events = Recorder()
        store.watch("/b", events)
        store.create("/b")
        events.wait_for((Change.CREATED, "/b"))
        assert calls.empty()

    def test_expiry_is_reported_to_a_callback_that_comes_late(self, connect: Connect, expire: Expire) -> None:
        store = connect()
        store.create("/a", ephemeral=True)
        expire(store)
        with pytest.raises(SessionExpired):
            store.create("/b")
        called = threading.Event()
        store.on_expired(called.set)
        assert called.wait(WAIT_SECONDS)

    def test_close_is_not_reported_as_expiry(self, connect: Connect) -> None:
        first, second = connect(), connect()
        calls: list[str] = []
        first.on_expired(lambda: calls.append("expired"))
        first.create("/a", ephemeral=True)
        events = Recorder()
        second.watch("/a", events)
        first.close()
        events.wait_for((Change.DELETED, "/a"))
        assert calls == []

    def test_renew_begins_a_new_session(self, connect: Connect, expire: Expire) -> None:
        store, other = connect(), connect()
        store.create("/a", ephemeral=True)
        expired_id = store.session_id
        expire(store)
        renewed = store.renew()
        assert renewed == store.session_id != expired_id
        assert store.create("/a", ephemeral=True) == "/a"
        stat = other.exists("/a")
        assert stat is not None
        assert stat.ephemeral_owner == renewed
        store.close()
        assert other.exists("/a") is None

    def test_renewed_session_can_expire_again(self, connect: Connect, expire: Expire) -> None:
        store = connect()
        calls: queue.Queue[int] = queue.Queue()
        store.on_expired(lambda: calls.put(store.session_id))
        for _ in range(3):
            store.create("/a", ephemeral=True)
            expire(store)
            assert calls.get(timeout=WAIT_SECONDS) == store.session_id
            store.renew()

    def test_callback_for_expiry_may_renew(self, connect: Connect, expire: Expire) -> None:
        store, other = connect(), connect()
        events = Recorder()
        other.watch("/a", events)

        def register() -> None:
            store.renew()
            store.create("/a", b"again", ephemeral=True)

        store.on_expired(register)
        store.create("/a", ephemeral=True)
        events.wait_for((Change.CREATED, "/a"))
        expire(store)
        events.wait_for((Change.CREATED, "/a"))
        assert other.get("/a")[0] == b"again"

    def test_failing_expiry_callback_does_not_silence_the_others(
        self, connect: Connect, expire: Expire, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = connect()
        called = threading.Event()

        def fail() -> None:
            raise RuntimeError("on purpose")

        store.on_expired(fail)
        store.on_expired(called.set)
        store.create("/a", ephemeral=True)
        expire(store)
        assert called.wait(WAIT_SECONDS)
        assert "on purpose" in caplog.text

    def test_expiry_is_reported_even_if_the_session_is_renewed_first(
        self, connect: Connect, expire: Expire
    ) -> None:
        store = connect()
        called = threading.Event()
        store.on_expired(called.set)
        store.create("/a", ephemeral=True)
        expire(store)
        store.renew()
        assert called.wait(WAIT_SECONDS)

    def test_renew_of_a_live_session_changes_nothing(self, connect: Connect) -> None:
        store, other = connect(), connect()
        store.create("/a", ephemeral=True)
        assert store.renew() == store.session_id
        assert other.exists("/a") is not None

    def test_watches_get_one_lost_event_when_the_session_is_renewed(
        self, connect: Connect, expire: Expire
    ) -> None:
        store, other = connect(), connect()
        store.create("/a", ephemeral=True)
        watched, unrelated = Recorder(), Recorder()
        store.watch("/a", watched, recursive=True)
        store.watch("/b", unrelated)
        expire(store)
        store.renew()
        watched.wait_for((Change.LOST, "/a"))
        unrelated.wait_for((Change.LOST, "/b"))
        other.create("/b")
        seen = unrelated.wait_for((Change.CREATED, "/b"))
        assert [event.change for event in seen] == [Change.CREATED]

    def test_closed_store_cannot_be_renewed(self, connect: Connect) -> None:
        store = connect()
        store.close()
        with pytest.raises(SessionExpired):
            store.renew()
