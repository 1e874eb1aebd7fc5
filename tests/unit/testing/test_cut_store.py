from pathlib import Path

import pytest

from barnabas.metadata.store import StoreError
from barnabas.testing.cut_store import CutStore


def test_store_that_is_cut_off_answers_nothing_until_it_is_back(tmp_path: Path) -> None:
    store = CutStore(tmp_path / "metadata.db", 60_000)
    store.create("/a", b"1")
    store.cut(True)
    for call in (lambda: store.get("/a"), lambda: store.set("/a", b"2"), store.tick):
        with pytest.raises(StoreError, match="isolated"):
            call()
    store.cut(False)
    assert store.get("/a")[0] == b"1"
    store.close()


def test_session_is_not_renewed_while_the_store_is_cut_off(tmp_path: Path) -> None:
    seconds = [1.0]

    def now_ns() -> int:
        return int(seconds[0] * 1e9)

    path = tmp_path / "metadata.db"
    store, other = CutStore(path, 60_000, now_ns), CutStore(path, 60_000, now_ns)
    store.create("/mine", ephemeral=True)
    store.cut(True)
    seconds[0] = 60.0
    other.check_liveness()
    assert other.exists("/mine") is not None
    seconds[0] = 62.0
    other.check_liveness()
    assert other.exists("/mine") is None
    store.close()
    other.close()


def test_session_that_a_test_ends_can_be_renewed(tmp_path: Path) -> None:
    store = CutStore(tmp_path / "metadata.db", 60_000)
    store.create("/mine", ephemeral=True)
    session = store.session_id
    store.expire_session()
    assert store.exists("/mine") is None
    assert store.renew() != session
    store.close()
