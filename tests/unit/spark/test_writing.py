"""Rows to partitions, with a producer that only notes what it is given."""

import datetime as dt
import re
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark import writing
from barnabas.spark.arrow.murmur2 import partition_of_keys
from barnabas.spark.arrow.record_batches import RowColumns
from barnabas.spark.planning.sink_columns import SinkColumns
from barnabas.spark.writing import CHUNK_BYTES, RowWriter, UnusableRow

TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}
NAMES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "timestamp": "timestamp",
    "headers": "array<struct<key:string,value:binary>>",
}


class NotingProducer:
    def __init__(self, **counts: int) -> None:
        self.counts: dict[str, int] = counts
        self.sent: list[tuple[str, int, RowColumns]] = []
        self.attended: list[int] = []
        """How many sends had been made each time."""

    def partition_count(self, topic: str) -> int:
        return self.counts[topic]

    def send(self, topic: str, partition: int, columns: RowColumns) -> int:
        self.sent.append((topic, partition, columns))
        return len(columns.value)

    def attend(self) -> None:
        self.attended.append(len(self.sent))

    def values(self) -> dict[tuple[str, int], list[bytes]]:
        found: dict[tuple[str, int], list[bytes]] = {}
        for topic, partition, rows in self.sent:
            found.setdefault((topic, partition), []).extend(rows.value.to_pylist())
        return found


def batch(**columns: list[object]) -> pa.RecordBatch:
    return pa.record_batch({name: pa.array(values, TYPES[name]) for name, values in columns.items()})


def write(
    producer: NotingProducer, *batches: pa.RecordBatch, topic: str | None = None, turn: int = 0
) -> tuple[int, str | None]:
    names = batches[0].schema.names
    columns = SinkColumns.of(
        [(name, NAMES[name]) for name in names], topic, write_timestamp="timestamp" in names
    )
    return RowWriter(producer, columns, topic, turn).write(iter(batches))


@given(st.lists(st.one_of(st.none(), st.binary(max_size=12)), min_size=1, max_size=60), st.integers(1, 7))
def test_keys_go_where_kafkas_partitioner_sends_them_in_their_order(
    keys: list[bytes | None], count: int
) -> None:
    producer = NotingProducer(t=count)
    values: list[object] = [str(number).encode() for number in range(len(keys))]
    assert write(producer, batch(key=list(keys), value=values), topic="t") == (len(keys), "t")
    expected: dict[tuple[str, int], list[object]] = {}
    for key, number, value in zip(
        keys, partition_of_keys(pa.array(keys, pa.binary()), count), values, strict=True
    ):
        expected.setdefault(("t", 0 if key is None else int(number)), []).append(value)
    assert producer.values() == expected


