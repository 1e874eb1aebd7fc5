"""The frames do not depend on how the stream of bytes was split."""

import resource
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.network.framing import LARGE_FRAME, BadFrame, FrameBuffers, FrameReader

LIMIT = 1 << 20


def framed(*payloads: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(payload)) + payload for payload in payloads)


def read_all(stream: bytes, cuts: list[int], reader: FrameReader | None = None) -> list[bytes]:
    """Feed `stream` as a connection does, in pieces of the given sizes, then one byte at a time."""
    reader = reader or FrameReader(LIMIT)
    frames: list[bytes] = []
    position = 0
    sizes = iter(cuts)
    while position < len(stream):
        size = next(sizes, 1)
        target = reader.target
        if target is None:
            chunk = stream[position : position + size]
            reader.feed(memoryview(bytearray(chunk)))
            position += len(chunk)
        else:
            chunk = stream[position : position + min(size, len(target))]
            target[: len(chunk)] = chunk
            reader.received(len(chunk))
            position += len(chunk)
        while (frame := reader.next_frame()) is not None:
            frames.append(bytes(frame))
        reader.detach()
    return frames


@given(
    payloads=st.lists(st.binary(max_size=300), max_size=12),
    cuts=st.lists(st.integers(min_value=1, max_value=500), max_size=40),
)
def test_frames_are_the_same_however_the_stream_is_cut(payloads: list[bytes], cuts: list[int]) -> None:
    assert read_all(framed(*payloads), cuts) == payloads


def test_byte_by_byte() -> None:
    payloads = [b"", b"a", b"bc", bytes(1000)]
    assert read_all(framed(*payloads), []) == payloads


def test_large_frames_are_completed_in_place_and_small_ones_follow() -> None:
    payloads = [b"x" * (LARGE_FRAME + 5), b"y" * (LARGE_FRAME * 2), b"small", b"z" * LARGE_FRAME]
    assert read_all(framed(*payloads), [70_000] * 100) == payloads


def test_after_a_large_frame_only_the_length_is_read() -> None:
    reader = FrameReader(LIMIT)
    read_all(framed(b"x" * LARGE_FRAME), [1000, LARGE_FRAME], reader)
    assert reader.expects_large
    read_all(framed(b"small"), [4, 5], reader)
    assert not reader.expects_large


@pytest.mark.parametrize("size", [-1, -(2**31), LIMIT + 1, 2**31 - 1])
def test_invalid_lengths_are_refused_before_anything_is_allocated(size: int) -> None:
    reader = FrameReader(LIMIT)
    reader.feed(memoryview(struct.pack(">i", size) + b"rest"))
    with pytest.raises(BadFrame, match=str(size)):
        reader.next_frame()


def test_frames_not_taken_are_kept_when_the_shared_buffer_is_released() -> None:
    reader = FrameReader(LIMIT)
    shared = bytearray(framed(b"first", b"second") + b"\x00\x00")
    reader.feed(memoryview(shared))
    assert bytes(reader.next_frame() or b"") == b"first"
    reader.detach()
    shared[:] = bytes(len(shared))
    assert bytes(reader.next_frame() or b"") == b"second"
    assert reader.next_frame() is None
    assert reader.kept == 2


def test_nothing_is_held_between_frames() -> None:
    reader = FrameReader(LIMIT)
    read_all(framed(b"one", b"two"), [100], reader)
    assert reader.kept == 0
    assert reader.target is None


def test_announced_bytes_take_no_memory_before_they_arrive() -> None:
    before = _resident_bytes()
    readers = [FrameReader(1 << 30) for _ in range(40)]
    for reader in readers:
        reader.feed(memoryview(struct.pack(">i", 100 << 20)))
        assert reader.next_frame() is None
        assert reader.target is not None
    assert _resident_bytes() - before < 50 << 20


def test_buffers_of_large_frames_are_used_again() -> None:
    buffers = FrameBuffers()
    first = buffers.take(LARGE_FRAME)
    buffers.give_back(first)
    assert buffers.take(LARGE_FRAME) is first
    assert buffers.take(LARGE_FRAME) is not first


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
