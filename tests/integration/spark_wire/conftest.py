"""Both brokers, Barnabas and Apache Kafka, for the same tests of the connector's data plane."""

import os
import re
from collections.abc import Iterator

import pytest
from benchmarks.apache_kafka import ApacheKafka, default_cache
from tests.integration.tools.apache_tools import JVM

from barnabas.client.cluster import Cluster
from barnabas.spark.wire.cluster_settings import client_settings
from barnabas.testing import Broker

_APACHE_SETTINGS = """offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
min.insync.replicas=1
group.initial.rebalance.delay.ms=0
log.retention.hours=-1
"""
"""No retention by time, as in `barnabas.testing`: the rows of these tests have old timestamps."""


@pytest.fixture(scope="session")
def kafka_broker_session() -> Iterator[Broker]:
    with Broker(process=True) as broker:
        yield broker


@pytest.fixture(scope="session")
def apache_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kafka = ApacheKafka.fetch(default_cache(), (*JVM, "-Xmx512M"))
    broker = kafka.launch(tmp_path_factory.mktemp("apache-kafka"), _APACHE_SETTINGS)
    yield f"127.0.0.1:{broker.port}"
    broker.stop()


@pytest.fixture(
    params=[
        "barnabas",
        pytest.param("apache", marks=[pytest.mark.maven, pytest.mark.needs("javac", "apache-kafka")]),
    ]
)
def servers(request: pytest.FixtureRequest) -> str:
    if request.param == "apache":
        return str(request.getfixturevalue("apache_servers"))
    return str(request.getfixturevalue("kafka_broker").bootstrap_servers)


@pytest.fixture
def cluster(servers: str) -> Iterator[Cluster]:
    with Cluster(client_settings({"bootstrap.servers": servers})) as found:
        yield found


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Of a topic, a group or a transaction that no other test uses."""
    words = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")
    return f"{words[:60]}-{os.urandom(4).hex()}"
