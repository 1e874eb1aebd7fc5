"""`spark.readStream.format("barnabas")` against a running broker."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from tests.integration.spark.queries import Collected, Queries, eventually, numbered, produce
from tests.integration.spark.test_batch_read import delete_records
from tests.patience import PATIENCE, PROGRAM_PATIENCE

from barnabas.client.admin.group_offsets import committed_offsets
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.spark import progress
from barnabas.testing import Broker

pytestmark = pytest.mark.needs("pyspark", "java")


@pytest.mark.kafka_topic(partitions=2)
def test_runs_to_the_end_of_the_data_continue_each_other(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 10))
    produce(kafka_broker, kafka_topic, numbered(10, 15), partition=1)
    assert queries.available_now(kafka_topic).values == numbered(0, 15)
    produce(kafka_broker, kafka_topic, numbered(15, 17))
    more = queries.available_now(kafka_topic)
    assert more.of_batch(1) == [numbered(15, 17)]
    assert list(more.batches) == [1]
    nothing = queries.available_now(kafka_topic)
    assert not nothing.batches
    assert queries.offsets(1) == {kafka_topic: {"0": 12, "1": 5}}
    assert _described(kafka_broker, kafka_topic) == {
        (f"spark-kafka-source-{_query_id(queries)}", 0, 12, 0)
    } | {(f"spark-kafka-source-{_query_id(queries)}", 1, 5, 0)}


def test_the_first_batch_run_again_reads_the_same(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 10))
    assert queries.available_now(kafka_topic).of_batch(0) == [numbered(0, 10)]
    _forget_commit(queries)
    produce(kafka_broker, kafka_topic, numbered(10, 12))
    again = queries.available_now(kafka_topic, {"startingOffsets": "latest"})
    assert again.of_batch(0) == [numbered(0, 10)]
    assert again.of_batch(1) == [numbered(10, 12)]
    assert queries.offsets(1) == {kafka_topic: {"0": 12}}


def test_what_comes_after_an_empty_first_batch_is_not_lost_when_that_runs_again(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    produce(kafka_broker, kafka_topic, ["before"])
    latest = {"startingOffsets": "latest", "kafka.group.id": "steady"}
    assert queries.available_now(kafka_topic, latest).values == []
    assert _committed(kafka_broker, "steady") == {(kafka_topic, 0): 1}
    _forget_commit(queries)
    produce(kafka_broker, kafka_topic, numbered(0, 5))
    again = queries.available_now(kafka_topic, latest)
    assert again.of_batch(0) == [[]]
    assert again.of_batch(1) == [numbered(0, 5)]
    assert _committed(kafka_broker, "steady") == {(kafka_topic, 0): 6}


@pytest.mark.kafka_topic(partitions=2)
def test_a_limit_is_shared_in_proportion(queries: Queries, kafka_broker: Broker, kafka_topic: str) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 90))
    produce(kafka_broker, kafka_topic, numbered(90, 100), partition=1)
    collected = queries.available_now(kafka_topic, {"maxOffsetsPerTrigger": "50", "includeHeaders": "true"})
    assert [len(run) for runs in collected.batches.values() for run in runs] == [50, 50]
    assert queries.offsets(0)[kafka_topic] == {"0": 45, "1": 5}
    assert collected.values == numbered(0, 100)


def test_a_running_query_waits_for_enough_and_runs_no_empty_batches(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 1))
    collected = Collected()
    options = {"startingOffsets": "earliest", "minOffsetsPerTrigger": "3", "maxTriggerDelay": "1h"}
    query = queries.start(kafka_topic, options, into=collected)
    eventually(lambda: collected.values == numbered(0, 1))  # the first one never waits
    produce(kafka_broker, kafka_topic, numbered(1, 3))
    query.processAllAvailable()
    assert collected.values == numbered(0, 1)
    produce(kafka_broker, kafka_topic, numbered(3, 4))
    eventually(lambda: collected.values == numbered(0, 4))
    query.processAllAvailable()
    assert sorted(collected.batches) == [0, 1]
    progress = query.lastProgress
    assert progress is not None
    assert json.loads(progress["sources"][0]["latestOffset"]) == {kafka_topic: {"0": 4}}


def test_new_partitions_are_read_from_their_start(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 2))
    assert queries.available_now(kafka_topic).values == numbered(0, 2)
    admin = AdminClient({"bootstrap.servers": kafka_broker.bootstrap_servers})
    admin.create_partitions([NewPartitions(kafka_topic, 3)])[kafka_topic].result(PATIENCE)
    produce(kafka_broker, kafka_topic, numbered(2, 5), partition=2)
    found = queries.available_now(kafka_topic, {"startingOffsets": "latest"})
    assert found.values == numbered(2, 5)
    assert queries.offsets(1) == {kafka_topic: {"0": 2, "1": 0, "2": 3}}


def test_a_stream_reads_committed_records_only_when_they_are(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    committed = {"kafka.isolation.level": "read_committed"}
    producer = Producer(
        {"bootstrap.servers": kafka_broker.bootstrap_servers, "transactional.id": kafka_topic}
    )
    producer.init_transactions()
    for value in ("first", "second"):
        producer.begin_transaction()
        producer.produce(kafka_topic, value)
        producer.flush()
        if value == "first":
            producer.commit_transaction()
    assert queries.available_now(kafka_topic, committed).values == ["first"]
    producer.commit_transaction()
    assert queries.available_now(kafka_topic, committed).values == ["second"]


def test_gaps_of_compaction_and_transactions_are_no_loss(queries: Queries, golden_broker: Broker) -> None:
    """As Apache Kafka wrote them, with offsets missing everywhere, the last ones of a log too."""
    committed = {"kafka.isolation.level": "read_committed", "minPartitions": "6"}
    streamed = queries.available_now("txn,compact", committed, broker=golden_broker)
    rows = queries.rows("txn,compact", committed, broker=golden_broker)
    assert [tuple(row) for row in rows] == [tuple(row) for row in streamed.batches[0][0]]
    assert any(later.offset > earlier.offset + 1 for earlier, later in itertools.pairwise(rows))


def test_loss_fails_a_stream_with_the_range_or_is_passed_over(
    queries: Queries, kafka_broker: Broker, kafka_topic: str, tmp_path: Path
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 2))
    queries.available_now(kafka_topic)
    produce(kafka_broker, kafka_topic, numbered(2, 10))
    delete_records(kafka_broker, kafka_topic, 5, tmp_path)
    with pytest.raises(Exception, match=rf"{kafka_topic}-0: offsets 2\.\.4 are lost \(log starts at 5\)"):
        queries.available_now(kafka_topic)
    assert queries.available_now(kafka_topic, {"failOnDataLoss": "false"}).values == numbered(5, 10)
    kafka_broker.delete_topic(kafka_topic)
    quick = {"fetchOffset.retryIntervalMs": "1"}
    with pytest.raises(
        Exception, match=rf"{kafka_topic}-0: offsets from 10 on are lost \(the partition was del"
    ):
        queries.available_now(kafka_topic, quick)
    assert not (queries.checkpoint / "offsets" / "2").exists(), "Spark would insist on the end it wrote down"


def test_a_topic_created_anew_fails_a_stream_or_is_read_from_its_beginning(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 5))
    assert queries.available_now(kafka_topic).values == numbered(0, 5)
    _create_anew(kafka_broker, kafka_topic)
    produce(kafka_broker, kafka_topic, numbered(100, 120))  # more than before: offset 5 exists
    with pytest.raises(
        Exception, match=rf"{kafka_topic}: the topic was deleted and created anew \(its id was"
    ):
        queries.available_now(kafka_topic)
    assert not (queries.checkpoint / "offsets" / "1").exists(), "Spark would insist on the end it wrote down"
    lenient = {"failOnDataLoss": "false"}
    assert queries.available_now(kafka_topic, lenient).values == numbered(100, 120)
    assert queries.available_now(kafka_topic).values == []


def test_a_batch_that_runs_again_reads_no_other_topic_of_the_same_name(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 5))
    assert queries.available_now(kafka_topic).values == numbered(0, 5)
    _forget_commit(queries)
    _create_anew(kafka_broker, kafka_topic)
    produce(kafka_broker, kafka_topic, numbered(100, 120))
    with pytest.raises(Exception, match=rf"{kafka_topic}: the topic was deleted and created anew"):
        queries.available_now(kafka_topic)
    again = queries.available_now(kafka_topic, {"failOnDataLoss": "false"})
    assert again.of_batch(0) == [[]]
    assert again.of_batch(1) == [numbered(100, 120)]


def test_a_broker_that_is_killed_and_comes_back_is_survived(
    queries: Queries, kafka_topic: str, tmp_path: Path
) -> None:
    with Broker(process=True) as broker:
        broker.create_topic("steady")
        produce(broker, "steady", numbered(0, 3))
        collected = Collected()
        query = queries.start("steady", {"startingOffsets": "earliest"}, into=collected, broker=broker)
        eventually(lambda: collected.values == numbered(0, 3))
        broker.kill()
        broker.start()
        produce(broker, "steady", numbered(3, 6))
        eventually(lambda: collected.values == numbered(0, 6))
        assert query.isActive
        query.stop()


def test_progress_that_is_tracked_asynchronously_skips_nothing(
    queries: Queries, kafka_broker: Broker, kafka_topic: str
) -> None:
    """Spark writes some of the batches down only: a restart goes on from one that was, and reads again."""

    def run() -> list[dict[str, Any]]:
        stream = queries.spark.readStream.format("barnabas").options(
            **{"kafka.bootstrap.servers": kafka_broker.bootstrap_servers, "subscribe": kafka_topic},
            startingOffsets="earliest",
            maxOffsetsPerTrigger="3",
        )
        writer = stream.load().writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(queries.checkpoint))
        writer = writer.options(
            asyncProgressTrackingEnabled="true", asyncProgressTrackingCheckpointIntervalMs="3600000"
        )
        query = writer.start()
        query.processAllAvailable()
        reports = [each for report in query.recentProgress if (each := progress(report)) is not None]
        query.stop()
        return [each["sources"][0] for each in reports if each["numInputRows"]]

    produce(kafka_broker, kafka_topic, numbered(0, 10))
    first = run()
    assert [each["numInputRows"] for each in first] == [3, 3, 3, 1]
    produce(kafka_broker, kafka_topic, numbered(10, 12))
    again = run()
    assert again[0]["startOffset"] in [each["endOffset"] for each in first]
    assert again[-1]["endOffset"] == {kafka_topic: {"0": 12}}
    assert sum(each["numInputRows"] for each in again) >= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endingOffsets": "latest"}, "ending offset not valid in streaming queries"),
        ({"kafka.enable.auto.commit": "true"}, "Kafka option 'enable.auto.commit' is not supported"),
        ({"kafka.security.protocol": "SSL"}, "kafka.security.protocol=SSL is not supported yet"),
        ({"subscribePattern": "["}, r"subscribePattern '\[' is no regular expression"),
    ],
)
def test_bad_options_are_refused(
    queries: Queries, kafka_topic: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(Exception, match=message) as refused:
        queries.available_now(kafka_topic, options)
    assert "UnboundLocalError" not in str(refused.value)


def _create_anew(broker: Broker, topic: str) -> None:
    broker.delete_topic(topic)
    eventually(lambda: topic not in _admin(broker).list_topics(timeout=PATIENCE).topics)
    broker.create_topic(topic)


def _admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap_servers})


def _forget_commit(queries: Queries) -> None:
    """As if the first batch had died just before its end."""
    (queries.checkpoint / "commits" / "0").unlink()
    (queries.checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)


def _query_id(queries: Queries) -> str:
    text = (queries.checkpoint / "metadata").read_text()
    return text.split('"')[3]


def _committed(broker: Broker, group: str) -> dict[tuple[str, int], int]:
    with Cluster(ClientSettings.of(broker.bootstrap_servers)) as cluster:
        return {partition: each.offset for partition, each in committed_offsets(cluster, group).items()}


def _described(broker: Broker, topic: str) -> set[tuple[str, int, int, int]]:
    """Group, partition, offset and lag, as `kafka-consumer-groups` prints them."""
    command = [
        sys.executable,
        "-c",
        "from barnabas.cli.kafka.consumer_groups import main; main()",
        "--bootstrap-server",
        broker.bootstrap_servers,
        "--describe",
        "--all-groups",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_PATIENCE, check=False)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {
        (row[0], int(row[2]), int(row[3]), int(row[5])) for row in rows if len(row) > 5 and row[1] == topic
    }
