"""A checkpoint is a hint: no log inherits an entry, and what is in no checkpoint is looked for in the log."""

import errno
from pathlib import Path

import pytest
from tests.unit.storage.support import batch, read_records
from tests.unit.storage.test_logs import TP, A, B, Host

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import StorageError
from barnabas.base.ids import TopicPartition, random_uuid
from barnabas.storage.log import Log
from barnabas.storage.logs import Logs

CHECKPOINTS = (
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
STRAY_FILE = "notes.log"
"""A file that keeps a log from being opened."""


def reopened(logs: Logs, key: TopicPartition = TP) -> Log:
    log = logs.get(key)
    assert log is not None
    return log


def fill(logs: Logs, count: int, key: TopicPartition = TP, *, deleted_to: int = 0) -> Log:
    log = logs.create(key, random_uuid())
    for _ in range(count):
        log.append_as_leader(batch(1), 0)
    log.maybe_update_high_watermark(count)
    log.delete_records_before(deleted_to)
    return log


def mentioned(host: Host, key: TopicPartition = TP, directory: Path = A) -> list[str]:
    line = f"{key.topic} {key.partition} ".encode()
    present = [name for name in CHECKPOINTS if host.fs.exists(directory / name)]
    return [name for name in present if line in host.fs.read_bytes(directory / name)]


def with_every_checkpoint(host: Host) -> Logs:
    """A log with records 0 to 99, the first 90 deleted, with an entry in each checkpoint of `A`."""
    logs = host.start()
    fill(logs, 100, deleted_to=90)
    logs.directories[0].cleaner_offsets.put(TP, 95)
    logs.checkpoints.write_all()
    assert len(mentioned(host)) == 4
    return logs


@pytest.mark.parametrize("restarted", [True, False])
@pytest.mark.parametrize("removal", ["delete", "set aside"])
def test_a_new_log_inherits_no_checkpoint_entry(removal: str, restarted: bool) -> None:
    host = Host(config=LogConfig(segment_bytes=500))
    logs = with_every_checkpoint(host)
    if restarted:
        logs.clean_shutdown()
        logs = host.start()
    if removal == "delete":
        logs.delete(TP)
    else:
        logs.set_aside_log(TP)
    log = fill(logs, 50)
    log.flush()
    assert mentioned(host) == []
    logs.abandon()
    log = reopened(host.start())
    assert (log.log_start_offset, log.log_end_offset) == (0, 50)
    assert len(read_records(log)) == 50
    assert len({segment.base_offset for segment in log.segments}) > 2


def test_a_log_deleted_before_a_crash_leaves_nothing_to_a_new_one() -> None:
    host = Host()
    logs = with_every_checkpoint(host)
    logs.delete(TP)
    logs.abandon()
    logs = host.start()
    fill(logs, 50)
    logs.abandon()
    log = reopened(host.start())
    assert (log.log_start_offset, log.log_end_offset) == (0, 50)


def test_an_older_content_that_is_still_being_written_does_not_come_back() -> None:
    host = Host()
    logs = with_every_checkpoint(host)
    reopened(logs).delete_records_before(91)
    late = logs.checkpoints.log_start_offsets()
    logs.delete(TP)
    fill(logs, 50)
    for write in late:
        write.run()
    logs.abandon()
    assert reopened(host.start()).log_start_offset == 0


def test_many_logs_created_anew_write_each_checkpoint_once() -> None:
    host = Host()
    logs = host.start()
    keys = [TopicPartition("t", number) for number in range(50)]
    for key in keys:
        fill(logs, 2, key, deleted_to=1)
    logs.checkpoints.write_all()
    for key in keys:
        logs.delete(key)
    syncs = host.fs.syncs
    for key in keys:
        logs.create(key, random_uuid())
    assert host.fs.syncs - syncs <= 2 * len(CHECKPOINTS)


def test_a_directory_restored_while_the_broker_was_down_keeps_its_records() -> None:
    """The entry is of a log of the same name that reached further."""
    host = Host()
    logs = host.start()
    fill(logs, 20)
    logs.clean_shutdown()
    host.fs.rename(A / "t-0", A / "kept")
    host.fs.write_bytes(A / "log-start-offset-checkpoint", b"0\n1\nt 0 900\n")
    host.fs.write_bytes(A / "recovery-point-offset-checkpoint", b"0\n1\nt 0 950\n")
    host.fs.rename(A / "kept", A / "t-0")
    log = reopened(host.start())
    assert (log.log_start_offset, log.log_end_offset) == (0, 20)


def test_a_log_that_was_not_here_at_the_clean_stop_is_recovered() -> None:
    host = Host(A, B)
    logs = host.start()
    fill(logs, 20, deleted_to=5)
    logs.clean_shutdown()
    # By hand, from one disk to the other, with a torn tail.
    host.fs.mkdir(B / "t-0")
    for name in host.fs.listdir(A / "t-0"):
        data = host.fs.read_bytes(A / "t-0" / name)
        host.fs.write_bytes(B / "t-0" / name, data + (b"torn" if name.endswith(".log") else b""))
    host.fs.rmtree(A / "t-0")
    logs = host.start()
    log = reopened(logs)
    assert log.directory.parent == B
    assert (log.log_start_offset, log.log_end_offset) == (5, 20)
    log.append_as_leader(batch(1), 0)
    assert len(read_records(log)) == 16


@pytest.mark.parametrize("damage", [None, b"", b"0\n2\nt 0", b"0\n1\nt 0 x\n"])
@pytest.mark.parametrize("name", CHECKPOINTS[:3])
@pytest.mark.parametrize("clean", [True, False])
def test_a_lost_checkpoint_is_derived_from_the_log(name: str, damage: bytes | None, clean: bool) -> None:
    host = Host(config=LogConfig(segment_bytes=500, retention_ms=10**9))
    logs = host.start()
    fill(logs, 100, deleted_to=90)
    logs.clean_shutdown()
    if damage is None:
        host.fs.unlink(A / name)
    else:
        host.fs.write_bytes(A / name, damage)
    if not clean:
        host.fs.unlink(A / ".kafka_cleanshutdown")
    for stop in (Logs.clean_shutdown, Logs.clean_shutdown, Logs.abandon, None):
        logs = host.start()
        assert not logs.is_known_empty(TP)
        if stop is not None:
            logs.checkpoints.write_all()
            stop(logs)
    log = reopened(logs)
    assert (log.log_start_offset, log.log_end_offset) == (90, 100)
    assert len(read_records(log)) == 10


def test_whether_a_log_is_empty_is_read_from_its_files() -> None:
    host = Host()
    logs = host.start()
    fill(logs, 3)
    logs.create(TopicPartition("t", 1), None)
    logs.clean_shutdown()
    host.fs.write_bytes(A / "recovery-point-offset-checkpoint", b"0\n2\nt 0 0\nt 1 0\n")
    logs = host.start()
    assert not logs.is_known_empty(TP)
    assert logs.is_known_empty(TopicPartition("t", 1))
    assert logs.opened() == []


def test_retention_looks_into_unopened_logs_that_have_no_entry() -> None:
    host = Host(config=LogConfig(segment_bytes=200, retention_ms=1000))
    logs = host.start()
    fill(logs, 5)
    logs.clean_shutdown()
    for name in CHECKPOINTS[:3]:
        host.fs.unlink(A / name)
    logs = host.start()
    host.clock.advance(5000)
    assert logs.cold_with_old_segments(logs.directories[0]) == [TP]
    log = reopened(logs)
    log.maybe_update_high_watermark(log.log_end_offset)
    assert log.delete_old_segments() == 3


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_that_cannot_be_opened_keeps_its_entries(clean: bool) -> None:
    host = Host()
    logs = with_every_checkpoint(host)
    fill(logs, 7, TopicPartition("t", 1))
    logs.clean_shutdown()
    if not clean:
        host.fs.unlink(A / ".kafka_cleanshutdown")
    host.fs.write_bytes(A / "t-0" / STRAY_FILE, b"x")
    logs = host.start()
    with pytest.raises(StorageError):
        logs.get(TP)
    assert not logs.is_known_empty(TP)
    logs.clean_shutdown()
    assert len(mentioned(host)) == 4
    host.fs.unlink(A / "t-0" / STRAY_FILE)
    log = reopened(host.start())
    assert (log.log_start_offset, log.log_end_offset) == (90, 100)


def test_a_log_that_was_never_recovered_is_not_marked_clean() -> None:
    host = Host()
    logs = host.start()
    fill(logs, 10)
    fill(logs, 10, TopicPartition("u", 0))
    logs.abandon()
    path = A / "t-0" / f"{0:020}.log"
    host.fs.write_bytes(path, host.fs.read_bytes(path) + b"torn")
    host.fs.write_bytes(A / "t-0" / STRAY_FILE, b"x")
    logs = host.start()
    assert list(logs.failed) == [TP]
    reopened(logs, TopicPartition("u", 0)).append_as_leader(batch(1), 0)
    logs.clean_shutdown()
    assert not host.fs.exists(A / ".kafka_cleanshutdown")
    host.fs.unlink(A / "t-0" / STRAY_FILE)
    logs = host.start()
    reopened(logs).append_as_leader(batch(1), 0)
    logs.abandon()
    assert len(read_records(reopened(host.start()))) == 11


def test_a_directory_is_clean_again_without_the_log_that_failed() -> None:
    host = Host()
    logs = host.start()
    fill(logs, 10)
    logs.abandon()
    host.fs.write_bytes(A / "t-0" / STRAY_FILE, b"x")
    logs = host.start()
    assert logs.delete(TP)
    assert host.fs.list_directories(A) == []
    logs.clean_shutdown()
    assert host.fs.exists(A / ".kafka_cleanshutdown")


def test_a_log_that_is_not_closed_keeps_its_directory_unclean() -> None:
    host = Host()
    logs = host.start()
    fill(logs, 10).take_offline()
    logs.clean_shutdown()
    assert not host.fs.exists(A / ".kafka_cleanshutdown")


def test_a_checkpoint_that_could_not_be_written_keeps_its_directory_unclean() -> None:
    host = Host()
    logs = host.start()
    fill(logs, 10, deleted_to=5).flush()
    host.fs.fail_write(0, error=errno.EMFILE)
    logs.checkpoints.write_all()
    host.fs.heal()
    assert mentioned(host) == []
    logs.checkpoints.write_all()
    assert len(mentioned(host)) == 3
    reopened(logs).delete_records_before(6)
    reopened(logs).close()
    host.fs.fail_write(0, error=errno.EMFILE)
    logs.clean_shutdown()
    host.fs.heal()
    assert not host.fs.exists(A / ".kafka_cleanshutdown")


@pytest.mark.parametrize("clean", [True, False])
def test_log_start_at_the_end_of_the_log_is_derived_after_several_starts(clean: bool) -> None:
    host = Host()
    logs = host.start()
    fill(logs, 10, deleted_to=10)
    for _ in range(3):
        logs.clean_shutdown()
        if not clean:
            host.fs.unlink(A / ".kafka_cleanshutdown")
        logs = host.start()
        reopened(logs)
    logs.clean_shutdown()
    host.fs.unlink(A / "log-start-offset-checkpoint")
    log = reopened(host.start())
    assert (log.log_start_offset, log.log_end_offset) == (10, 10)
    assert log.append_as_leader(batch(1), 3).base_offset == 10
    assert log.leader_epochs.entries == [(3, 10)]


@pytest.mark.parametrize("removal", ["delete", "set aside"])
@pytest.mark.parametrize("directories", [(A,), (A, B)])
def test_an_older_log_does_not_replace_a_new_one(removal: str, directories: tuple[Path, ...]) -> None:
    host = Host(*directories)
    host.deleted = []
    logs = host.start()
    fill(logs, 5)
    logs.clean_shutdown()
    logs = host.start()
    if removal == "delete":
        logs.delete(TP)
    else:
        logs.set_aside_log(TP)
    if len(directories) > 1:
        logs.create(TopicPartition("u", 0), random_uuid())  # so that the new log is elsewhere
    logs.create(TP, random_uuid())
    host.fs.cut_power()
    log = host.start().get(TP)
    assert log is None or log.log_end_offset == 0
