"""The walks without objects say what the decoder says."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.records import record_lists

from barnabas.base.errors import InvalidRecord
from barnabas.records.builder import encode_records
from barnabas.records.record import Record
from barnabas.storage.cleaning.record_walk import keep_records, read_keys, rebase_timestamps, record_ends

uniform = st.builds(
    lambda count, key, value, step: [
        Record(n, 1000 + n * step, b"%0*d" % (key, n), None if n % 7 == 3 and not value else bytes(value))
        for n in range(count)
    ],
    st.integers(1, 300), st.integers(3, 90), st.integers(0, 200), st.integers(0, 70),
)  # fmt: skip
mixed = st.lists(uniform | record_lists(max_size=30), min_size=1, max_size=3).map(
    lambda parts: [record for part in parts for record in part]
)


def _payload(records: list[Record]) -> bytes:
    return encode_records(records, range(len(records)), records[0].timestamp)


@given(mixed)
def test_keys_and_tombstones_are_those_of_the_records(records: list[Record]) -> None:
    keys, tombstones = read_keys(_payload(records), len(records))
    assert keys == [record.key for record in records]
    assert tombstones == [n for n, r in enumerate(records) if r.key is not None and r.value is None]


@given(mixed, st.randoms(use_true_random=False))
def test_records_that_stay_keep_their_bytes(records: list[Record], rng: random.Random) -> None:
    payload = _payload(records)
    marks = bytearray(rng.randrange(2) for _ in records)
    marks[rng.randrange(len(marks))] = 1
    ends = record_ends(payload, len(records))
    assert ends[-1] == len(payload)
    parts = [payload[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    kept = [part for part, mark in zip(parts, marks, strict=True) if mark]
    assert keep_records(payload, marks) == (b"".join(kept), sum(map(len, kept[:-1])))


@given(mixed, st.integers(-(1 << 40), 1 << 40))
def test_rebased_records_are_those_built_on_the_new_base(records: list[Record], shift: int) -> None:
    base = records[0].timestamp
    expected = encode_records(records, range(len(records)), base + shift)
    assert rebase_timestamps(_payload(records), len(records), shift) == expected


@given(mixed, st.data())
def test_cut_records_are_refused(records: list[Record], data: st.DataObject) -> None:
    payload = _payload(records)
    size = data.draw(st.integers(0, len(payload) - 1))
    with pytest.raises(InvalidRecord):
        read_keys(payload[:size], len(records))
