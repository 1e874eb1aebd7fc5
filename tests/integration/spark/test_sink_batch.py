"""`df.write.format("barnabas")`: what arrives, where, and what is refused; as others see it, and we."""

import datetime as dt
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from tests.integration.spark.queries import Queries
from tests.integration.spark.records import records_of, values_of

from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.needs("pyspark", "java")


def save(rows: "DataFrame", broker: Broker, **options: object) -> None:
    writer = rows.write.format("barnabas").mode("append")
    writer = writer.option("kafka.bootstrap.servers", broker.bootstrap_servers)
    for name, value in options.items():
        writer = writer.option(name.replace("__", "."), str(value))
    writer.save()


@pytest.mark.kafka_topic(partitions=5)
def test_keys_go_where_librdkafka_and_java_send_them_in_their_order(
    spark: "SparkSession", kafka_broker: Broker, kafka_topic: str
) -> None:
    rows = spark.range(0, 3000, 1, 2).selectExpr(
        "repeat(concat('k', cast(id % 97 as string)), cast(id % 5 as int)) as key",
        "cast(id as string) as value",
    )
    save(rows, kafka_broker, topic=kafka_topic)
    found = records_of(kafka_broker.bootstrap_servers, kafka_topic)
    kafka_broker.create_topic("by-librdkafka", 5)
    other = Producer(
        {
            "bootstrap.servers": kafka_broker.bootstrap_servers,
            "partitioner": "murmur2_random",
            "linger.ms": 20,
        }
    )
    for key in {each.key for each in found}:
        other.produce("by-librdkafka", b"", key)
    assert other.flush(30) == 0
    theirs = {
        each.key: each.partition for each in records_of(kafka_broker.bootstrap_servers, "by-librdkafka")
    }
    assert sorted(int(each.value or b"") for each in found) == list(range(3000))
    # An empty key is a key for Java, and for us; librdkafka takes it for none.
    assert {each.key: each.partition for each in found if each.key} == {
        key: partition for key, partition in theirs.items() if key
    }
    # Either task wrote one half of the numbers, each in order.
    for partition in range(5):
        for task in (range(1500), range(1500, 3000)):
            mine = [int(each.value or b"") for each in found if each.partition == partition]
            assert [each for each in mine if each in task] == sorted(each for each in mine if each in task)


@pytest.mark.kafka_topic(partitions=3)
def test_every_column_arrives_and_can_be_read_back(
    spark: "SparkSession", queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    when = dt.datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=dt.UTC)
    rows = spark.createDataFrame(
        [
            (b"k", b"v", [("h", b"1"), ("h", None)], 2, when),
            (None, None, [], 1, when),
            (b"", b"", None, 0, when),
        ],
        "key binary, value binary, headers array<struct<key:string,value:binary>>, partition int, "
        "timestamp timestamp",
    )
    save(rows.withColumn("offset", rows.partition), kafka_broker, topic=kafka_topic, writeTimestamp=True)
    third, second, first = records_of(kafka_broker.bootstrap_servers, kafka_topic)
    assert first[2:] == (b"k", b"v", [("h", b"1"), ("h", None)], 1714979289123)
    assert second[2:4] == (None, None)
    assert third[2:4] == (b"", b"")
    assert not second.headers
    assert not third.headers
    back = queries.rows(kafka_topic, {"includeHeaders": "true"})
    assert [bytes(each.key) if each.key is not None else None for each in back] == [b"", None, b"k"]
    assert [(each.key, each.value) for each in back[2].headers] == [("h", b"1"), ("h", None)]
    assert {each.timestamp for each in back} == {when.replace(microsecond=123000, tzinfo=None)}


def test_the_topic_column_and_milliseconds(spark: "SparkSession", kafka_broker: Broker) -> None:
    rows = spark.createDataFrame(
        [("a", "1", 1000), ("b", "2", None), ("a", "3", 3000)], "topic string, value string, timestamp long"
    )
    kafka_broker.create_topic("a")
    save(rows, kafka_broker, writeTimestamp=True)  # topic b comes to be by being written to
    servers = kafka_broker.bootstrap_servers
    # Two tasks: in either order.
    assert {(each.value, each.timestamp) for each in records_of(servers, "a")} == {(b"1", 1000), (b"3", 3000)}
    (other,) = records_of(servers, "b")
    assert abs(other.timestamp / 1000 - dt.datetime.now(dt.UTC).timestamp()) < 600


