"""What the reader decides, with the answers of a cluster that is not there."""

import json
import pickle
from collections.abc import Collection, Mapping

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from barnabas.spark.planning import Offsets, TopicPartition
from barnabas.spark.planning.data_loss import DataLoss
from barnabas.spark.planning.offset_json import OffsetDict
from barnabas.spark.planning.options import SourceOptions
from barnabas.spark.reading import RangePartition
from barnabas.spark.stream_reader import StreamReader

A, B = ("t", 0), ("t", 1)
ALL = ReadAllAvailable()


class _Log:
    """Replaces the reader's requests to a cluster."""

    def __init__(self) -> None:
        self.starts: Offsets = {A: 0}
        self.ends: Offsets = {A: 10}
        self.topic_ids: dict[str, str] = {}

    def initial(self) -> Offsets:
        return dict(self.ends)  # as `latest` does

    def latest(self, known: Mapping[TopicPartition, int]) -> Offsets:
        return dict(self.ends)

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        return {
            topic_partition: offset
            for topic_partition, offset in self.starts.items()
            if topic_partition in partitions
        }


class _Group:
    meeting_group: str | None = None

    def __init__(self) -> None:
        self.committed: list[Offsets] = []

    def commit(self, offsets: Offsets) -> None:
        self.committed.append(offsets)


def _reader(log: _Log, group: _Group | None = None, **options: str) -> StreamReader:
    given = {"kafka.bootstrap.servers": "nowhere:1", "subscribe": "t", **options}
    reader = StreamReader(SourceOptions.of_stream(given), ("value",))
    reader._offsets = log  # type: ignore[assignment]
    reader._group = group or _Group()  # type: ignore[assignment]
    return reader


def _again(offset: OffsetDict) -> OffsetDict:
    """Through Spark's checkpoint."""
    found: OffsetDict = json.loads(json.dumps(offset))
    return found


def _ranges(reader: StreamReader, start: OffsetDict, end: OffsetDict) -> list[tuple[int, int, int]]:
    parts = [part for part in reader.partitions(start, end) if isinstance(part, RangePartition)]
    return [(part.partition, part.start, part.stop) for part in parts]


def test_the_first_batch_run_again_reads_what_it_read() -> None:
    log = _Log()
    reader = _reader(log)
    start = _again(reader.initialOffset())
    log.ends = {A: 25}
    end = _again(reader.latestOffset(start, ALL))
    assert _ranges(reader, start, end) == [(0, 10, 25)]
    log.ends = {A: 99}
    restarted = _reader(log)
    moved = _again(restarted.initialOffset())
    assert moved != start
    assert _ranges(restarted, moved, end) == [(0, 10, 25)]


def test_the_batch_after_the_first_is_plain() -> None:
    log = _Log()
    reader = _reader(log)
    log.ends = {A: 25}
    first = _again(reader.latestOffset({"t": {"0": 10}}, ALL))
    assert first == {"t": {"0": 25}}, "only a start that is the initial one makes a first batch"
    start = _again(reader.initialOffset())
    log.ends = {A: 30}
    end = _again(reader.latestOffset(start, ALL))
    log.ends = {A: 31}
    after = _again(reader.latestOffset(end, ALL))
    assert after == {"t": {"0": 31}}
    assert _ranges(reader, end, after) == [(0, 30, 31)]


def test_an_idle_stream_returns_the_very_text() -> None:
    log = _Log()
    reader = _reader(log)
    start = _again(reader.initialOffset())
    end = _again(reader.latestOffset(start, ALL))
    assert reader.partitions(start, end) == []
    for offset in (end, {"t": {"0": 10}}):
        assert json.dumps(reader.latestOffset(offset, ALL)) == json.dumps(offset)
        assert reader.partitions(offset, offset) == []


