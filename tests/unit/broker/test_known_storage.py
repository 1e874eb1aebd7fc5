"""The start fails if storage of the last start is missing, and says what is missing."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from tests.unit.storage.support import batch

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import StorageError
from barnabas.base.ids import TopicPartition
from barnabas.broker.adoption import adopt
from barnabas.broker.broker import Broker
from barnabas.broker.known_storage import find_store
from barnabas.testing.admin import Admin

TP = TopicPartition("t", 0)


def config(*log_dirs: Path, **properties: object) -> BrokerConfig:
    """Keys with an underscore for each dot."""
    given = {key.replace("_", "."): str(value) for key, value in properties.items()}
    return BrokerConfig.from_properties(
        {
            "node.id": "3",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": ",".join(map(str, log_dirs)),
        }
        | given
    )


def start(settings: BrokerConfig, *, partitions: int = 0, clean: bool = True) -> dict[str, int]:
    """Start and stop a broker, with one more record in each partition. Returns the log ends before that."""

    async def scenario() -> dict[str, int]:
        broker = Broker(settings)
        await broker.start()
        if partitions:
            await asyncio.to_thread(Admin("127.0.0.1", broker.port).create_topic, "t", partitions, {})
        ends = {}
        for partition in list(broker._partitions):
            ends[str(partition.topic_partition)] = partition.log.log_end_offset
            partition.append(batch(1), -1)
        await broker.stop(clean=clean)
        return ends

    return asyncio.run(scenario())


def refusal(settings: BrokerConfig) -> str:
    with pytest.raises(StorageError) as caught:
        start(settings)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("clean", [True, False])
def test_store_is_found_behind_a_directory_that_was_put_in_front(tmp_path: Path, clean: bool) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    start(config(old), partitions=2, clean=clean)
    assert start(config(new, old)) == {"t-0": 1, "t-1": 1}
    assert not (new / ".barnabas").exists()
    assert start(config(old, new)) == {"t-0": 2, "t-1": 2}


def test_two_stores_are_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    start(config(first))
    start(config(second))
    message = refusal(config(first, second))
    assert str(first) in message
    assert str(second) in message
    assert "barnabas.metadata.store.path" in message


@pytest.mark.parametrize("clean", [True, False])
def test_missing_store_is_refused_where_there_are_partitions(tmp_path: Path, clean: bool) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    start(config(first, second), partitions=2, clean=clean)
    shutil.rmtree(first)
    first.mkdir()
    for _ in range(2):
        message = refusal(config(first, second))
        assert f"no metadata store at {first}/.barnabas/metadata.db" in message
        assert f"{second} holds 1 partitions" in message
        assert "--accept-data-loss metadata-store" in message
        assert list(first.iterdir()) == []
    assert start(config(first, second, barnabas_accept_data_loss="metadata-store")) == {}
    assert start(config(first, second)) == {}


def test_partitions_of_a_lost_store_can_be_adopted(tmp_path: Path) -> None:
    start(config(tmp_path), partitions=2)
    shutil.rmtree(tmp_path / ".barnabas")
    assert f"barnabas adopt {tmp_path}" in refusal(config(tmp_path))
    assert adopt(config(tmp_path), tmp_path) == {"t": 2}
    assert start(config(tmp_path)) == {"t-0": 1, "t-1": 1}


def test_store_at_a_configured_path_is_missed_as_well(tmp_path: Path) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store.db"
    start(config(logs, barnabas_metadata_store_path=store), partitions=1)
    store.rename(tmp_path / "moved.db")
    assert str(store) in refusal(config(logs, barnabas_metadata_store_path=store))
    assert not store.exists()
    assert start(config(logs, barnabas_metadata_store_path=tmp_path / "moved.db")) == {"t-0": 1}


@pytest.mark.parametrize("clean", [True, False])
def test_empty_mount_point_instead_of_a_directory_is_refused(tmp_path: Path, clean: bool) -> None:
    first, second, away = tmp_path / "first", tmp_path / "second", tmp_path / "away"
    start(config(first, second), partitions=2, clean=clean)
    second.rename(away)
    second.mkdir()
    for _ in range(2):
        message = refusal(config(first, second))
        assert f"log directory {second} (directory.id " in message
        assert "--accept-data-loss log-directories" in message
        assert list(second.iterdir()) == []
    second.rmdir()
    away.rename(second)
    assert start(config(first, second)) == {"t-0": 1, "t-1": 1}


def test_loss_of_a_directory_is_accepted_once(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    start(config(first, second), partitions=2)
    shutil.rmtree(second)
    accepting = config(first, second, barnabas_accept_data_loss="log-directories")
    assert sorted(start(accepting).values()) == [0, 1]
    assert sorted(start(config(first, second)).values()) == [1, 2]


def test_directory_that_left_log_dirs_is_missed(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    start(config(first, second), partitions=2)
    assert f"log directory {second} " in refusal(config(first))
    assert "is not in log.dirs" in refusal(config(first))


def test_directory_is_known_by_its_id_and_not_by_its_path(tmp_path: Path) -> None:
    first, second, third = tmp_path / "first", tmp_path / "second", tmp_path / "third"
    start(config(first, second), partitions=2)
    second.rename(third)
    assert start(config(first, third)) == {"t-0": 1, "t-1": 1}


def test_directory_that_cannot_be_read_is_offline_and_not_missing(tmp_path: Path) -> None:
    first, second, away = tmp_path / "first", tmp_path / "second", tmp_path / "away"
    start(config(first, second))
    second.rename(away)
    second.write_text("no directory")
    start(config(first, second))
    second.unlink()
    second.mkdir()
    refusal(config(first, second))


def test_missing_partition_is_refused_after_a_clean_stop(tmp_path: Path) -> None:
    start(config(tmp_path), partitions=5)
    for number in range(5):
        (tmp_path / f"t-{number}").rename(tmp_path / f"kept{number}")
    for _ in range(2):
        message = refusal(config(tmp_path))
        assert f"partition t-0 (with records up to offset 1) is not in {tmp_path}" in message
        assert "and 2 more" in message
        assert "--accept-data-loss partitions" in message
    (tmp_path / "kept0").rename(tmp_path / "t-0")
    ends = start(config(tmp_path, barnabas_accept_data_loss="partitions"))
    assert ends == {"t-0": 1, "t-1": 0, "t-2": 0, "t-3": 0, "t-4": 0}
    assert start(config(tmp_path))["t-1"] == 1


def test_deleted_topic_is_not_missed(tmp_path: Path) -> None:
    start(config(tmp_path), partitions=1)

    async def delete() -> None:
        broker = Broker(config(tmp_path))
        await broker.start()
        await asyncio.to_thread(Admin("127.0.0.1", broker.port).delete_topics, ["t"])
        await broker.stop()

    asyncio.run(delete())
    assert start(config(tmp_path)) == {}


def test_store_beside_the_log_directory_is_shared_unless_the_broker_has_its_own(tmp_path: Path) -> None:
    """Broker 3 with logs-3 and a local zookeeper.connect, as in Kafka's quickstart."""
    own, beside = tmp_path / "logs-3", tmp_path / "logs"
    settings = config(own, zookeeper_connect="localhost:2181")
    shared = beside / ".barnabas" / "metadata.db"
    assert find_store(settings) == shared
    shared.parent.mkdir(parents=True)
    shared.touch()
    assert find_store(settings) == shared
    assert find_store(config(own)) == own / ".barnabas" / "metadata.db"
    (own / ".barnabas").mkdir(parents=True)
    (own / ".barnabas" / "metadata.db").touch()
    assert find_store(settings) == own / ".barnabas" / "metadata.db"


def test_store_beside_the_log_directory_is_refused_if_it_is_another_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(StorageError, match="logs belongs to another user"):
        find_store(config(tmp_path / "logs-3", zookeeper_connect="localhost:2181"))


def test_log_directory_of_another_cluster_does_not_join_the_store_beside_it(tmp_path: Path) -> None:
    own, beside = tmp_path / "logs-3", tmp_path / "logs"
    start(config(own))
    start(config(beside, node_id=0))
    shutil.rmtree(own / ".barnabas")
    with pytest.raises(StorageError, match="belongs to cluster"):
        start(config(own, zookeeper_connect="localhost:2181"))
