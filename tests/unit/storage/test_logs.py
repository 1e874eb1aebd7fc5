import errno
import random
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.fakes.faulty_filesystem import FaultyFileSystem
from tests.unit.storage.support import NOW, batch, read_records

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import StorageError
from barnabas.base.ids import TopicPartition, random_uuid
from barnabas.storage.deleted_files import DeletedFiles, unlink_now
from barnabas.storage.log_directory import LogDirectory, LogDirectoryError
from barnabas.storage.logs import Logs, LogsSettings

A, B = Path("/disk-a"), Path("/disk-b")
TP = TopicPartition("t", 0)
SETTINGS = LogsSettings(node_id=1, cluster_id="cluster")


class Host:
    """A machine with disks, on which brokers are started one after the other."""

    def __init__(self, *paths: Path, config: LogConfig | None = None) -> None:
        self.fs: FaultyFileSystem = FaultyFileSystem()
        self.clock: ManualClock = ManualClock(NOW)
        self.paths: tuple[Path, ...] = paths or (A,)
        self.config: LogConfig = config or LogConfig()
        self.offline: list[Path] = []
        self.deleted: list[DeletedFiles] | None = None
        self.topic_id: UUID | None = None

    def start(self, settings: LogsSettings = SETTINGS) -> Logs:
        logs = Logs(
            self.paths,
            settings,
            lambda _: self.config,
            fs=self.fs,
            clock=self.clock,
            on_offline=self._note_offline,
            on_deleted=unlink_now if self.deleted is None else self.deleted.append,
            topic_id_of=lambda _: self.topic_id,
        )
        logs.open_all()
        return logs

    def _note_offline(self, directory: LogDirectory, _error: OSError) -> None:
        self.offline.append(directory.path)


def test_a_clean_stop_leaves_a_marker_that_the_next_start_takes() -> None:
    host = Host()
    logs = host.start()
    log = logs.create(TP, None)
    log.append_as_leader(batch(3), 0)
    log.maybe_update_high_watermark(2)
    logs.clean_shutdown(broker_epoch=11)
    assert host.fs.read_bytes(A / ".kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":11}'
    assert host.fs.read_bytes(A / "recovery-point-offset-checkpoint") == b"0\n1\nt 0 3\n"
    assert host.fs.read_bytes(A / "replication-offset-checkpoint") == b"0\n1\nt 0 2\n"
    assert host.fs.read_bytes(A / "log-start-offset-checkpoint") == b"0\n0\n"
    logs = host.start()
    assert not host.fs.exists(A / ".kafka_cleanshutdown")
    assert logs.directories[0].was_clean
    reopened = logs.get(TP)
    assert reopened is not None
    assert (reopened.log_end_offset, reopened.high_watermark, reopened.recovery_point) == (3, 2, 3)


def test_after_a_clean_stop_a_log_is_opened_when_it_is_first_used() -> None:
    host = Host()
    logs = host.start()
    for partition in range(20):
        logs.create(TopicPartition("t", partition), None).append_as_leader(batch(1), 0)
    logs.clean_shutdown()
    reads = host.fs.reads
    logs = host.start()
    assert (len(logs), logs.opened()) == (20, [])
    assert host.fs.reads - reads <= 7
    assert TopicPartition("t", 7) in logs
    logs.get(TopicPartition("t", 7))
    assert [log.topic_partition.partition for log in logs.opened()] == [7]


def test_unopened_logs_keep_their_entries_in_the_checkpoints() -> None:
    host = Host()
    logs = host.start()
    log = logs.create(TP, None)
    log.append_as_leader(batch(4), 0)
    log.maybe_update_high_watermark(4)
    log.delete_records_before(2)
    logs.clean_shutdown()
    before = {
        name: host.fs.read_bytes(A / name) for name in host.fs.listdir(A) if name.endswith("checkpoint")
    }
    assert before["log-start-offset-checkpoint"] == b"0\n1\nt 0 2\n"
    logs = host.start()
    logs.checkpoints.write_all()
    logs.clean_shutdown()
    assert {name: host.fs.read_bytes(A / name) for name in before} == before
    reopened = host.start().get(TP)
    assert reopened is not None
    assert reopened.log_start_offset == 2


