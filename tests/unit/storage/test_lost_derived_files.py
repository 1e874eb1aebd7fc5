"""Files that are derived from the batches, lost or damaged after a clean stop: the log is as before."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.storage.support import NOW, batch, marker
from tests.unit.storage.test_checkpoint_hints import STRAY_FILE, fill, reopened
from tests.unit.storage.test_logs import TP, A, Host

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import StorageError
from barnabas.base.ids import TopicPartition
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.log import Log
from barnabas.storage.logs import Logs
from barnabas.storage.txn_index import AbortedTxn

SUMS = A / "index-checkpoint"


def abort(log: Log, pid: int, *, others_between: int = 0) -> None:
    log.append_as_leader(batch(1, pid=pid, sequence=0, transactional=True), 0)
    for _ in range(others_between):
        log.append_as_leader(batch(1), 0)
    log.append_as_leader(marker(pid, commit=False), 0, origin=AppendOrigin.COORDINATOR)
    log.maybe_update_high_watermark(log.log_end_offset)


def with_aborts(host: Host) -> tuple[Logs, list[AbortedTxn]]:
    """A log of several segments, three of which have entries in their index."""
    logs = host.start()
    log = fill(logs, 3)
    abort(log, 7, others_between=6)
    abort(log, 8)
    abort(log, 9, others_between=2)
    abort(log, 10, others_between=12)
    found = log.aborted_transactions(0, log.log_end_offset)
    assert len(found) == 4
    assert sum(bool(segment.txn_index.entries) for segment in log.segments) >= 3
    return logs, found


def _remove(host: Host, path: Path) -> None:
    host.fs.unlink(path)


def _empty(host: Host, path: Path) -> None:
    host.fs.write_bytes(path, b"")


def _cut(host: Host, path: Path) -> None:
    host.fs.write_bytes(path, host.fs.read_bytes(path)[:-5])


def _drop_entry(host: Host, path: Path) -> None:
    host.fs.write_bytes(path, host.fs.read_bytes(path)[:-34])


def _flip(position: int) -> Callable[[Host, Path], None]:
    def flip(host: Host, path: Path) -> None:
        data = bytearray(host.fs.read_bytes(path))
        data[position] ^= 1
        host.fs.write_bytes(path, data)

    return flip


DAMAGES = [_remove, _empty, _cut, _drop_entry, *map(_flip, (1, 9, 17, 25, 33))]


@pytest.mark.parametrize("restarts", [0, 1])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_index_of_aborted_transactions_is_rebuilt(
    damage: Callable[[Host, Path], None], restarts: int
) -> None:
    host = Host(config=LogConfig(segment_bytes=700))
    logs, expected = with_aborts(host)
    logs.clean_shutdown()
    for _ in range(restarts):
        host.start().clean_shutdown()  # without opening the log
    damaged = [A / "t-0" / name for name in host.fs.listdir(A / "t-0") if name.endswith(".txnindex")]
    assert len(damaged) >= 3
    for path in damaged:
        damage(host, path)
    logs = host.start()
    log = reopened(logs)
    assert log.aborted_transactions(0, log.log_end_offset) == expected
    logs.clean_shutdown()
    log = reopened(host.start())
    assert log.aborted_transactions(0, log.log_end_offset) == expected


def test_index_of_a_sealed_segment_is_compared_after_a_crash() -> None:
    host = Host(config=LogConfig(segment_bytes=700))
    logs, expected = with_aborts(host)
    logs.clean_shutdown()
    logs = host.start()
    abort(reopened(logs), 11)
    logs.abandon()
    host.fs.unlink(A / "t-0" / min(name for name in host.fs.listdir(A / "t-0") if name.endswith(".txnindex")))
    log = reopened(host.start())
    assert log.aborted_transactions(0, log.log_end_offset)[:4] == expected
    assert len(log.aborted_transactions(0, log.log_end_offset)) == 5


@pytest.mark.parametrize(
    "damage", [None, b"", b"garbage", b"0\n1\nt zero\n", b"0\n9\nt 0\n", b"0\n1\nt 0 0:x:1\n"]
)
def test_without_the_sums_the_indexes_are_believed(damage: bytes | None) -> None:
    host = Host(config=LogConfig(segment_bytes=700))
    logs, expected = with_aborts(host)
    logs.clean_shutdown()
    if damage is None:
        host.fs.unlink(SUMS)
    else:
        host.fs.write_bytes(SUMS, damage)
    log = reopened(host.start())
    assert log.aborted_transactions(0, log.log_end_offset) == expected


def test_sums_that_are_wrong_cost_a_scan_and_nothing_else() -> None:
    host = Host(config=LogConfig(segment_bytes=700))
    logs, expected = with_aborts(host)
    logs.clean_shutdown()
    host.fs.write_bytes(SUMS, b"0\n1\nt 0 0:5:1234:5:6\n")
    log = reopened(host.start())
    assert log.aborted_transactions(0, log.log_end_offset) == expected


def test_sums_of_a_log_that_cannot_be_opened_are_kept() -> None:
    host = Host(config=LogConfig(segment_bytes=700))
    logs, _ = with_aborts(host)
    fill(logs, 1, TopicPartition("u", 0))
    logs.clean_shutdown()
    before = sorted(host.fs.read_bytes(SUMS).splitlines())
    assert any(line.startswith(b"u 0 0:0:0:") for line in before)
    host.fs.write_bytes(A / "t-0" / STRAY_FILE, b"x")
    logs = host.start()
    with pytest.raises(StorageError):
        logs.get(TP)
    logs.clean_shutdown()
    assert sorted(host.fs.read_bytes(SUMS).splitlines()) == before


def indexes_of(log: Log) -> list[tuple[bytes, bytes]]:
    return [(each.index.encode(), each.time_index.encode()) for each in log.segments]


def _drop_last(size: int) -> Callable[[Host, Path], None]:
    def drop(host: Host, path: Path) -> None:
        host.fs.write_bytes(path, host.fs.read_bytes(path)[:-size])

    return drop


_INDEX_DAMAGES = [
    *((".index", damage) for damage in (_remove, _empty, _drop_last(8), *map(_flip, (3, 6, 7, -5, -1)))),
    *((".timeindex", damage) for damage in (_remove, _empty, _drop_last(12), *map(_flip, (6, 11, -5, -1)))),
]


def with_indexes(host: Host) -> Logs:
    """A log of several segments with entries in both of their indexes."""
    logs = host.start()
    log = fill(logs, 0)
    for number in range(30):
        log.append_as_leader(batch(1, timestamp=NOW - 1000 + number), 0)
    log.flush()
    return logs


@pytest.mark.parametrize("restarts", [0, 1])
@pytest.mark.parametrize(("kind", "damage"), _INDEX_DAMAGES)
def test_damaged_index_is_rebuilt(kind: str, damage: Callable[[Host, Path], None], restarts: int) -> None:
    host = Host(config=LogConfig(segment_bytes=700, index_interval_bytes=50))
    logs = with_indexes(host)
    logs.clean_shutdown()
    logs = host.start()
    expected = indexes_of(reopened(logs))
    assert len(expected) > 2
    logs.clean_shutdown()
    for _ in range(restarts):
        host.start().clean_shutdown()  # without opening the log
    for name in host.fs.listdir(A / "t-0"):
        if name.endswith(kind):
            damage(host, A / "t-0" / name)
    logs = host.start()
    log = reopened(logs)
    assert log.log_end_offset == 30
    assert indexes_of(log) == expected
    logs.clean_shutdown()
    assert indexes_of(reopened(host.start())) == expected


@pytest.mark.parametrize(("kind", "damage"), _INDEX_DAMAGES)
def test_damaged_index_of_a_segment_from_before_the_last_clean_stop_is_rebuilt_after_a_crash(
    kind: str, damage: Callable[[Host, Path], None]
) -> None:
    host = Host(config=LogConfig(segment_bytes=700, index_interval_bytes=50))
    with_indexes(host).clean_shutdown()
    logs = host.start()
    log = reopened(logs)
    sealed = [each.base_offset for each in log.segments][:-1]
    expected = indexes_of(log)[:-1]
    for _ in range(30):
        log.append_as_leader(batch(1), 0)
    log.flush()
    logs.checkpoints.write_all()
    logs.abandon()
    for base_offset in sealed:
        damage(host, A / "t-0" / f"{base_offset:020}{kind}")
    log = reopened(host.start())
    assert log.log_end_offset == 60
    assert indexes_of(log)[: len(sealed)] == expected


@pytest.mark.parametrize("is_compacted", [True, False])
def test_sums_of_a_compacted_log_say_nothing_after_a_crash(
    is_compacted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Compaction may have written other indexes since the stop: they are not rebuilt for that."""
    config = LogConfig(segment_bytes=700, index_interval_bytes=50)
    host = Host(config=config)
    with_indexes(host).clean_shutdown()
    host.fs.unlink(A / ".kafka_cleanshutdown")
    host.fs.write_bytes(SUMS, re.sub(rb":\d+:\d+(?=\s)", b":1:1", host.fs.read_bytes(SUMS)))
    host.config = replace(config, cleanup_compact=is_compacted)
    indexes_of(reopened(host.start()))
    assert ("rebuilding the indexes" in caplog.text) is not is_compacted


