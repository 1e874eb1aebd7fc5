import pytest
from tests.integration.spark_wire.rows import read, rows
from tests.patience import PATIENCE

from barnabas.client.admin.offsets import end_offsets
from barnabas.client.admin.topics import create_topic, delete_topics
from barnabas.client.cluster import Cluster
from barnabas.records.compression import CODEC_NAMES
from barnabas.spark.wire.errors import OffsetOutOfRange, RecordTooLarge
from barnabas.spark.wire.partition_fetch import FetchSettings
from barnabas.spark.wire.produce_settings import ProduceSettings
from barnabas.spark.wire.producer import Producer


@pytest.mark.parametrize("codec", range(5), ids=CODEC_NAMES)
def test_rows_come_back_in_order(cluster: Cluster, name: str, codec: int) -> None:
    with Producer(cluster, ProduceSettings(codec=codec, batch_bytes=20_000)) as producer:
        assert producer.partition_count(name) == 1
        for first in range(0, 10_000, 1000):
            producer.send(name, 0, rows(first, 1000))
        producer.flush()
    settings = FetchSettings(poll_timeout=PATIENCE, partition_max_bytes=50_000)
    assert read(cluster, name, 10_000, settings=settings) == list(range(10_000))


def test_topic_comes_to_be_by_being_written_to(cluster: Cluster, name: str) -> None:
    with Producer(cluster, ProduceSettings()) as producer:
        producer.send(name, 0, rows(0, 10))
        producer.flush()
    assert read(cluster, name, 10) == list(range(10))


@pytest.mark.parametrize("acks", [0, 1])
def test_fewer_acks_deliver_too(cluster: Cluster, name: str, acks: int) -> None:
    with Producer(cluster, ProduceSettings(acks=acks, is_idempotent=False)) as producer:
        producer.partition_count(name)
        producer.send(name, 0, rows(0, 1000))
        producer.flush()
    assert read(cluster, name, 1000) == list(range(1000))


def test_topic_of_small_batches_gets_small_batches(cluster: Cluster, name: str) -> None:
    _create(cluster, name, {"max.message.bytes": "3000"})
    with Producer(cluster, ProduceSettings(batch_bytes=20_000)) as producer:
        for first in range(0, 3000, 1000):
            producer.send(name, 0, rows(first, 1000))
        producer.flush()
        assert read(cluster, name, 3000) == list(range(3000))
        producer.send(name, 0, rows(0, 1, size=4000))
        with pytest.raises(RecordTooLarge, match=r"A record of 4\d\d\d bytes"):
            producer.flush()


def test_offset_beyond_the_end_is_out_of_range(cluster: Cluster, name: str) -> None:
    with Producer(cluster, ProduceSettings()) as producer:
        producer.send(name, 0, rows(0, 10))
        producer.flush()
    with pytest.raises(OffsetOutOfRange) as failure:
        read(cluster, name, 50, start=40)
    assert (failure.value.requested, failure.value.log_start, failure.value.end) == (40, 0, 10)


def test_broker_that_lost_the_producer_is_written_to_all_the_same(cluster: Cluster, name: str) -> None:
    """Its topic was deleted and created again: no broker knows of the sequences any more."""
    with Producer(cluster, ProduceSettings(retry_backoff=0.01)) as producer:
        producer.send(name, 0, rows(0, 10))
        producer.flush()
        delete_topics(cluster, [name])
        producer.send(name, 0, rows(10, 10))
        producer.flush()
    end = end_offsets(cluster, [(name, 0)])[name, 0]
    assert read(cluster, name, end)[-10:] == list(range(10, 20))


def _create(cluster: Cluster, name: str, configs: dict[str, str]) -> None:
    create_topic(cluster, name, partitions=1, replicas=1, configs=configs)