def test_an_unclean_stop_is_recovered_before_the_start_is_over() -> None:
    host = Host()
    logs = host.start()
    for partition in range(5):
        logs.create(TopicPartition("t", partition), None).append_as_leader(batch(3), 0)
    logs.abandon()
    path = A / "t-3" / "00000000000000000000.log"
    host.fs.write_bytes(path, host.fs.read_bytes(path) + b"torn")
    logs = host.start()
    assert len(logs.opened()) == 5
    assert [log.log_end_offset for log in logs.opened()] == [3] * 5
    assert host.fs.size(path) == len(batch(3))


def test_a_second_broker_is_kept_out() -> None:
    host = Host()
    first = host.start()
    with pytest.raises(LogDirectoryError, match="in use"):
        host.start()
    first.clean_shutdown()
    host.start()


def test_a_directory_remembers_its_owner() -> None:
    host = Host()
    logs = host.start(LogsSettings(node_id=1))
    cluster_id, directory_id = logs.cluster_id, logs.directories[0].directory_id
    assert cluster_id is not None
    assert directory_id is not None
    logs.clean_shutdown()
    text = host.fs.read_bytes(A / "meta.properties").decode()
    assert "version=1\n" in text
    assert "node.id=1\n" in text
    logs = host.start(LogsSettings(node_id=1))
    assert (logs.cluster_id, logs.directories[0].directory_id) == (cluster_id, directory_id)
    logs.clean_shutdown()
    with pytest.raises(LogDirectoryError, match="broker 1"):
        host.start(LogsSettings(node_id=2))
    host.fs.cut_power()
    with pytest.raises(LogDirectoryError, match="cluster"):
        host.start(LogsSettings(node_id=1, cluster_id="other"))


def test_new_logs_go_where_the_fewest_are() -> None:
    host = Host(A, B)
    logs = host.start()
    for partition in range(6):
        logs.create(TopicPartition("t", partition), None)
    assert len(host.fs.list_directories(A)) == len(host.fs.list_directories(B)) == 3
    logs.delete(TopicPartition("t", 0))
    logs.create(TopicPartition("u", 0), None)
    assert len(host.fs.list_directories(A)) == len(host.fs.list_directories(B)) == 3


def test_creating_an_existing_log_gives_it_back() -> None:
    logs = Host().start()
    topic_id = random_uuid()
    log = logs.create(TP, topic_id)
    assert logs.create(TP, topic_id) is log
    assert log.topic_id == topic_id


def test_a_failing_disk_takes_down_its_own_logs_only() -> None:
    host = Host(A, B)
    logs = host.start()
    first, second = logs.create(TopicPartition("t", 0), None), logs.create(TopicPartition("t", 1), None)
    third = logs.create(TopicPartition("t", 2), None)
    assert first.directory.parent == third.directory.parent == A
    host.fs.fail_write(0, error=errno.EIO)
    with pytest.raises(StorageError):
        first.append_as_leader(batch(1), 0)
    host.fs.heal()
    assert host.offline == [A]
    with pytest.raises(StorageError):
        third.append_as_leader(batch(1), 0)
    second.append_as_leader(batch(1), 0)
    assert logs.create(TopicPartition("t", 3), None).directory.parent == B
    assert [description.is_online for description in logs.describe()] == [False, True]
    logs.clean_shutdown()
    assert not host.fs.exists(A / ".kafka_cleanshutdown")
    assert host.fs.exists(B / ".kafka_cleanshutdown")


def test_a_deleted_log_is_removed_at_once_and_its_files_later() -> None:
    host = Host()
    logs = host.start()
    logs.create(TP, None).append_as_leader(batch(1), 0)
    host.deleted = []
    logs.clean_shutdown()
    logs = host.start()
    assert logs.delete(TP)
    assert not logs.delete(TP)
    assert TP not in logs
    (name,) = host.fs.list_directories(A)
    assert name.endswith("-delete")
    assert logs.create(TP, None).log_end_offset == 0
    host.deleted[0].run()
    assert host.fs.list_directories(A) == ["t-0"]


