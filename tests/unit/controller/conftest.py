import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.controller.members import Connect, Members

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.listeners import Listener
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.decision_writes import activation
from barnabas.controller.topics import TopicAdmin
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import NO_CONTROLLER
from barnabas.metadata.membership import LogHistory, Membership
from barnabas.metadata.sqlite_store import SqliteStore


def register(cluster: ClusterMetadata, broker_id: int) -> Membership:
    """Register a broker in the session of `cluster`, and activate it."""
    listener = Listener("PLAINTEXT", "PLAINTEXT", "localhost", 9092 + broker_id)
    membership = Membership(cluster, broker_id, [listener])
    if cluster.image.controller_id == NO_CONTROLLER:
        membership.join(LogHistory())
    else:
        membership.register(LogHistory())
    cluster.transaction([activation(cluster.store, cluster.image.registrations[broker_id])])
    return membership


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
    register(cluster, 0)
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
        register(cluster, broker_id)
    return cluster


@pytest.fixture
def members(connect: Connect, settings: BrokerConfig) -> Members:
    """Brokers 0, 1 and 2, each with a session of its own. Broker 0 is the controller."""
    found = Members(connect, settings)
    for broker_id in (0, 1, 2):
        found.start(broker_id)
    return found
