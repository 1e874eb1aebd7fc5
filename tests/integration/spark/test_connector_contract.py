"""The same queries through Spark's own connector: changing the format's name changes nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.spark.queries import FORMAT, Collected, Queries, numbered, produce
from tests.integration.spark.records import records_of

from barnabas.spark import progress
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

pytestmark = [pytest.mark.maven, pytest.mark.needs("pyspark")]
_GOLDEN = "plain,codecs,txn,compact,appendtime,rolled"


@pytest.mark.parametrize(
    "options",
    [
        {"includeHeaders": "true"},
        {"kafka.isolation.level": "read_committed", "minPartitions": "20"},
        {
            "startingTimestamp": "0",
            "startingOffsetsByTimestampStrategy": "latest",
            "subscribePattern": "^(txn|c)",
        },
    ],
    ids=["headers", "committed", "pattern"],
)
def test_rows_are_equal(
    queries: Queries, golden_broker: Broker, connector: str, options: Mapping[str, object]
) -> None:
    ours = queries.read(_GOLDEN, options, broker=golden_broker)
    theirs = queries.read(_GOLDEN, options, form=connector, broker=golden_broker)
    assert ours.schema == theirs.schema
    assert ours.count() > 100
    assert ours.exceptAll(theirs).count() == 0
    assert theirs.exceptAll(ours).count() == 0


@pytest.mark.kafka_topic(partitions=4)
@pytest.mark.parametrize("options", [{}, {"minPartitions": "7"}, {"startingTimestamp": "1"}], ids=str)
def test_partitions_without_a_record_change_nothing(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, connector: str, options: Mapping[str, object]
) -> None:
    kafka_broker.create_topic("nothing", 3)
    produce(kafka_broker, kafka_topic, numbered(0, 50), partition=2)
    both = f"{kafka_topic},nothing"
    if "startingTimestamp" in options:
        options = {**options, "startingOffsetsByTimestampStrategy": "latest"}
    ours, theirs = queries.rows(both, options), queries.rows(both, options, form=connector)
    assert [row.value.decode() for row in ours] == numbered(0, 50)
    assert ours == theirs
    assert queries.rows("nothing") == queries.rows("nothing", form=connector) == []


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_streams_read_the_same_rows(
    spark: "SparkSession", golden_broker: Broker, tmp_path: Path, connector: str, isolation: str
) -> None:
    options = {
        "kafka.isolation.level": isolation,
        "includeHeaders": "true",
        "maxOffsetsPerTrigger": "1500",
        "startingOffsets": "earliest",
    }
    found: dict[str, list[Row]] = {}
    for form in (FORMAT, connector):
        stream = Queries(spark, golden_broker, tmp_path / form).available_now(_GOLDEN, options, form=form)
        assert len(stream.batches) >= 2, form
        rows = [row for runs in stream.batches.values() for run in runs for row in run]
        found[form] = sorted(rows, key=lambda row: (row.topic, row.partition, row.offset))
    assert len(found[FORMAT]) > 3000
    assert found[FORMAT] == found[connector]


@pytest.mark.kafka_topic(partitions=3)
def test_progress_has_the_same_metrics(
    spark: "SparkSession", kafka_broker: Broker, kafka_topic: str, tmp_path: Path, connector: str
) -> None:
    for partition, size in enumerate((40, 7, 0)):
        produce(kafka_broker, kafka_topic, numbered(0, size), partition=partition)
    found: dict[str, list[object]] = {}
    for form in (FORMAT, connector):
        queries = Queries(spark, kafka_broker, tmp_path / form)
        options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "20"}
        query = queries.start(kafka_topic, options, into=Collected(), available_now=True, form=form)
        query.awaitTermination()
        reports = [each for report in query.recentProgress if (each := progress(report)) is not None]
        sources = [each["sources"][0] for each in reports if each["numInputRows"]]
        names = ("startOffset", "endOffset", "latestOffset", "numInputRows", "metrics", "offsetsBehindLatest")
        found[form] = [{name: source.get(name) for name in names} for source in sources[1:]]
    assert found[FORMAT] == found[connector]
    assert len(found[FORMAT]) >= 2


def test_sinks_write_the_same_records(spark: "SparkSession", kafka_broker: Broker, connector: str) -> None:
    """Keys of all lengths, null and empty values, headers, partitions that rows choose for themselves."""
    rows = spark.range(0, 500, 1, 2).selectExpr(
        "binary(repeat(char(97 + id % 26), int(id % 40) + 1)) as key",
        "if(id % 11 = 0, null, binary(repeat('v', int(id % 7)))) as value",
        "if(id % 3 = 0, null, array(struct('h' as key, if(id % 2 = 0, null, binary('1')) as value))) "
        "as headers",
        "if(id % 5 = 0, int(id % 6), null) as partition",
    )
    for form in (FORMAT, connector):
        kafka_broker.create_topic(form, 6)
        writer = rows.write.format(form).mode("append").option("topic", form)
        writer.option("kafka.bootstrap.servers", kafka_broker.bootstrap_servers).save()
    ours, theirs = (
        sorted(
            (each.partition, each.key, each.value or b"", each.value is None, str(each.headers))
            for each in records_of(kafka_broker.bootstrap_servers, form)
        )
        for form in (FORMAT, connector)
    )
    assert len(ours) == 500
    assert ours == theirs


@pytest.mark.kafka_topic(partitions=3)
def test_a_checkpoint_is_handed_from_one_to_the_other_and_back(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, connector: str
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 3))
    assert queries.available_now(kafka_topic, form=connector).values == numbered(0, 3)
    produce(kafka_broker, kafka_topic, numbered(3, 5), partition=2)
    assert queries.available_now(kafka_topic, form=FORMAT).values == numbered(3, 5)
    produce(kafka_broker, kafka_topic, numbered(5, 7))
    assert queries.available_now(kafka_topic, form=connector).values == numbered(5, 7)


@pytest.mark.kafka_topic(partitions=2)
@pytest.mark.parametrize("limit", [None, "2"], ids=["one batch", "several"])
def test_a_checkpoint_that_was_begun_here_is_handed_over_and_back(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, connector: str, limit: str | None
) -> None:
    options = {} if limit is None else {"maxOffsetsPerTrigger": limit}
    produce(kafka_broker, kafka_topic, numbered(0, 3))
    assert queries.available_now(kafka_topic, options).values == numbered(0, 3)
    produce(kafka_broker, kafka_topic, numbered(3, 5), partition=1)
    assert queries.available_now(kafka_topic, options, form=connector).values == numbered(3, 5)
    produce(kafka_broker, kafka_topic, numbered(5, 7))
    assert queries.available_now(kafka_topic, options).values == numbered(5, 7)
    produce(kafka_broker, kafka_topic, numbered(7, 9))
    assert queries.available_now(kafka_topic, options, form=connector).values == numbered(7, 9)


@pytest.mark.kafka_topic(partitions=2)
def test_a_batch_after_the_first_runs_again_in_the_connector(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, connector: str
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 3))
    queries.available_now(kafka_topic)
    produce(kafka_broker, kafka_topic, numbered(3, 5), partition=1)
    queries.available_now(kafka_topic)
    (queries.checkpoint / "commits" / "1").unlink()
    (queries.checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    assert queries.available_now(kafka_topic, form=connector).of_batch(1) == [numbered(3, 5)]


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "latest"},
        {"endingOffsets": "earliest"},
        {"startingOffsets": '{"plain":{"0":-1}}'},
        {"startingTimestamp": "noon"},
        {"minPartitions": "0"},
        {"assign": "orders"},
        {"kafka.auto.offset.reset": "earliest"},
        {"startingOffsets": '{"plain":{"0":5}}', "endingOffsets": '{"plain":{"0":4}}'},
    ],
)
def test_refusals_are_in_the_same_words(
    queries: Queries, golden_broker: Broker, connector: str, options: Mapping[str, object]
) -> None:
    with pytest.raises(Exception, match=r"\S") as theirs:
        queries.read("plain", options, form=connector, broker=golden_broker).collect()
    with pytest.raises(Exception, match=r"\S") as ours:
        queries.read("plain", options, broker=golden_broker).collect()
    words = _essence(str(theirs.value))
    assert words in _essence(str(ours.value))


def _essence(message: str) -> str:
    """Without what Spark puts around it, and on one line."""
    first = message.split("JVM stacktrace")[0]
    return " ".join(first.split())
