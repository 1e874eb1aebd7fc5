import asyncio
import errno
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.faulty_filesystem import FaultyFileSystem
from tests.patience import PATIENCE

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import StorageError
from barnabas.broker.broker import Broker
from barnabas.broker.environment import Environment
from barnabas.broker.runtime import BrokerThread
from barnabas.testing.admin import Admin


def config(directory: Path, **properties: object) -> BrokerConfig:
    """Keys with an underscore for each dot."""
    given = {key.replace("_", "."): str(value) for key, value in properties.items()}
    return BrokerConfig.from_properties(
        {
            "node.id": "3",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(directory / "logs"),
            "barnabas.metadata.store.path": str(directory / "metadata.db"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
        }
        | given
    )


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def test_start_and_stop_leave_the_marker_and_nothing_open(tmp_path: Path) -> None:
    async def scenario() -> None:
        broker = Broker(config(tmp_path))
        await broker.start()
        with socket.create_connection(("127.0.0.1", broker.port), PATIENCE):
            pass
        await broker.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", broker.port), PATIENCE)
        assert (tmp_path / "logs" / ".kafka_cleanshutdown").exists()
        await broker.stop()

    run(scenario)


def test_port_that_is_taken_stops_the_start_before_any_file_is_touched(tmp_path: Path) -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(OSError, match="in use"):
                await Broker(config(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port}")).start()
        assert not list(tmp_path.iterdir())

    run(scenario)


def test_second_broker_on_a_directory_is_refused_and_the_first_works_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Broker(config(tmp_path))
        await first.start()
        other_store = {"barnabas_metadata_store_path": tmp_path / "other.db"}
        with pytest.raises(StorageError, match="in use by another broker"):
            await Broker(config(tmp_path, **other_store)).start()
        with socket.create_connection(("127.0.0.1", first.port), PATIENCE):
            pass
        await first.stop()

    run(scenario)


def test_directory_of_another_broker_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        broker = Broker(config(tmp_path))
        await broker.start()
        await broker.stop()
        with pytest.raises(StorageError, match="belongs to broker 3, not to 4"):
            await Broker(config(tmp_path, node_id=4)).start()

    run(scenario)


def test_store_that_is_no_database_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "metadata.db").write_bytes(b"nonsense" * 1000)
        with pytest.raises(StorageError, match=r"metadata\.db is not a database"):
            await Broker(config(tmp_path)).start()

    run(scenario)


def test_unset_node_id_is_the_one_of_the_directory(tmp_path: Path) -> None:
    async def scenario() -> None:
        broker = Broker(config(tmp_path, node_id=17))
        await broker.start()
        await broker.stop()
        same = config(tmp_path).originals
        unset = {key: value for key, value in same.items() if key not in ("node.id", "broker.id")}
        broker = Broker(BrokerConfig.from_properties(unset))
        await broker.start()
        assert broker.config.broker_id == 17
        await broker.stop()

    run(scenario)


def test_failure_of_the_last_directory_ends_the_broker(tmp_path: Path) -> None:
    async def scenario() -> None:
        fs = FaultyFileSystem()
        broker = Broker(config(tmp_path, log_dirs="/data"), Environment(fs=fs))
        await broker.start()
        fs.fail_write(0, error=errno.ENOSPC)
        await asyncio.to_thread(Admin("127.0.0.1", broker.port).create_topic, "t", 1, {})
        async with asyncio.timeout(PATIENCE):
            await broker.failed.wait()
        assert broker.failure is not None
        assert str(broker.failure).startswith("no log directory is left: /data: ")
        await broker.stop()

    run(scenario)


def test_failure_of_one_of_two_directories_does_not(tmp_path: Path) -> None:
    async def scenario() -> None:
        fs = FaultyFileSystem()
        broker = Broker(config(tmp_path, log_dirs="/data,/more"), Environment(fs=fs))
        await broker.start()
        admin = Admin("127.0.0.1", broker.port)
        fs.fail_write(0, error=errno.ENOSPC)
        await asyncio.to_thread(admin.create_topic, "lost", 1, {})
        fs.heal()
        await asyncio.to_thread(admin.create_topic, "kept", 1, {})
        assert fs.exists("/more/kept-0")
        assert broker.failure is None
        await broker.stop()

    run(scenario)


def test_thread_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "metadata.db").write_bytes(b"nonsense" * 1000)
    thread = BrokerThread(config(tmp_path))
    with pytest.raises(StorageError, match="is not a database"):
        thread.start()


def test_thread_stopped_uncleanly_leaves_no_marker(tmp_path: Path) -> None:
    thread = BrokerThread(config(tmp_path))
    thread.start()
    thread.stop(clean=False)
    assert not (tmp_path / "logs" / ".kafka_cleanshutdown").exists()
    thread.stop()
