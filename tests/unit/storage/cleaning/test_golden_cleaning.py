"""Logs that Apache Kafka wrote, cleaned by us."""

import shutil
from pathlib import Path

import pytest
from tests.unit.storage.cleaning.support import RESOURCES
from tests.unit.storage.support import read_batches
from tests.unit.storage.test_golden import LOG_DIR, PARTITIONS, RECORDED_AT, environment

from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.records.record import Record, decode_records
from barnabas.storage.cleaning.cleaner import Cleaner
from barnabas.storage.cleaning.cleaner_offsets import CLEANER_OFFSETS, CleanerOffsets
from barnabas.storage.cleaning.job import CleanedSegment
from barnabas.storage.cleaning.plan import CleaningPlan, cleanable_range
from barnabas.storage.log import Log
from barnabas.storage.log_loader import open_log

CONFIG = LogConfig(cleanup_compact=True, cleanup_delete=False)


def clean(log: Log) -> None:
    log.maybe_update_high_watermark(log.log_end_offset)
    log.roll()
    log.flush()
    found = cleanable_range(log, None, RECORDED_AT)
    assert found is not None
    plan = CleaningPlan.of(log, found, RECORDED_AT, RESOURCES)

    def swap(cleaned: CleanedSegment) -> None:
        plan.swap(cleaned).run()

    Cleaner(plan.job, FileSystem(), swap).clean()


def committed(log: Log) -> list[Record]:
    aborted = log.aborted_transactions(0, log.log_end_offset)
    found = []
    for header, data in read_batches(log):
        is_aborted = header.is_transactional and any(
            txn.producer_id == header.producer_id and txn.first_offset <= header.base_offset < txn.last_offset
            for txn in aborted
        )
        if not header.is_control and not is_aborted:
            found += decode_records(data)
    return found


@pytest.mark.parametrize("name", PARTITIONS)
def test_newest_record_of_every_key_stays(tmp_path: Path, name: str) -> None:
    shutil.copytree(LOG_DIR / name, tmp_path / name)
    log = open_log(tmp_path / name, CONFIG, environment(), clean=True)
    newest = {record.key: record for record in committed(log) if record.key is not None}
    end = log.log_end_offset
    clean(log)
    assert committed(log) == sorted(newest.values(), key=lambda record: record.offset)
    assert log.log_end_offset == end
    log.close()
    reopened = open_log(tmp_path / name, CONFIG, environment(), clean=False)
    assert reopened.log_end_offset == end
    assert committed(reopened) == sorted(newest.values(), key=lambda record: record.offset)


def test_kafkas_cleaner_checkpoint_is_read_and_written_back(tmp_path: Path) -> None:
    original = LOG_DIR / CLEANER_OFFSETS
    shutil.copy(original, tmp_path)
    offsets = CleanerOffsets(FileSystem(), tmp_path)
    offsets.load()
    assert offsets.prepare() is None
    key = TopicPartition("new", 3)
    offsets.put(key, 42)
    write = offsets.prepare()
    assert write is not None
    write.run()
    reread = CleanerOffsets(FileSystem(), tmp_path)
    reread.load()
    assert reread.get(key) == 42
    for line in original.read_text().splitlines()[2:]:
        topic, partition, offset = line.split()
        assert reread.get(TopicPartition(topic, int(partition))) == int(offset)
