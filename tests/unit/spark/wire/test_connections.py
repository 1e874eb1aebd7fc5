import os

from tests.unit.spark.wire.log_broker import LogBroker

from barnabas.client.address import parse_addresses
from barnabas.client.settings import ClientSettings
from barnabas.spark.wire.connections import cluster_for, drop


def _settings(broker: LogBroker, **changed: float) -> ClientSettings:
    return ClientSettings(tuple(parse_addresses(broker.script.address)), **changed)  # type: ignore[arg-type]


def test_equal_settings_share_a_cluster_until_it_is_dropped() -> None:
    with LogBroker() as broker:
        cluster = cluster_for(_settings(broker))
        assert cluster_for(_settings(broker)) is cluster
        other = cluster_for(_settings(broker, api_timeout=7.0))
        assert other is not cluster
        cluster.metadata([])
        connection = cluster.connection()
        drop(_settings(broker))
        assert not connection.is_open
        assert cluster_for(_settings(broker)) is not cluster
        drop(_settings(broker))
        drop(_settings(broker, api_timeout=7.0))


def test_forked_process_opens_its_own_and_leaves_the_parents_alone() -> None:
    with LogBroker() as broker:
        settings = _settings(broker)
        cluster = cluster_for(settings)
        cluster.metadata([])
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            mine = cluster_for(settings)
            mine.metadata([])
            os.write(writing, b"same" if mine is cluster else b"own")
            os._exit(0)
        os.close(writing)
        with open(reading, "rb") as received:
            assert received.read() == b"own"
        assert os.waitpid(child, 0)[1] == 0
        assert broker.script.connections == 2
        cluster.metadata([])
        assert broker.script.connections == 2
        drop(settings)