def test_what_was_being_deleted_is_deleted_at_the_next_start() -> None:
    host = Host()
    logs = host.start()
    logs.create(TP, None)
    host.deleted = []
    host.fs.mkdir(A / "old-0.0123-delete")
    host.fs.mkdir(A / "set-aside-0.0123-stray")
    logs.clean_shutdown()
    logs = host.start()
    assert [item.directory for item in host.deleted] == [A / "old-0.0123-delete"]
    assert logs.set_aside == [A / "set-aside-0.0123-stray"]
    assert list(logs) == [TP]


def test_strays_are_reported_and_left_alone() -> None:
    host = Host()
    logs = host.start()
    for partition in range(3):
        logs.create(TopicPartition("t", partition), None)
    assert [logs.path_of(key) for key in logs.strays(lambda key: key.partition != 1)] == [A / "t-1"]
    assert len(logs) == 3


def test_the_same_partition_in_two_directories_is_an_error() -> None:
    host = Host(A, B)
    for path in (A, B):
        host.fs.makedirs(path)
        host.fs.mkdir(path / "t-0")
    with pytest.raises(LogDirectoryError, match="both"):
        host.start()


@pytest.mark.parametrize("back_is_first", [True, False])
@pytest.mark.parametrize("clean", [True, False])
def test_a_directory_that_comes_back_with_a_deleted_topic_is_set_aside(
    back_is_first: bool, clean: bool
) -> None:
    """One disk was offline while the topic was deleted and created anew on the other."""
    host = Host(B)
    logs = host.start()
    logs.create(TP, random_uuid()).append_as_leader(batch(7), 0)
    logs.clean_shutdown()
    host.paths = (A,)
    logs = host.start()
    topic_id = random_uuid()
    logs.create(TP, topic_id).append_as_leader(batch(3), 0)
    logs.clean_shutdown() if clean else logs.abandon()
    host.paths = (B, A) if back_is_first else (A, B)
    host.topic_id = topic_id
    logs = host.start()
    log = logs.get(TP)
    assert log is not None
    assert (log.directory, log.log_end_offset) == (A / "t-0", 3)
    assert [path.parent for path in logs.set_aside] == [B]
    logs.clean_shutdown()
    assert b"t 0 " not in host.fs.read_bytes(B / "recovery-point-offset-checkpoint")
    assert list(host.start()) == [TP]


def test_a_log_that_makes_no_sense_fails_alone() -> None:
    host = Host()
    logs = host.start()
    for partition in range(2):
        logs.create(TopicPartition("t", partition), None)
    logs.abandon()
    # A whole message of the format before v2: an old log, which is refused rather than cut.
    message = bytes.fromhex("01 00 0000017000000000 ffffffff 00000001 78")  # magic 1, no key, value "x"
    old = struct.pack(">qiI", 0, len(message) + 4, zlib.crc32(message)) + message
    host.fs.write_bytes(A / "t-0" / f"{0:020}.log", old * 3)
    logs = host.start()
    assert list(logs.failed) == [TP]
    with pytest.raises(StorageError, match="could not be opened"):
        logs.get(TP)
    assert logs.get(TopicPartition("t", 1)) is not None
    assert host.offline == []


def test_unopened_logs_with_old_segments_are_found_by_their_files() -> None:
    config = LogConfig(segment_bytes=200, retention_ms=1000)
    host = Host(config=config)
    logs = host.start()
    for partition in range(3):
        log = logs.create(TopicPartition("t", partition), None)
        for _ in range(5 if partition == 1 else 0):
            log.append_as_leader(batch(1), 0)
        log.maybe_update_high_watermark(log.log_end_offset)
    logs.clean_shutdown()
    logs = host.start()
    assert logs.cold_with_old_segments(logs.directories[0]) == []
    host.clock.advance(5000)
    assert logs.cold_with_old_segments(logs.directories[0]) == [TopicPartition("t", 1)]
    assert logs.opened() == []
    log_with_old = logs.get(TopicPartition("t", 1))
    assert log_with_old is not None
    assert log_with_old.delete_old_segments() == 3


