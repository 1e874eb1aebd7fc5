"""What the mirror remembers of offsets is taken in whole, also while it is being written."""

import pytest
from confluent_kafka import Producer

from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.pipelines.mirror.offset_map import OffsetRun, Stretch, to_json
from barnabas.testing import Broker

pytestmark = pytest.mark.needs("pyspark")
PARTITION = ("orders", 0)


def stretch(number: int) -> Stretch:
    """Ten records each, with a marker behind them at the target."""
    first, target = 10 * number, 11 * number
    return Stretch(first, first + 10, target, target + 11, (OffsetRun(first, 10),))


def test_a_stretch_that_is_not_committed_yet_is_taken_in_when_it_is(
    kafka_broker: Broker, kafka_topic: str
) -> None:
    from barnabas.pipelines.mirror.offset_log import OffsetLog

    servers = kafka_broker.bootstrap_servers
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "mirror"})
    producer.init_transactions(30)
    log = OffsetLog(servers, kafka_topic)
    with Cluster(ClientSettings.of(servers)) as cluster:
        for number in range(3):
            producer.begin_transaction()
            producer.produce(kafka_topic, to_json(PARTITION, stretch(number)), partition=0)
            assert producer.flush(30) == 0
            # Open: it is behind the end of the log, and before its last stable offset nothing is new.
            end_before = 11 * number if number else None
            assert log.read(cluster).translate(PARTITION, 10 * number + 5) == end_before
            producer.commit_transaction(30)
            if number != 1:
                assert log.read(cluster).translate(PARTITION, 10 * number + 5) == 11 * number + 5
    assert log.map.translate(PARTITION, 15) == 16
