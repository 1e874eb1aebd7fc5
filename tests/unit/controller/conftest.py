import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.listeners import Listener
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.topics import TopicAdmin
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.sqlite_store import SqliteStore

Connect = Callable[[], ClusterMetadata]


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    opened: list[ClusterMetadata] = []

    def open_one() -> ClusterMetadata:
        cluster = ClusterMetadata(SqliteStore(tmp_path / "metadata.db"))
        opened.append(cluster)
        cluster.load()
        return cluster

    yield open_one
    for cluster in opened:
        cluster.close()
        cluster.store.close()


@pytest.fixture
def cluster(connect: Connect) -> ClusterMetadata:
    """One broker, number 0, which is the controller."""
    cluster = connect()
    cluster.join(0, [Listener("PLAINTEXT", "PLAINTEXT", "localhost", 9092)])
    return cluster


@pytest.fixture
def settings() -> BrokerConfig:
    return BrokerConfig.from_properties({"broker.id": "0", "num.partitions": "3", "log.dirs": "/nowhere"})


@pytest.fixture
def admin(cluster: ClusterMetadata, settings: BrokerConfig) -> TopicAdmin:
    return TopicAdmin(cluster, settings, random.Random(1))


@pytest.fixture
def configs(cluster: ClusterMetadata, settings: BrokerConfig) -> ConfigAdmin:
    return ConfigAdmin(cluster, settings)


@pytest.fixture
def three_brokers(cluster: ClusterMetadata) -> ClusterMetadata:
    for broker_id in (1, 2):
        cluster.register_broker(
            broker_id, [Listener("PLAINTEXT", "PLAINTEXT", "localhost", 9092 + broker_id)]
        )
    return cluster