def test_sizes_are_known_of_opened_and_unopened_logs() -> None:
    host = Host()
    logs = host.start()
    logs.create(TP, None).append_as_leader(batch(1), 0)
    expected = {TP: len(batch(1))}
    assert logs.describe()[0].sizes == expected
    logs.clean_shutdown()
    description = host.start().describe()[0]
    assert (description.sizes, description.is_online) == (expected, True)
    assert description.total_bytes > description.usable_bytes > 0


def test_truncation_writes_the_recovery_point_before_anything_is_appended() -> None:
    host = Host()
    logs = host.start()
    log = logs.create(TP, None)
    for _ in range(4):
        log.append_as_leader(batch(1), 0)
    log.flush()
    logs.checkpoints.write_all()
    log.truncate_to(2)
    host.fs.cut_power()
    assert host.fs.read_bytes(A / "recovery-point-offset-checkpoint") == b"0\n1\nt 0 2\n"


def test_a_directory_that_cannot_be_used_leaves_the_others() -> None:
    host = Host(A, B)
    logs = host.start()
    logs.create(TP, None)
    logs.clean_shutdown()
    host.fs.write_bytes(A / "meta.properties", b"version=7\n")
    logs = host.start()
    assert host.offline == [A]
    assert logs.create(TopicPartition("u", 0), None).directory.parent == B


def test_no_usable_directory_stops_the_start() -> None:
    host = Host()
    host.start().clean_shutdown()
    host.fs.write_bytes(A / "meta.properties", b"version=7\n")
    with pytest.raises(LogDirectoryError, match="none"):
        host.start()


def test_a_power_cut_right_after_the_start_is_an_unclean_stop() -> None:
    host = Host()
    logs = host.start()
    logs.create(TP, None).append_as_leader(batch(2), 0)
    logs.clean_shutdown()
    host.start()
    host.fs.cut_power()
    logs = host.start()
    assert not logs.directories[0].was_clean
    log = logs.get(TP)
    assert log is not None
    assert len(read_records(log)) == 2


def test_log_that_was_empty_at_a_clean_stop_keeps_its_topic_id_through_a_power_cut() -> None:
    host, topic_id = Host(), random_uuid()
    logs = host.start()
    logs.create(TP, topic_id)
    logs.clean_shutdown()
    log = host.start().get(TP)
    assert log is not None
    log.append_as_leader(batch(2), 0)
    log.flush()
    host.fs.cut_power()
    log = host.start().get(TP)
    assert log is not None
    assert (log.topic_id, log.log_end_offset) == (topic_id, 2)


def test_unreadable_topic_id_after_a_power_cut_does_not_fail_the_start_after_the_next() -> None:
    host = Host()
    host.start().create(TP, random_uuid())
    host.fs.sync_dir(A)
    host.fs.sync_dir(A / str(TP))
    host.fs.cut_power()
    host.start().clean_shutdown()
    log = host.start().get(TP)
    assert log is not None
    assert log.topic_id is None


def test_sealed_segments_are_released_when_many_are_open() -> None:
    host = Host(config=LogConfig(segment_bytes=200))
    logs = host.start()
    log = logs.create(TP, None)
    for _ in range(700):
        log.append_as_leader(batch(1), 0)
    log.flush()
    rng = random.Random(3)
    for offset in rng.choices(range(700), k=1500):
        part = log.read(offset, 1, up_to=700)
        assert part is not None
        assert part.base_offset == offset
    opened = [segment for segment in log.segments if segment.is_open]
    assert len(opened) <= 257


def test_an_environment_is_shared_but_failures_are_not() -> None:
    host = Host(A, B)
    logs = host.start()
    logs.create(TopicPartition("t", 0), None)
    log = logs.create(TopicPartition("t", 1), None)
    log.config = replace(log.config, max_message_bytes=10_000)
    assert logs.directory_of(TopicPartition("t", 1)) is logs.directories[1]
