"""`spark.read.format("barnabas")` against a running broker."""

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.integration.spark.queries import Queries, numbered, produce
from tests.integration.spark.records import values_of
from tests.patience import PATIENCE, PROGRAM_PATIENCE

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("pyspark", "java")
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_RECORDS: list[tuple[bytes | None, bytes | None, list[tuple[str, str | bytes | None]]]] = [
    (None, b"value", []),
    (b"key", None, [("a", b"1"), ("b", None), ("a", b"")]),
    (b"", b"", []),
    (b"k" * 200, b"v" * 70_000, [("name", b"x" * 300)]),
]
_TIME = 1_700_000_000_123


@pytest.mark.kafka_topic(partitions=6)
def test_every_codec_null_header_and_timestamp(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    for partition, codec in enumerate(_CODECS):
        producer = Producer(
            {"bootstrap.servers": kafka_broker.bootstrap_servers, "compression.type": codec, "linger.ms": 20}
        )
        for key, value, headers in _RECORDS:
            producer.produce(kafka_topic, value, key, partition, headers=headers, timestamp=_TIME)
        assert producer.flush(30) == 0
    rows = queries.rows(kafka_topic, {"includeHeaders": "true"})
    assert len(rows) == 4 * len(_CODECS)  # and the sixth partition is empty
    for partition in range(len(_CODECS)):
        first, second, third, fourth = rows[4 * partition : 4 * partition + 4]
        assert (first.key, bytes(first.value), first.headers) == (None, b"value", None)
        assert (bytes(second.key), second.value) == (b"key", None)
        assert [(each.key, each.value) for each in second.headers] == [("a", b"1"), ("b", None), ("a", b"")]
        assert (bytes(third.key), bytes(third.value)) == (b"", b"")
        assert len(fourth.value) == 70_000
        assert [row.offset for row in (first, second, third, fourth)] == [0, 1, 2, 3]
        assert {round(row.timestamp.timestamp() * 1000) for row in (first, fourth)} == {_TIME}
        assert (first.topic, first.partition, first.timestampType) == (kafka_topic, partition, 0)


def test_what_apache_kafka_wrote(queries: Queries, golden_broker: Broker) -> None:
    """Codecs, an idempotent producer, a compacted log with gaps, LogAppendTime, three segments."""
    read = queries.read("plain,codecs,compact,appendtime,rolled", broker=golden_broker)
    found = {
        row.topic: row
        for row in read.groupBy("topic")
        .agg({"offset": "max", "timestampType": "max", "*": "count"})
        .withColumnRenamed("max(offset)", "last")
        .withColumnRenamed("max(timestampType)", "kind")
        .withColumnRenamed("count(1)", "rows")
        .collect()
    }
    assert set(found) == {"plain", "codecs", "compact", "appendtime", "rolled"}
    assert found["appendtime"].kind == 1
    assert found["plain"].kind == 0
    assert found["compact"].rows < found["compact"].last + 1, "no gap in the compacted log"


def test_only_committed_transactions(queries: Queries, kafka_broker: Broker, kafka_topic: str) -> None:
    producer = Producer(
        {"bootstrap.servers": kafka_broker.bootstrap_servers, "transactional.id": kafka_topic}
    )
    producer.init_transactions()
    for value, ends in (("kept", "commit"), ("dropped", "abort"), ("kept too", "commit"), ("open", None)):
        producer.begin_transaction()
        producer.produce(kafka_topic, value)
        producer.flush()
        if ends == "commit":
            producer.commit_transaction()
        elif ends == "abort":
            producer.abort_transaction()
    committed = {"kafka.isolation.level": "read_committed"}
    assert queries.values(kafka_topic, committed) == ["kept", "kept too"]
    assert queries.values(kafka_topic) == ["kept", "dropped", "kept too", "open"]
    producer.abort_transaction()
    assert queries.values(kafka_topic, {**committed, "minPartitions": "3"}) == ["kept", "kept too"]


@pytest.mark.kafka_topic(partitions=2)
def test_a_range_of_offsets_or_times(queries: Queries, kafka_broker: Broker, kafka_topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap_servers, "linger.ms": 0})
    for number in range(10):
        producer.produce(kafka_topic, f"{number:04}", partition=0, timestamp=1_000_000 + 100 * number)
    assert producer.flush(30) == 0
    name = kafka_topic

    def read(**options: str) -> list[str]:
        return queries.values(name, options)

    assert read(
        startingOffsets=f'{{"{name}":{{"0":3,"1":-2}}}}', endingOffsets=f'{{"{name}":{{"0":5,"1":-1}}}}'
    ) == numbered(3, 5)
    assert read(
        startingTimestamp="1000150", endingTimestamp="1000400", startingOffsetsByTimestampStrategy="latest"
    ) == numbered(2, 4)
    assert read(
        assign=f'{{"{name}":[0]}}', startingOffsetsByTimestamp=f'{{"{name}":{{"0":1000700}}}}'
    ) == numbered(7, 10)
    with pytest.raises(Exception, match=f"No offset matched from request of topic-partition {name}-1"):
        read(startingTimestamp="1000150")
    with pytest.raises(Exception, match="you must specify all TopicPartitions"):
        read(startingOffsets=f'{{"{name}":{{"0":3}}}}')


