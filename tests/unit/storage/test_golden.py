"""Apache Kafka's own files: they open, they say what its dump tool says, and ours are the same bytes."""

import re
import shutil
from pathlib import Path

import pytest
from tests.unit.storage.support import GOLDEN, assert_consistent, read_batches

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import TopicPartition
from barnabas.records.batch import iter_headers
from barnabas.records.record import decode_records
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.log import Log
from barnabas.storage.log_inventory import FoundPartition, list_partitions
from barnabas.storage.log_loader import create_log, open_log
from barnabas.storage.partition_metadata import read_topic_id

LOG_DIR = GOLDEN / "log-dir"
PARTITIONS = sorted(path.name for path in LOG_DIR.iterdir() if path.is_dir())
RECORDED_AT = 1_794_789_500_000
NEVER_EXPIRE = 1 << 62
INTERVALS = {"rolled-0": 1024}
_BATCH = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .*? position: (\d+) \w+: (\d+) size: (\d+)"
)
_PAIR = re.compile(r"(?:offset|timestamp): (\d+) (?:position|offset): (\d+)")
_RECORD = re.compile(r"\| offset: (\d+) \w+: (\d+)")


def environment() -> LogEnvironment:
    return LogEnvironment(clock=ManualClock(RECORDED_AT), producer_expiration_ms=NEVER_EXPIRE)


def config_of(name: str) -> LogConfig:
    return LogConfig(segment_bytes=1 << 20, index_interval_bytes=INTERVALS.get(name, 4096))


def files_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def dump(name: str, file: str) -> str:
    return (GOLDEN / "dumps" / f"{name}_{file}.txt").read_text()


@pytest.fixture(params=PARTITIONS)
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(
        shutil.copytree(LOG_DIR / request.param, tmp_path / request.param, copy_function=shutil.copyfile)
    )


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_opening_and_closing_a_log_of_kafka_changes_no_byte(copied: Path, clean: bool) -> None:
    before = files_of(copied)
    log = open_log(copied, config_of(copied.name), environment(), clean=clean)
    if copied.name != "compact-0":  # its cleaned batches lack records that the replay would need
        assert_consistent(log)
    log.close()
    assert files_of(copied) == before


def test_batches_and_records_are_those_of_the_dump(copied: Path) -> None:
    log = open_log(copied, config_of(copied.name), environment(), clean=True)
    found = read_batches(log)
    dumps = [dump(copied.name, f"{base:020d}.log") for base in log.segments.base_offsets]
    expected = [tuple(map(int, match)) for text in dumps for match in _BATCH.findall(text)]
    assert [
        (h.base_offset, h.last_offset, h.record_count, h.max_timestamp, len(data)) for h, data in found
    ] == [(base, last, count, stamp, size) for base, last, count, _, stamp, size in expected]
    records = [tuple(map(int, match)) for text in dumps for match in _RECORD.findall(text)]
    if records:
        assert [(r.offset, r.timestamp) for _, data in found for r in decode_records(data)] == records


def test_indexes_are_those_of_the_dump(copied: Path) -> None:
    log = open_log(copied, config_of(copied.name), environment(), clean=True)
    for segment in log.segments:
        base = segment.base_offset
        index = _PAIR.findall(dump(copied.name, f"{base:020d}.index"))
        stated = [
            (str(base + offset), str(at))
            for offset, at in zip(segment.index.offsets, segment.index.positions, strict=True)
        ]
        assert stated == [pair for pair in index if pair != (str(base), "0")]
        times = _PAIR.findall(dump(copied.name, f"{base:020d}.timeindex"))
        entries = zip(segment.time_index.timestamps, segment.time_index.offsets, strict=True)
        assert [(str(stamp), str(base + offset)) for stamp, offset in entries] == times


def rewritten(name: str, tmp_path: Path, *, as_leader: bool) -> Log:
    """The batches of a golden log, appended one by one to a new log of ours."""
    source = LOG_DIR / name
    topic, _, partition = name.rpartition("-")
    log = create_log(
        tmp_path / name,
        TopicPartition(topic, int(partition)),
        read_topic_id(FileSystem(), source),
        config_of(name),
        environment(),
    )
    for path in sorted(source.glob("*.log")):
        data = path.read_bytes()
        for position, header in iter_headers(data):
            batch = data[position : position + header.size]
            if as_leader:
                as_produced = bytes(8) + batch[8:]
                log.append_as_leader(as_produced, header.partition_leader_epoch)
            else:
                log.append_as_follower(batch)
    return log


@pytest.mark.parametrize("name", ["rolled-0", "plain-0", *(f"codecs-{codec}" for codec in range(5))])
def test_a_leader_writes_the_same_files_as_kafka(name: str, tmp_path: Path) -> None:
    rewritten(name, tmp_path, as_leader=True).close()
    assert files_of(tmp_path / name) == files_of(LOG_DIR / name)


@pytest.mark.parametrize("name", sorted(set(PARTITIONS) - {"compact-0"}))
def test_a_follower_writes_the_same_files_as_kafka(name: str, tmp_path: Path) -> None:
    rewritten(name, tmp_path, as_leader=False).close()
    assert files_of(tmp_path / name) == files_of(LOG_DIR / name)


def test_the_aborted_transactions_are_those_of_the_dump(tmp_path: Path) -> None:
    shutil.copytree(LOG_DIR / "txn-0", tmp_path / "txn-0", copy_function=shutil.copyfile)
    log = open_log(tmp_path / "txn-0", config_of("txn-0"), environment(), clean=True)
    stated = re.findall(
        r"producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)",
        dump("txn-0", "00000000000000000003.txnindex"),
    )
    assert [
        tuple(map(str, (txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset)))
        for txn in log.aborted_transactions(0, 16)
    ] == stated
    log.maybe_update_high_watermark(16)
    assert log.last_stable_offset == 16


def test_the_inventory_lists_what_kafka_left_without_touching_it() -> None:
    found = {(item.topic, item.partition): item for item in list_partitions(LOG_DIR, FileSystem())}
    assert sorted(f"{topic}-{partition}" for topic, partition in found) == PARTITIONS
    assert {key: item.log_end_offset for key, item in found.items()} == {
        ("__consumer_offsets", 0): 25,
        ("__transaction_state", 0): 13,
        ("appendtime", 0): 3,
        **{("codecs", codec): 50 for codec in range(5)},
        ("compact", 0): 160,
        ("plain", 0): 20,
        ("rolled", 0): 3000,
        ("txn", 0): 16,
    }
    rolled = found["rolled", 0]
    assert isinstance(rolled, FoundPartition)
    assert rolled.topic_id == read_topic_id(FileSystem(), LOG_DIR / "rolled-0")