def test_an_empty_first_batch_keeps_its_initial_offsets() -> None:
    """Spark runs the first batch even if there is nothing; what comes before its replay is for the next."""
    log = _Log()
    reader = _reader(log)
    start = _again(reader.initialOffset())
    end = _again(reader.latestOffset(start, ALL))
    assert _ranges(reader, start, end) == []
    log.ends = {A: 15}
    restarted = _reader(log)
    assert _ranges(restarted, _again(restarted.initialOffset()), end) == []
    after = restarted.latestOffset(end, ALL)
    assert _ranges(restarted, end, after) == [(0, 10, 15)]


def test_available_now_has_one_target() -> None:
    log = _Log()
    reader = _reader(log, minOffsetsPerTrigger="100")
    reader.prepareForTriggerAvailableNow()
    ends = []
    offset: OffsetDict = {"t": {"0": 0}}
    for _ in range(4):
        offset = reader.latestOffset(offset, ReadMaxRows(4))
        ends.append(offset["t"]["0"])
        log.ends = {A: 1000, B: 5}
    assert ends == [4, 8, 10, 10]


def test_limits_come_from_the_options() -> None:
    log = _Log()
    assert _reader(log).getDefaultReadLimit() == ALL
    assert _reader(log, minOffsetsPerTrigger="5").getDefaultReadLimit() == ReadMinRows(5)
    both = _reader(log, minOffsetsPerTrigger="5", maxOffsetsPerTrigger="7")
    assert both.getDefaultReadLimit() == ReadMaxRows(7)
    start: OffsetDict = {"t": {"0": 0}}
    assert both.latestOffset(start, ReadMaxRows(7)) == {"t": {"0": 7}}  # the first never waits
    assert both.latestOffset({"t": {"0": 7}}, ReadMaxRows(7)) == {"t": {"0": 7}}
    assert both.latestOffset({"t": {"0": 7}}, ALL) == {"t": {"0": 10}}, "the limit that Spark requests wins"


def test_new_partitions_begin_at_their_start() -> None:
    log = _Log()
    reader = _reader(log)
    log.starts, log.ends = {A: 0, B: 0}, {A: 10, B: 7}
    end = reader.latestOffset({"t": {"0": 10}}, ALL)
    assert _ranges(reader, {"t": {"0": 10}}, end) == [(1, 0, 7)]


def test_loss_is_reported_before_spark_records_the_end() -> None:
    log = _Log()
    with pytest.raises(DataLoss, match=r"t-0: offsets 10\.\.19 are lost \(log ends at 10"):
        _reader(log).latestOffset({"t": {"0": 20}}, ALL)
    with pytest.raises(DataLoss, match=r"t-1: offsets from 3 on are lost \(the partition was deleted\)"):
        _reader(log).latestOffset({"t": {"0": 5, "1": 3}}, ALL)
    careless = _reader(log, failOnDataLoss="false")
    assert careless.latestOffset({"t": {"0": 20, "1": 3}}, ALL) == {"t": {"0": 10}}
    assert careless.partitions({"t": {"0": 20, "1": 3}}, {"t": {"0": 10}}) == []


def test_what_aged_out_is_named_when_it_is_planned() -> None:
    log = _Log()
    log.starts = {A: 4}
    with pytest.raises(DataLoss, match=r"t-0: offsets 1\.\.3 are lost \(log starts at 4\)"):
        _reader(log).partitions({"t": {"0": 1}}, {"t": {"0": 10}})
    assert _ranges(_reader(log, failOnDataLoss="false"), {"t": {"0": 1}}, {"t": {"0": 10}}) == [(0, 4, 10)]


def test_a_topic_created_anew_fails_the_stream_with_its_ids() -> None:
    log = _Log()
    log.topic_ids = {"t": "OLD"}
    start = _again(_reader(log).latestOffset({"t": {"0": 3}}, ALL))
    assert start == {"@ids t=OLD": {}, "t": {"0": 10}}
    log.topic_ids, log.ends = {"t": "NEW"}, {A: 30}
    with pytest.raises(DataLoss, match=r"t: the topic was .* created anew \(its id was OLD and is NEW"):
        _reader(log).latestOffset(start, ALL)