@pytest.mark.kafka_topic(partitions=3)
def test_tasks_are_split(queries: Queries, kafka_broker: Broker, kafka_topic: str) -> None:
    from pyspark.sql.functions import spark_partition_id

    produce(kafka_broker, kafka_topic, numbered(0, 100))

    def tasks(**options: str) -> list[int]:
        read = queries.read(kafka_topic, options).groupBy(spark_partition_id().alias("task")).count()
        return sorted(row["count"] for row in read.collect())

    assert tasks() == [100]
    assert tasks(minPartitions="4") == [25, 25, 25, 25]
    assert tasks(maxRecordsPerPartition="40") == [33, 33, 34]


def test_a_schema_selects_columns(queries: Queries, kafka_broker: Broker, kafka_topic: str) -> None:
    produce(kafka_broker, kafka_topic, ["one"])
    read = queries.read(kafka_topic, schema="offset bigint, value binary")
    assert [tuple(row) for row in read.collect()] == [(0, b"one")]
    with pytest.raises(Exception, match=r"Kafka source has a fixed schema.*there is no 'value string' among"):
        queries.read(kafka_topic, schema="value string").collect()


def test_a_dataframe_used_again_sees_what_has_come(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    read = queries.read(kafka_topic)
    assert read.count() == 0
    produce(kafka_broker, kafka_topic, numbered(0, 5))
    assert read.count() == 5


def test_topics_by_pattern(queries: Queries, kafka_broker: Broker, kafka_topic: str) -> None:
    kafka_broker.create_topic(f"{kafka_topic}-more")
    produce(kafka_broker, kafka_topic, ["a"])
    produce(kafka_broker, f"{kafka_topic}-more", ["b"])
    assert queries.values("", {"subscribePattern": f"^{kafka_topic}"}) == ["a", "b"]
    assert queries.values("", {"subscribePattern": "no-such-topic"}) == []


def test_deleted_records_are_named(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, tmp_path: Path
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 10))
    delete_records(kafka_broker, kafka_topic, 4, tmp_path)
    from_one = {"startingOffsets": f'{{"{kafka_topic}":{{"0":1}}}}'}
    with pytest.raises(Exception, match=rf"{kafka_topic}-0: offsets 1\.\.3 are lost \(log starts at 4\)"):
        queries.values(kafka_topic, from_one)
    assert queries.values(kafka_topic, {**from_one, "failOnDataLoss": "false"}) == numbered(4, 10)
    assert queries.values(kafka_topic) == numbered(4, 10)


def test_a_topic_that_is_not_there_is_named(queries: Queries) -> None:
    quick = {"fetchOffset.retryIntervalMs": "1"}
    with pytest.raises(Exception, match="Topic no-such-topic: This server does not host"):
        queries.values("no-such-topic", quick)


@pytest.mark.kafka_topic(partitions=2)
def test_a_view_of_sql_reads_and_writes_a_topic(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    produce(kafka_broker, kafka_topic, ["a", "b"])
    produce(kafka_broker, kafka_topic, ["c"], partition=1)
    servers = kafka_broker.bootstrap_servers
    queries.spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW letters USING barnabas OPTIONS "
        f"('kafka.bootstrap.servers' '{servers}', subscribe '{kafka_topic}', topic '{kafka_topic}', "
        "includeHeaders 'true')"
    )
    found = queries.spark.sql(
        "SELECT partition, count(headers), max(string(value)) FROM letters GROUP BY ALL"
    ).collect()
    assert sorted(map(tuple, found)) == [(0, 0, "b"), (1, 0, "c")]
    queries.spark.sql("INSERT INTO letters (key, value, headers) SELECT null, binary('d'), null")
    assert values_of(servers, kafka_topic) == ["a", "b", "c", "d"]
    queries.spark.catalog.dropTempView("letters")


def delete_records(broker: Broker, topic: str, before: int, directory: Path) -> None:
    """As an administrator does it."""
    wanted = directory / "delete.json"
    wanted.write_text(f'{{"partitions":[{{"topic":"{topic}","partition":0,"offset":{before}}}],"version":1}}')
    command = [
        sys.executable,
        "-c",
        "from barnabas.cli.kafka.delete_records import main; main()",
        "--bootstrap-server",
        broker.bootstrap_servers,
        "--offset-json-file",
        str(wanted),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=PROGRAM_PATIENCE)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "x"})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE)[0] == before
    consumer.close()