@pytest.mark.kafka_topic(partitions=2)
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_by_others(
    spark: "SparkSession", kafka_broker: Broker, kafka_topic: str, codec: str
) -> None:
    rows = spark.range(200).selectExpr("cast(id as string) as key", "repeat(cast(id as string), 50) as value")
    save(rows, kafka_broker, topic=kafka_topic, kafka__compression__type=codec)
    expected = sorted(str(number) * 50 for number in range(200))
    assert values_of(kafka_broker.bootstrap_servers, kafka_topic) == expected


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("'a' as key", {"topic": "t"}, "Required attribute 'value' not found"),
        ("1 as value", {"topic": "t"}, "value attribute unsupported type int"),
        ("'a' as value", {"topic": "t", "kafka__security__protocol": "SSL"}, "PLAINTEXT"),
        ("'a' as value, cast(null as string) as topic", {}, "KAFKA_NULL_TOPIC_IN_DATA"),
        ("'a' as value, 7 as partition", {"topic": "t"}, "Partition 7 of topic t with partition count 1"),
    ],
)
def test_what_is_refused_says_why(
    spark: "SparkSession", kafka_broker: Broker, columns: str, options: dict[str, str], message: str
) -> None:
    from pyspark.errors import PySparkException

    kafka_broker.create_topic("t")
    with pytest.raises(PySparkException, match=message):
        save(spark.sql(f"select {columns}"), kafka_broker, **options)
    assert records_of(kafka_broker.bootstrap_servers, "t") == []


def test_nothing_is_overwritten(spark: "SparkSession", kafka_broker: Broker, kafka_topic: str) -> None:
    from pyspark.errors import PySparkException

    writer = spark.sql("select 'a' as value").write.format("barnabas").option("topic", kafka_topic)
    with pytest.raises(PySparkException, match="Save mode Overwrite not allowed for Kafka"):
        writer.option("kafka.bootstrap.servers", kafka_broker.bootstrap_servers).mode("overwrite").save()


@pytest.mark.kafka_topic(partitions=2)
def test_a_version_of_an_application_is_written_once(
    spark: "SparkSession", kafka_broker: Broker, kafka_topic: str
) -> None:
    from pyspark.errors import PySparkException

    def load(version: int, letter: str, topic: str) -> None:
        rows = spark.range(0, 4, 1, 2).selectExpr(f"concat('{letter}', cast(id as string)) as value")
        save(rows, kafka_broker, topic=topic, txnAppId="load", txnVersion=version)

    for version, letter in ((0, "a"), (1, "b"), (1, "c")):
        load(version, letter, kafka_topic)
    with pytest.raises(PySparkException, match="already has version 1 of application load, and this is 0"):
        load(0, "d", kafka_topic)
    load(2, "e", kafka_topic)
    load(0, "a", "another")  # an application and a version are written to each target once
    servers = kafka_broker.bootstrap_servers
    assert values_of(servers, kafka_topic) == [f"{each}{number}" for each in "abe" for number in range(4)]
    assert values_of(servers, "another") == [f"a{number}" for number in range(4)]


@pytest.mark.kafka_topic(partitions=2)
def test_a_timestamp_column_is_not_written_unless_it_is_requested(
    spark: "SparkSession", kafka_broker: Broker, kafka_topic: str
) -> None:
    rows = spark.sql("select 'a' as value, 'two days ago' as timestamp")
    save(rows, kafka_broker, topic=kafka_topic)
    save(spark.sql("select 'b' as value, timestamp_millis(5) as timestamp"), kafka_broker, topic=kafka_topic)
    found = records_of(kafka_broker.bootstrap_servers, kafka_topic)
    now = dt.datetime.now(dt.UTC).timestamp()
    assert sorted(each.value or b"" for each in found) == [b"a", b"b"]
    assert all(abs(each.timestamp / 1000 - now) < 600 for each in found)


@pytest.mark.kafka_topic(partitions=2)
def test_foreach_batch_runs_again_and_writes_once(
    spark: "SparkSession", kafka_broker: Broker, kafka_topic: str, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for number in range(3):
        (source / f"{number}.txt").write_text(f"{number}\n")
    failures = [1]
    kafka_broker.create_topic("beside", 2)

    def write(rows: "DataFrame", batch: int) -> None:
        for topic in (kafka_topic, "beside"):
            save(rows, kafka_broker, topic=topic, txnAppId="query", txnVersion=batch)
        if batch in failures:
            failures.remove(batch)
            raise RuntimeError("after the write, before Spark notes the batch")

    def run() -> None:
        lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(source))
        query = lines.writeStream.foreachBatch(write).option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        )
        query.trigger(availableNow=True).start().awaitTermination()

    from pyspark.errors import StreamingQueryException

    with pytest.raises(StreamingQueryException, match="before Spark notes the batch"):
        run()
    run()
    servers = kafka_broker.bootstrap_servers
    assert [values_of(servers, topic) for topic in (kafka_topic, "beside")] == [["0", "1", "2"]] * 2
    shutil.rmtree(tmp_path / "checkpoint")
    with pytest.raises(StreamingQueryException, match="the checkpoint that counts them was deleted"):
        run()
    assert values_of(servers, kafka_topic) == ["0", "1", "2"]