def test_sums_of_segments_that_were_not_read_are_carried_over() -> None:
    host = Host(config=LogConfig(segment_bytes=700, index_interval_bytes=50))
    logs = host.start()
    fill(logs, 30)
    logs.clean_shutdown()
    before = host.fs.read_bytes(SUMS)
    assert b":-1" not in before
    logs = host.start()
    reopened(logs)
    logs.clean_shutdown()
    assert host.fs.read_bytes(SUMS) == before


@pytest.mark.parametrize("damage", [_remove, _empty, _cut, _flip(9)])
def test_lost_producer_snapshots_are_read_from_the_log(damage: Callable[[Host, Path], None]) -> None:
    host = Host(config=LogConfig(segment_bytes=700))
    logs = host.start()
    log = fill(logs, 3)
    log.append_as_leader(batch(1, pid=7, sequence=0, transactional=True), 0)
    for number in range(20):
        log.append_as_leader(batch(1, pid=8, sequence=number), 0)
    logs.clean_shutdown()
    for name in host.fs.listdir(A / "t-0"):
        if name.endswith(".snapshot"):
            damage(host, A / "t-0" / name)
    log = reopened(host.start())
    log.maybe_update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 3
    assert log.append_as_leader(batch(1, pid=8, sequence=19, timestamp=NOW), 0).duplicate
