import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from barnabas.base.receive_buffers import ReceiveBuffers

SIZE = 300_000


def test_buffer_without_a_view_is_used_again() -> None:
    buffers = ReceiveBuffers()
    first = id(buffers.take(SIZE).obj)
    assert id(buffers.take(SIZE).obj) == first


@pytest.mark.parametrize("counted", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "holder",
    [
        lambda view: view,
        lambda view: view[100:200],
        lambda view: np.frombuffer(view, np.uint8)[100:200],
        lambda view: pa.py_buffer(view[100:200]),
        lambda view: pa.Array.from_buffers(pa.uint8(), 100, [None, pa.py_buffer(view)]),
    ],
    ids=["view", "slice", "numpy", "arrow buffer", "arrow array"],
)
def test_buffer_with_a_view_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, counted: int, holder: Callable[[memoryview], Any]
) -> None:
    """Whatever reference counts say: newer versions of CPython borrow references that older ones count."""
    monkeypatch.setattr(sys, "getrefcount", lambda _: counted)
    buffers = ReceiveBuffers()
    holders = []
    for number in range(10):
        view = buffers.take(SIZE)
        view[:] = bytes([number]) * len(view)
        holders.append(holder(view))
        del view
    seen = [np.asarray(memoryview(each) if isinstance(each, memoryview) else each)[:1] for each in holders]
    assert [bytes(each) for each in seen] == [bytes([number]) for number in range(10)]


def test_freed_buffer_keeps_its_size_and_memory() -> None:
    buffers = ReceiveBuffers()
    sizes = {(len(view), np.asarray(view).ctypes.data) for _ in range(20) for view in [buffers.take(SIZE)]}
    assert len(sizes) <= 2, "used again at the same address"
    assert {size for size, _ in sizes} == {1 << 20}


def test_larger_answer_gets_a_larger_buffer() -> None:
    buffers = ReceiveBuffers()
    buffers.take(SIZE)
    assert len(buffers.take(5_000_000)) >= 5_000_000