@pytest.mark.parametrize("end", [30, 10, 4, 0], ids=["longer", "as long", "shorter", "empty"])
def test_a_topic_created_anew_is_read_from_its_beginning_if_loss_is_allowed(
    end: int, caplog: pytest.LogCaptureFixture
) -> None:
    log = _Log()
    log.topic_ids, log.starts, log.ends = {"t": "NEW"}, {A: 0, B: 0}, {A: end, B: 7}
    start: OffsetDict = {"@ids t=OLD": {}, "t": {"0": 10, "1": 5}}
    reader = _reader(log, failOnDataLoss="false")
    stop: OffsetDict = {}
    for limit in (ALL, ReadMaxRows(1000)):
        stop = _again(reader.latestOffset(start, limit))
        assert stop == {"@ids t=NEW": {}, "t": {"0": end, "1": 7}}
        assert _ranges(reader, start, stop) == [(0, 0, end), (1, 0, 7)][not end :]
        assert "created anew (its id was OLD and is NEW now)" in caplog.text
    parts = reader.partitions(start, stop)
    assert {part.topic_id for part in parts if isinstance(part, RangePartition)} == {"NEW"}


def test_a_topic_created_anew_before_the_first_batch_runs_again_is_left_to_its_tasks() -> None:
    log = _Log()
    log.topic_ids = {"t": "OLD"}
    reader = _reader(log)
    start = _again(reader.initialOffset())
    log.ends = {A: 25}
    end = _again(reader.latestOffset(start, ALL))
    log.topic_ids, log.ends = {"t": "NEW"}, {A: 99}
    restarted = _reader(log)
    parts = restarted.partitions(_again(restarted.initialOffset()), end)
    assert parts == [RangePartition("t", 0, 10, 25, "OLD")]


def test_an_idle_stream_keeps_its_text_with_ids_and_without() -> None:
    log = _Log()
    log.topic_ids = {"t": "OLD"}
    for text in ({"t": {"0": 10}}, {"@ids t=OLD": {}, "t": {"0": 10}}):
        assert _reader(log).latestOffset(text, ALL) == text


def test_a_topic_created_anew_waits_for_enough_records_too() -> None:
    log = _Log()
    log.topic_ids = {"t": "NEW"}
    reader = _reader(log, failOnDataLoss="false", minOffsetsPerTrigger="20", maxTriggerDelay="1h")
    reader.latestOffset({"t": {"0": 10}}, ReadMinRows(20))  # the first never waits
    start: OffsetDict = {"@ids t=OLD": {}, "t": {"0": 5}}
    assert reader.latestOffset(start, ReadMinRows(20)) == start
    log.ends = {A: 20}
    assert reader.latestOffset(start, ReadMinRows(20)) == {"@ids t=NEW": {}, "t": {"0": 20}}


def test_progress_is_shown_when_a_batch_is_done() -> None:
    log, group = _Log(), _Group()
    reader = _reader(log, group)
    reader.latestOffset({"t": {"0": 3}}, ALL)
    reader.commit({"t": {"0": 8}})
    assert group.committed == [{A: 3}, {A: 8}]


def test_the_latest_offsets_are_reported() -> None:
    log = _Log()
    reader = _reader(log)
    assert reader.reportLatestOffset() is None
    reader.latestOffset({"t": {"0": 3}}, ReadMaxRows(1))
    assert reader.reportLatestOffset() == {"t": {"0": 10}}


def test_one_task_receives_the_group_for_the_querys_id() -> None:
    log, group = _Log(), _Group()
    group.meeting_group = "here"
    log.starts, log.ends = {A: 0, B: 0}, {A: 10, B: 7}
    parts = _reader(log, group).partitions({"t": {"0": 0, "1": 0}}, {"t": {"0": 10, "1": 7}})
    assert [getattr(part, "meeting_group", "") for part in parts] == ["here", None]


def test_a_reader_can_be_pickled_and_opens_nothing() -> None:
    given = {"kafka.bootstrap.servers": "nowhere:1", "subscribe": "t"}
    reader = StreamReader(SourceOptions.of_stream(given), ("value",))
    assert pickle.loads(pickle.dumps(reader)).getDefaultReadLimit() == ALL
