from pathlib import Path

import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.store_location import store_directory

LOCAL = "localhost:2181"


@pytest.mark.parametrize(
    "connect", [LOCAL, "127.0.0.1", "localhost:2181/kafka", "127.0.0.1:2181,localhost:2182"]
)
def test_broker_of_the_quickstart_uses_the_store_beside_its_directory(connect: str) -> None:
    assert store_directory(Path("/tmp/kafka-logs-1"), "1", connect) == Path("/tmp/kafka-logs")
    assert store_directory(Path("data-12"), "12", connect) == Path("data")


@pytest.mark.parametrize(
    ("directory", "node_id", "connect"),
    [
        ("/tmp/kafka-logs", "0", LOCAL),
        ("/tmp/kafka-logs-0", "0", LOCAL),
        ("/tmp/kafka-logs-1", "2", LOCAL),
        ("/tmp/kafka-logs-11", "1", LOCAL),
        ("/tmp/kafka-logs1", "1", LOCAL),
        ("/tmp/-1", "1", LOCAL),
        ("/tmp/kafka-logs-1", None, LOCAL),
        ("/tmp/kafka-logs-1", "", LOCAL),
        ("/tmp/kafka-logs-1", "1", None),
        ("/tmp/kafka-logs-1", "1", ""),
        ("/tmp/kafka-logs-1", "1", "zk1:2181"),
        ("/tmp/kafka-logs-1", "1", "localhost:2181,zk2:2181"),
    ],
)
def test_every_other_broker_has_its_own(directory: str, node_id: str | None, connect: str | None) -> None:
    assert store_directory(Path(directory), node_id, connect) == Path(directory)


def test_path_of_the_configuration_wins() -> None:
    properties = {"broker.id": "1", "log.dirs": "/d/logs-1", "zookeeper.connect": LOCAL}
    beside = BrokerConfig.from_properties(properties)
    assert beside.metadata_store_path == Path("/d/logs/.barnabas/metadata.db")
    assert "/d/logs/.barnabas/metadata.db" in beside.warnings[0]
    named = BrokerConfig.from_properties({**properties, "barnabas.metadata.store.path": "/s/m.db"})
    assert named.metadata_store_path == Path("/s/m.db")
