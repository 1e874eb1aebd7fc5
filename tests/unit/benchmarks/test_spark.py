import importlib.util
import json
from pathlib import Path

import pytest
from benchmarks.barnabas_broker import Barnabas
from benchmarks.progress import Progress
from benchmarks.results import Results, Row
from benchmarks.runner import Plan, Runner
from benchmarks.scenarios import spark
from benchmarks.scenarios.base import Settings
from benchmarks.spark_connector import ConnectorUnavailable, fetch_connector
from benchmarks.spark_jobs import SparkSizes, jobs
from benchmarks.spark_records import EventTopic, _batch, _packed, _share, _until, events

from barnabas.records.batch import HEADER_SIZE, crc_is_valid, parse_header
from barnabas.records.compression import decompress


def test_every_query_has_its_row() -> None:
    assert [job.name for job in jobs()] == list(spark.METRICS)


def test_queries_read_no_more_than_is_loaded() -> None:
    for sizes in (SparkSizes(), SparkSizes.quick()):
        assert max(sizes.streamed, sizes.parsed, sizes.written) <= sizes.small
        topics = {topic.name: topic for job in jobs() for topic in job.topics(sizes)}
        assert len(topics) == len({topic for job in jobs() for topic in job.topics(sizes)})


@pytest.mark.parametrize("size", [100, 1024])
def test_events_have_their_size_and_are_json(size: int) -> None:
    made = events(size, 50)
    assert {len(key) + len(value) for key, value in made} == {size}
    assert all({"at", "user", "page", "ms", "note"} == json.loads(value).keys() for _, value in made)
    assert made == events(size, 50)


def test_a_compressed_batch_is_the_same_batch() -> None:
    plain = _batch(events(100, 20))
    packed = _packed(plain, "lz4")
    header = parse_header(packed, 0)
    assert (header.compression, header.size, header.record_count) == (3, len(packed), 20)
    assert crc_is_valid(memoryview(packed), 0, header)
    assert decompress(3, memoryview(packed)[HEADER_SIZE:]) == plain[HEADER_SIZE:]


@pytest.mark.parametrize("records", [3, 7, 8, 21])
def test_a_topic_gets_exactly_its_records(records: int) -> None:
    topic = EventTopic("t", records, 100)
    encoded = [(count, _batch(events(100, count))) for count in (2, 3)]
    loaded = [
        sum(parse_header(each, 0).record_count for each in _until(_share(records, number), encoded, topic))
        for number in range(4)
    ]
    assert sum(loaded) == records
    assert max(loaded) - min(loaded) <= 1


def test_without_pyspark_a_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    results = Results("now", [], [], 1)
    Runner(Plan(1, Settings(), "spark/json", tmp_path), [Barnabas()], Progress()).run(results)
    assert not results.rows
    assert not results.failures
    assert results.notes == [
        "Spark's rows were left out: pyspark is not installed (pip install barnabas[spark])."
    ]


def test_without_maven_the_connector_is_not_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConnectorUnavailable, match="mvn"):
        fetch_connector(tmp_path / "cache")


def test_a_run_of_spark_alone_names_its_own_yardstick() -> None:
    metric = spark.METRICS["spark/json"]
    beside = Row(spark.GROUP, metric, [1.0], [2.0], spark.YARDSTICK)
    results = Results("now", [], [], 1, rows=[beside])
    assert results.yardstick == spark.YARDSTICK
    results.rows.append(Row("Produce", metric, [1.0], [1.0]))
    assert results.yardstick == "Apache Kafka"