def test_every_column_of_a_row_stays_with_it() -> None:
    producer = NotingProducer(t=3)
    rows = [(f"k{n}".encode(), f"v{n}".encode(), n) for n in range(20)]
    write(
        producer,
        batch(
            key=[key for key, _, _ in rows],
            value=[value for _, value, _ in rows],
            timestamp=[dt.datetime.fromtimestamp(n, dt.UTC) for _, _, n in rows],
            headers=[[{"key": "n", "value": value}] for _, value, _ in rows],
        ),
        topic="t",
    )
    seen = []
    for _, _, sent in producer.sent:
        times = np.asarray(sent.timestamp_ms).tolist()
        assert sent.key is not None
        assert sent.headers is not None
        for key, value, headers, when in zip(
            sent.key.to_pylist(), sent.value.to_pylist(), sent.headers.to_pylist(), times, strict=True
        ):
            assert headers == [{"key": "n", "value": value}]
            seen.append((key, value, when // 1000))
    assert len(producer.sent) == 3
    assert sorted(seen) == sorted(rows)


def test_a_partition_of_its_own_wins_over_the_key() -> None:
    producer = NotingProducer(t=4)
    write(
        producer, batch(key=[b"a", b"a", None], value=[b"1", b"2", b"3"], partition=[3, None, 2]), topic="t"
    )
    by_key = int(partition_of_keys(pa.array([b"a"], pa.binary()), 4)[0])
    expected: dict[tuple[str, int], list[bytes]] = {}
    for number, value in ((3, b"1"), (by_key, b"2"), (2, b"3")):
        expected.setdefault(("t", number), []).append(value)
    assert producer.values() == expected


@pytest.mark.parametrize(
    ("number", "message"),
    [(-1, "Invalid partition: -1."), (4, "Partition 4 of topic t with partition count 4 does not exist")],
)
def test_a_partition_that_cannot_be_is_refused(number: int, message: str) -> None:
    with pytest.raises(UnusableRow, match=re.escape(message)):
        write(NotingProducer(t=4), batch(value=[b"1", b"2"], partition=[0, number]), topic="t")


def test_rows_without_key_stay_together_in_a_chunk_and_move_on_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writing, "CHUNK_BYTES", 1)
    producer = NotingProducer(t=3)
    write(producer, *(batch(value=[b"x", b"y"]) for _ in range(4)), topic="t", turn=5)
    assert [(partition, len(rows.value)) for _, partition, rows in producer.sent] == [
        (2, 2),
        (0, 2),
        (1, 2),
        (2, 2),
    ]


def test_small_batches_are_gathered_and_empty_ones_left_out() -> None:
    producer = NotingProducer(t=1)
    write(
        producer, batch(value=[]), batch(value=[b"1"]), batch(value=[]), batch(value=[b"2", b"3"]), topic="t"
    )
    assert [rows.value.to_pylist() for _, _, rows in producer.sent] == [[b"1", b"2", b"3"]]


def test_without_a_row_nothing_was_written() -> None:
    assert write(NotingProducer(), batch(value=[]), topic="t") == (0, None)


def test_rows_say_where_they_go_unless_the_option_does() -> None:
    rows = batch(value=[b"1", b"2", b"3"], topic=["b", "a", "b"])
    producer = NotingProducer(a=1, b=1, c=1)
    assert write(producer, rows) == (3, "b")
    assert producer.values() == {("b", 0): [b"1", b"3"], ("a", 0): [b"2"]}
    by_option = NotingProducer(c=1)
    write(by_option, rows, topic="c")
    assert by_option.values() == {("c", 0): [b"1", b"2", b"3"]}


def test_a_row_without_a_topic_is_refused_in_the_words_of_spark() -> None:
    with pytest.raises(UnusableRow, match="KAFKA_NULL_TOPIC_IN_DATA"):
        write(NotingProducer(a=1), batch(value=[b"1", b"2"], topic=["a", None]))


def test_rows_without_a_time_get_the_present_one() -> None:
    producer = NotingProducer(t=1)
    before = time.time_ns() // 1_000_000
    write(
        producer, batch(value=[b"1", b"2"], timestamp=[None, dt.datetime.fromtimestamp(5, dt.UTC)]), topic="t"
    )
    write(producer, batch(value=[b"1"]), topic="t")
    first, second = (np.atleast_1d(rows.timestamp_ms).tolist() for _, _, rows in producer.sent)
    assert first[1] == 5000
    assert all(before <= each <= time.time_ns() // 1_000_000 for each in (first[0], second[0]))


def test_a_time_before_1970_is_refused() -> None:
    with pytest.raises(UnusableRow, match="Invalid timestamp: -5000"):
        write(
            NotingProducer(t=1),
            batch(value=[b"1"], timestamp=[dt.datetime.fromtimestamp(-5, dt.UTC)]),
            topic="t",
        )


def test_a_producer_is_attended_while_more_rows_are_awaited_and_only_then() -> None:
    large = batch(value=[b"x" * CHUNK_BYTES])
    producer = NotingProducer(t=1)

    def upstream() -> Iterator[pa.RecordBatch]:
        assert producer.attended == []
        yield large
        assert producer.attended == [1]
        yield batch(value=[b"small"])
        assert producer.attended == [1]

    columns = SinkColumns.of([("value", "binary")], "t")
    RowWriter(producer, columns, "t", 0).write(upstream())
    assert (len(producer.sent), producer.attended) == (2, [1])
