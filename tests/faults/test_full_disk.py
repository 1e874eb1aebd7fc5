"""A disk that is full or fails takes its directory offline, not the broker."""

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode
from tests.faults.conftest import Serve
from tests.faults.reader import read_all
from tests.faults.served import Served
from tests.faults.test_crash import create_topic
from tests.integration.clients.group_requests import (
    commit_offset,
    committed_offset,
    wait_for_coordinator,
)
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, fetch, produce

from barnabas.testing.admin import Admin

_SMALL_DISK = 4 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB, where the machine lets us have one."""
    path = tmp_path / "small"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SMALL_DISK}", "tmpfs", str(path)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small file system; the limit of file sizes is tested instead")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def _fill(client: RawClient, topic: str) -> tuple[int, ErrorCode]:
    """Produce until the disk is full: batches that were acknowledged, and the error that ended it."""
    for number in range(200):
        answer = produce(client, topic, batch(os.urandom(100_000)))
        if answer.error_code != 0:
            return number, answer.error_code
    raise AssertionError("the disk does not get full")


def _topics_in(broker: Served) -> tuple[str, str]:
    """A topic in the first directory and one in the second: they are given out in turn."""
    for name in ("one", "two"):
        create_topic(broker, name, {})
    first, second = (
        next(topic for topic in ("one", "two") if (directory / f"{topic}-0").exists())
        for directory in broker.log_dirs
    )
    return first, second


def _assert_only_the_first_is_lost(broker: Served, lost: str, kept: str) -> None:
    with RawClient(broker.port) as client:
        assert produce(client, lost, batch(b"again")).error_code == ErrorCode.kafka_storage_error
        assert fetch(client, lost, 0).error_code == ErrorCode.kafka_storage_error
        assert produce(client, kept, batch(b"on")).error_code == 0
        assert read_all(client, kept)[-1].value == b"on"
    create_topic(broker, "new", {})
    assert (broker.log_dirs[1] / "new-0").is_dir()
    assert len([line for line in broker.lines if "goes offline" in line]) == 1
    broker.assert_no_traceback()


def test_full_disk_takes_its_directory_offline(serve: Serve, small_disk: Path, tmp_path: Path) -> None:
    store = {"barnabas.metadata.store.path": tmp_path / "metadata.db"}
    broker = serve(store, log_dirs=[small_disk / "logs", tmp_path / "large"]).start()
    lost, kept = _topics_in(broker)
    with RawClient(broker.port) as client:
        acknowledged, error = _fill(client, lost)
        assert error == ErrorCode.kafka_storage_error
        assert acknowledged > 10
    _assert_only_the_first_is_lost(broker, lost, kept)
    broker.stop()
    # With room again everything acknowledged is there.
    subprocess.run(["mount", "-o", f"remount,size={_SMALL_DISK * 4}", str(small_disk)], check=True)
    broker.start()
    with RawClient(broker.port) as client:
        assert len(read_all(client, lost)) == acknowledged
        assert produce(client, lost, batch(b"more")).base_offset == acknowledged


def test_file_that_cannot_grow_takes_its_directory_offline(serve: Serve, tmp_path: Path) -> None:
    broker = serve(log_dirs=[tmp_path / "a", tmp_path / "b"]).start()
    lost, kept = _topics_in(broker)
    resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (6 << 20, resource.RLIM_INFINITY))
    with RawClient(broker.port) as client:
        acknowledged, error = _fill(client, lost)
        assert error == ErrorCode.kafka_storage_error
    _assert_only_the_first_is_lost(broker, lost, kept)
    broker.stop()
    broker.start()
    with RawClient(broker.port) as client:
        assert len(read_all(client, lost)) == acknowledged


def test_offsets_that_cannot_be_written_are_refused_and_those_before_are_kept(
    serve: Serve, tmp_path: Path
) -> None:
    broker = serve({"offsets.topic.num.partitions": 1}, log_dirs=[tmp_path / "a", tmp_path / "b"]).start()
    create_topic(broker, "t", {})
    wait_for_coordinator(broker.port, "g")
    resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    acknowledged = 0
    with RawClient(broker.port) as client:
        while (code := commit_offset(client, "g", "t", acknowledged + 1, metadata="x" * 4000)) == 0:
            acknowledged += 1
        assert code == ErrorCode.not_coordinator
        assert acknowledged > 100
    broker.assert_no_traceback()
    broker.stop()
    broker.start()
    wait_for_coordinator(broker.port, "g")
    with RawClient(broker.port) as client:
        assert committed_offset(client, "g", "t") == acknowledged


def test_failed_produce_without_acks_closes_the_connection(serve: Serve, tmp_path: Path) -> None:
    broker = serve(log_dirs=[tmp_path / "a", tmp_path / "b"]).start()
    lost, _ = _topics_in(broker)
    resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    with RawClient(broker.port) as client:
        _fill(client, lost)
        fields = {"transactional_id": None, "acks": 0, "timeout": 1000}
        partitions = [{"index": 0, "records": batch(b"x")}]
        client.send("produce", 9, **fields, topic_data=[{"name": lost, "partition_data": partitions}])
        assert client.is_closed_by_the_broker()


def test_broker_with_no_directory_left_stops_with_one_line(serve: Serve, tmp_path: Path) -> None:
    store = {"barnabas.metadata.store.path": tmp_path / "store" / "metadata.db"}
    broker = serve(store, log_dirs=[tmp_path / "a", tmp_path / "b"]).start()
    topics = _topics_in(broker)
    broker.forget_lines()
    resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (2 << 20, resource.RLIM_INFINITY))
    with RawClient(broker.port) as client:
        for topic in topics:
            assert _fill(client, topic)[1] == ErrorCode.kafka_storage_error
    assert broker.wait() == 1
    assert broker.lines[-1].startswith("barnabas: no log directory is left")
    assert os.strerror(errno.EFBIG) in broker.lines[-1]
    broker.assert_no_traceback()


def test_directory_that_cannot_be_used_is_left_out_at_the_start(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    broker = serve(log_dirs=[tmp_path / "good", tmp_path / "file" / "below"]).start()
    create_topic(broker, "t", {})
    assert (tmp_path / "good" / "t-0").is_dir()
    assert any("goes offline" in line for line in broker.lines)
    broker.assert_no_traceback()
    assert Admin("127.0.0.1", broker.port).list_topics() == {"t"}


def test_no_usable_directory_at_the_start_is_one_line(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    broker = serve(
        {"barnabas.metadata.store.path": tmp_path / "metadata.db"}, log_dirs=[tmp_path / "file" / "below"]
    ).spawn()
    assert not broker.becomes_ready()
    assert broker.wait() == 1
    assert len([line for line in broker.lines if line.startswith("barnabas: ")]) == 1
    broker.assert_no_traceback()
