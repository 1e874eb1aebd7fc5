"""Where each record of a scanned buffer begins and ends.

Lengths chain records: each is found only through the one before it, which in Python costs about 200 ns a
record and would be two thirds of all decoding. So the chain is guessed for many records at once and then
proved: a guess counts only if every record begins where the one before it ends, from the first byte of the
batch to its last, and as many as the batch claims. Three ways, quickest first:

1. even: records that follow a long run of one size; all lengths of the run are compared with the first's.
2. marked: the attributes of a record are a zero byte right behind its length. Text has few other zero bytes,
   so the zeros of the buffer give candidates, and those that do not join on to others fall out.
3. one by one: what is left.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from barnabas.base.errors import CorruptMessage
from barnabas.records.batch import Buffer
from barnabas.records.varint import MAX_UINT32, decode_unsigned
from barnabas.spark.arrow.batch_scan import ScannedBatch
from barnabas.spark.arrow.varints import Positions, Windows

_FEW = 128
"""Records that are found one by one at once: guessing has a fixed cost."""
_EVEN_LEAST = 512
_SHORTEST_RUN = 48
"""A run of one size below this ends the even way: the sizes vary."""
_MARKED_LEAST = 32
_MARKED_MOST_SIZE = 900
"""Mean bytes of a record from which looking for zeros costs more than the chain."""
_SAMPLE = 16
_BLOCK = 128 * 1024
_REACH = 8
"""How many candidates on, counting false ones, one that joins may stand."""
_LEAST_RAW = 12
"""Twice the bytes behind the length of the shortest record."""


class RecordBounds(NamedTuple):
    """For each record: the position of its attributes (behind its length), and the position after it."""

    contents: Positions
    ends: Positions


class BrokenChain(Exception):
    """The lengths of the records of this batch do not fill it."""

    def __init__(self, batch: ScannedBatch, what: str) -> None:
        super().__init__(what)
        self.batch = batch


def find_records(windows: Windows, batches: Sequence[ScannedBatch]) -> RecordBounds:
    """The bounds of all records of all batches, in order; raises `BrokenChain`."""
    counts = [batch.count for batch in batches]
    firsts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64))).tolist()
    bounds = RecordBounds(np.empty(firsts[-1], np.int64), np.empty(firsts[-1], np.int64))
    left = [
        number
        for number, batch in enumerate(batches)
        if batch.count < _EVEN_LEAST or not _fill_even(windows, batch, bounds, firsts[number])
    ]
    many = [number for number in left if counts[number] >= _MARKED_LEAST]
    records = sum(counts[number] for number in many)
    size = sum(batches[number].end - batches[number].start for number in many)
    if records >= _FEW and size <= records * _MARKED_MOST_SIZE:
        proved = _fill_marked(windows, batches, many, bounds, firsts)
        left = [number for number in left if number not in proved]
    if left:
        _fill_one_by_one(windows, batches, left, bounds, firsts)
    return bounds


def _fill_even(windows: Windows, batch: ScannedBatch, bounds: RecordBounds, first: int) -> bool:
    """Runs of equal sizes. Sizes change a few times by themselves, as deltas need more bytes."""
    octets = windows.octets
    start, done = batch.start, 0
    while done < batch.count:
        try:
            raw, content = decode_unsigned(windows.work, start, MAX_UINT32)
        except CorruptMessage:
            return False
        stride = content - start + (raw >> 1)
        most = min(batch.count - done, (batch.end - start) // stride if stride else 0)
        run = 0 if raw & 1 else _equal_prefixes(octets, start, content - start, stride, most)
        if run < min(_SHORTEST_RUN, batch.count - done):
            return False
        here = slice(first + done, first + done + run)
        np.add(np.arange(run, dtype=np.int64) * stride, content, out=bounds.contents[here])
        np.add(np.arange(run, dtype=np.int64) * stride, start + stride, out=bounds.ends[here])
        start += run * stride
        done += run
    return start == batch.end


def _equal_prefixes(octets: NDArray[np.uint8], start: int, width: int, stride: int, most: int) -> int:
    """How many records from `start` on, at most `most`, have the length of the first."""
    run = min(most, _SHORTEST_RUN)
    while True:
        span = slice(start, start + run * stride, stride)
        different = octets[span] != octets[start]
        for byte in range(1, width):
            here = octets[start + byte : start + byte + (run - 1) * stride + 1 : stride]
            different |= here != octets[start + byte]
        if different.any():
            return int(different.argmax())
        if run == most:
            return run
        run = min(most, run * 8)


def _fill_marked(
    windows: Windows,
    batches: Sequence[ScannedBatch],
    numbers: list[int],
    bounds: RecordBounds,
    firsts: list[int],
) -> set[int]:
    """Candidates by their zero byte, proved batch by batch; gives back the batches with a proof."""
    heads = {number: head for number in numbers if (head := _head(windows.work, batches[number])) is not None}
    if not heads:
        return set()
    low, high = batches[numbers[0]].start, batches[numbers[-1]].end
    looks_long = _looks_long(windows.work, batches[numbers[0]])
    found = (_long_candidates if looks_long else _candidates)(windows.octets, low, high)
    proved = _prove(found, batches, heads, bounds, firsts)
    left = {number: head for number, head in heads.items() if number not in proved}
    if left:
        seconds = np.array([end for _, end in heads.values()], np.int64)
        ends = np.array([batches[number].end for number in heads], np.int64)
        joined = _joined(found, seconds, ends)
        proved |= _prove(joined, batches, left, bounds, firsts)
    return proved


def _prove(
    found: "_Candidates",
    batches: Sequence[ScannedBatch],
    heads: dict[int, tuple[int, int]],
    bounds: RecordBounds,
    firsts: list[int],
) -> set[int]:
    """Fill in the records of those batches whose candidates make a whole chain.

    A first record stands behind a batch header, from which its length cannot be distinguished: it is known.
    """
    contents = [content for content, _ in heads.values()]
    sinces = np.searchsorted(found.contents, contents, "right").tolist()
    untils = np.searchsorted(found.contents, [batches[number].end for number in heads]).tolist()
    joins = np.append(found.ends[:-1] == found.starts[1:], True)
    proved: set[int] = set()
    for (number, (content, end)), since, until in zip(heads.items(), sinces, untils, strict=True):
        batch = batches[number]
        if (
            until - since == batch.count - 1
            and found.starts[since] == end
            and found.ends[until - 1] == batch.end
            and joins[since : until - 1].all()
        ):
            first, after = firsts[number], firsts[number] + batch.count
            bounds.contents[first], bounds.ends[first] = content, end
            bounds.contents[first + 1 : after] = found.contents[since:until]
            bounds.ends[first + 1 : after] = found.ends[since:until]
            proved.add(number)
    return proved


def _head(work: Buffer, batch: ScannedBatch) -> tuple[int, int] | None:
    """The bounds of the first record of the batch, if another can follow it."""
    try:
        raw, content = decode_unsigned(work, batch.start, MAX_UINT32)
    except CorruptMessage:
        return None
    end = content + (raw >> 1)
    return (content, end) if raw & 1 == 0 and end < batch.end else None


def _looks_long(work: Buffer, batch: ScannedBatch) -> bool:
    """Whether the first records all have lengths of two bytes, which are easier to find."""
    position = batch.start
    for _ in range(min(batch.count, _SAMPLE)):
        if position + 1 >= batch.end or not work[position + 1] < 0x80 <= work[position]:
            return False
        position += 2 + (work[position] & 0x7F | work[position + 1] << 7) // 2
    return True


class _Candidates(NamedTuple):
    """Positions that may be records: of the length, of the attributes, and after the record."""

    starts: Positions
    contents: Positions
    ends: Positions

    def only(self, rows: NDArray[np.bool_]) -> "_Candidates":
        return self if rows.all() else _Candidates(self.starts[rows], self.contents[rows], self.ends[rows])


def _long_candidates(octets: NDArray[np.uint8], low: int, high: int) -> _Candidates:
    """Every zero byte with an even length of two bytes before it that stays in the range."""
    signed = octets.view(np.int8)
    parts: list[Positions] = []
    # In blocks, because what lies between fits the cache then.
    for block in range(low, high - 2, _BLOCK):
        until = min(block + _BLOCK, high - 2)
        marks = octets[block + 2 : until + 2] == 0
        marks &= signed[block:until] < 0
        parts.append(np.flatnonzero(marks) + block)
    starts = np.concatenate(parts)
    last = octets[starts + 1].astype(np.int64)
    raw = last << 7 | (octets[starts] & 0x7F)
    contents = starts + 2
    ends = contents + (raw >> 1)
    return _Candidates(starts, contents, ends).only((last < 0x80) & (raw & 1 == 0) & (ends <= high))


def _candidates(octets: NDArray[np.uint8], low: int, high: int) -> _Candidates:
    """Every zero byte with an even length of one to three bytes before it that stays in the range."""
    parts: list[Positions] = []
    for block in range(low + 3, high, _BLOCK):
        until = min(block + _BLOCK, high)
        marks = (octets[block:until] | (octets[block - 1 : until - 1] & 0x80)) == 0
        parts.append(np.flatnonzero(marks) + block)
    contents = np.concatenate(parts) if parts else np.empty(0, np.int64)
    raw = octets[contents - 1].astype(np.int64)
    starts = contents - 1
    for back in (2, 3):
        before = octets[contents - back].astype(np.int64)
        wider = (before >= 0x80) & (starts == contents - back + 1)
        if not wider.any():
            break
        raw = np.where(wider, raw << 7 | before & 0x7F, raw)
        starts -= wider
    ends = contents + (raw >> 1)
    return _Candidates(starts, contents, ends).only((raw >= _LEAST_RAW) & (raw & 1 == 0) & (ends <= high))


def _joined(found: _Candidates, seconds: Positions, ends: Positions) -> _Candidates:
    """Those that end where one of the next begins or a batch ends, and begin where one before ends."""
    kept = np.isin(found.ends, ends)
    for step in range(1, _REACH + 1):
        kept[:-step] |= found.ends[:-step] == found.starts[step:]
    found = found.only(kept)
    kept = np.isin(found.starts, seconds)
    for step in range(1, _REACH + 1):
        kept[step:] |= found.starts[step:] == found.ends[:-step]
    return found.only(kept)


def _fill_one_by_one(
    windows: Windows,
    batches: Sequence[ScannedBatch],
    numbers: list[int],
    bounds: RecordBounds,
    firsts: list[int],
) -> None:
    contents: list[int] = []
    ends: list[int] = []
    for number in numbers:
        _walk_chain(windows.work, batches[number], contents, ends)
    here: slice | Positions = slice(None)
    if len(numbers) < len(batches):
        here = np.concatenate([np.arange(firsts[number], firsts[number + 1]) for number in numbers])
    bounds.contents[here] = np.fromiter(contents, np.int64, len(contents))
    bounds.ends[here] = np.fromiter(ends, np.int64, len(ends))


def _walk_chain(work: Buffer, batch: ScannedBatch, contents: list[int], ends: list[int]) -> None:
    """Append the bounds of every record of the batch.

    Positions only grow, so the last one shows whether any record ran off. One odd number is enough to detect
    a negative length. Nothing else is checked on the way.
    """
    position, odd = batch.start, 0
    add_content, add_end = contents.append, ends.append
    try:
        for _ in range(batch.count):
            raw = work[position]
            if raw < 0x80:
                position += 1
            else:
                high = work[position + 1]
                if high < 0x80:
                    raw += (high << 7) - 0x80
                    position += 2
                else:
                    raw, position = decode_unsigned(work, position, MAX_UINT32)
            odd |= raw
            add_content(position)
            position += raw >> 1
            add_end(position)
    except (IndexError, CorruptMessage):
        raise BrokenChain(batch, "a record runs off the end of its batch") from None
    if odd & 1:
        raise BrokenChain(batch, "a record has a negative length")
    if position > batch.end:
        raise BrokenChain(batch, "a record runs off the end of its batch")
    if position < batch.end:
        raise BrokenChain(batch, f"{batch.end - position} bytes are left over after the last record")
