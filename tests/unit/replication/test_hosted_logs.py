"""Which log a partition gets: its own or a new one, never that of a deleted topic."""

from pathlib import Path
from uuid import UUID

import pytest
from tests.fakes.faulty_filesystem import FaultyFileSystem
from tests.unit.storage.support import NOW, batch

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import StorageError
from barnabas.base.ids import TopicPartition
from barnabas.replication.hosted_logs import HostedLogs
from barnabas.storage.logs import Logs, LogsSettings
from barnabas.storage.partition_metadata import read_topic_id

ROOT = Path("/data")
TP = TopicPartition("t", 0)
OLD, NEW = UUID(int=1), UUID(int=2)
METADATA = ROOT / "t-0" / "partition.metadata"


def start(fs: FaultyFileSystem) -> tuple[Logs, HostedLogs]:
    logs = Logs([ROOT], LogsSettings(1, "c"), lambda _: LogConfig(), fs=fs, clock=ManualClock(NOW))
    logs.open_all()
    return logs, HostedLogs(logs, lambda _: LogConfig())


def want(hosted: HostedLogs, topic_id: UUID, *, is_new: bool) -> None:
    hosted.want(TP, topic_id, is_new=is_new)
    hosted.settle()


def with_old_topic(fs: FaultyFileSystem, metadata: bytes | None) -> None:
    """A clean stop with one record of topic `OLD`, whose `partition.metadata` is damaged afterwards."""
    logs, hosted = start(fs)
    want(hosted, OLD, is_new=True)
    hosted.get(TP, OLD).append_as_leader(batch(1), 0)
    logs.clean_shutdown()
    if metadata is None:
        fs.unlink(METADATA)
    else:
        fs.write_bytes(METADATA, metadata)


@pytest.mark.parametrize("clean", [True, False])
def test_topic_with_damaged_partition_metadata_is_deleted_and_created_anew(clean: bool) -> None:
    fs = FaultyFileSystem()
    with_old_topic(fs, b"nonsense")
    if not clean:
        fs.unlink(ROOT / ".kafka_cleanshutdown")
    logs, hosted = start(fs)
    want(hosted, OLD, is_new=False)
    assert_created_anew(fs, logs, hosted)


@pytest.mark.parametrize("clean", [True, False])
def test_topic_with_a_log_that_cannot_be_opened_is_deleted_and_created_anew(clean: bool) -> None:
    fs = FaultyFileSystem()
    with_old_topic(fs, b"nonsense")
    fs.write_bytes(ROOT / "t-0" / "notes.log", b"remember the milk")
    if not clean:
        fs.unlink(ROOT / ".kafka_cleanshutdown")
    logs, hosted = start(fs)
    want(hosted, OLD, is_new=False)
    with pytest.raises(StorageError):
        hosted.get(TP, OLD)
    assert_created_anew(fs, logs, hosted)


def assert_created_anew(fs: FaultyFileSystem, logs: Logs, hosted: HostedLogs) -> None:
    hosted.drop(TP)
    hosted.settle()
    assert fs.list_directories(ROOT) == []
    want(hosted, NEW, is_new=True)
    assert hosted.get(TP, NEW).log_end_offset == 0
    logs.abandon()
    logs, hosted = start(fs)
    want(hosted, NEW, is_new=False)
    assert hosted.get(TP, NEW).log_end_offset == 0


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    "metadata", [b"neither topic nor offset\n", b"", b"version: 0\ntopic_id: AAAA", None]
)
def test_a_log_with_damaged_partition_metadata_is_given_its_topics_id(
    metadata: bytes | None, clean: bool
) -> None:
    fs = FaultyFileSystem()
    with_old_topic(fs, metadata)
    if not clean:
        fs.unlink(ROOT / ".kafka_cleanshutdown")
    logs, hosted = start(fs)
    want(hosted, OLD, is_new=False)
    log = hosted.get(TP, OLD)
    assert (log.log_end_offset, log.topic_id) == (1, OLD)
    logs.clean_shutdown()
    fs.cut_power()
    assert read_topic_id(fs, METADATA.parent) == OLD


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("metadata", [b"nonsense", b"", None])
def test_a_log_older_than_its_topic_is_set_aside_unless_it_has_the_topics_id(
    metadata: bytes | None, clean: bool
) -> None:
    """The state after a crash between the deletion of a topic and that of its files."""
    fs = FaultyFileSystem()
    with_old_topic(fs, metadata)
    if not clean:
        fs.unlink(ROOT / ".kafka_cleanshutdown")
    logs, hosted = start(fs)
    want(hosted, NEW, is_new=True)
    logs.abandon()
    logs, hosted = start(fs)
    want(hosted, NEW, is_new=False)
    assert hosted.get(TP, NEW).log_end_offset == 0
    assert [path.name.endswith("-stray") for path in logs.set_aside] == [True]


def test_a_log_with_the_topics_id_is_kept_whenever_the_topic_is_announced() -> None:
    fs = FaultyFileSystem()
    logs, hosted = start(fs)
    want(hosted, OLD, is_new=True)
    hosted.get(TP, OLD).append_as_leader(batch(1), 0)
    logs.clean_shutdown()
    _, hosted = start(fs)
    hosted.want(TP, OLD, is_new=True)
    assert not hosted.is_known_empty(TP)
    assert hosted.get(TP, OLD).log_end_offset == 1
