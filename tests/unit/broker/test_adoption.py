from pathlib import Path

import pytest
from tests.unit.broker.test_broker import config
from tests.unit.controller.conftest import register
from tests.unit.storage.support import batch

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import StorageError
from barnabas.base.ids import TopicPartition, random_uuid
from barnabas.broker.adoption import adopt
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.storage.logs import Logs, LogsSettings


@pytest.mark.parametrize("damage", ["0\n1\nnonsense\n", "0\n3\n0 0\n"])
def test_damaged_leader_epochs_are_read_from_the_batches(tmp_path: Path, damage: str) -> None:
    logs = Logs([tmp_path / "logs"], LogsSettings(3, "c"), lambda _: LogConfig())
    logs.open_all()
    logs.create(TopicPartition("t", 0), random_uuid()).append_as_leader(batch(1), 7)
    logs.clean_shutdown()
    (tmp_path / "logs" / "t-0" / "leader-epoch-checkpoint").write_text(damage)
    assert adopt(config(tmp_path), tmp_path / "logs") == {"t": 1}
    store = SqliteStore(tmp_path / "metadata.db")
    cluster = ClusterMetadata(store)
    cluster.load()
    assert cluster.image.topics["t"].partitions[0].leader_epoch == 8
    cluster.close()
    store.close()


def test_brokers_of_the_cluster_must_be_stopped(tmp_path: Path) -> None:
    """Only the controller writes topics while there is one."""
    logs = Logs([tmp_path / "logs"], LogsSettings(3, "c"), lambda _: LogConfig())
    logs.open_all()
    logs.create(TopicPartition("t", 0), random_uuid()).append_as_leader(batch(1), 7)
    logs.clean_shutdown()
    with SqliteStore(tmp_path / "metadata.db") as store:
        cluster = ClusterMetadata(store)
        cluster.load("c")
        register(cluster, 8)
        with pytest.raises(StorageError, match="broker 8 is running on the same metadata store"):
            adopt(config(tmp_path), tmp_path / "logs")
        cluster.close()
