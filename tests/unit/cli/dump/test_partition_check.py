import shutil
from pathlib import Path

import pytest

from barnabas.cli.dump.partition_check import PartitionReport, check_partition, partition_directories
from barnabas.cli.dump.segment_check import SegmentCheck
from barnabas.records.builder import build_batch
from barnabas.records.record import Record

_GOLDEN = Path(__file__).parents[3] / "golden" / "apache-kafka-4.3" / "log-dir"


@pytest.fixture
def rolled(tmp_path: Path) -> Path:
    return Path(shutil.copytree(_GOLDEN / "rolled-0", tmp_path / "rolled-0"))


def _check(directory: Path, *, decodes: bool = False) -> PartitionReport:
    return check_partition(directory, decodes=decodes, progress=lambda step: None)


def _flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_good_files_have_no_problems(rolled: Path) -> None:
    report = _check(rolled, decodes=True)
    assert (report.problems, report.records, report.end_offset) == ((), 3000, 3000)


def test_progress_counts_every_byte(rolled: Path) -> None:
    steps: list[int] = []
    report = check_partition(rolled, decodes=False, progress=steps.append)
    assert sum(steps) == report.size


@pytest.mark.parametrize(
    ("name", "position", "problem"),
    [
        ("00000000000000000000.log", 9000, "at 7854: wrong checksum"),
        ("00000000000000001320.index", 7, "where no batch is"),
        ("00000000000000001320.index", 0, "do not ascend"),
        ("00000000000000001320.timeindex", 4, "but offset 1329 has 1700000013290"),
        ("00000000000000001320.timeindex", 12 + 8, "do not ascend"),
        ("00000000000000002641.snapshot", 4, "CRC is no longer valid"),
        ("leader-epoch-checkpoint", 0, "leader-epoch-checkpoint"),
    ],
)
def test_damaged_file_is_reported(name: str, position: int, problem: str, rolled: Path) -> None:
    _flip(rolled / name, position)
    report = _check(rolled)
    assert len(report.problems) == 1
    assert problem in report.problems[0]


def test_an_index_of_a_sealed_segment_must_be_there_and_whole(rolled: Path) -> None:
    (rolled / "00000000000000000000.timeindex").unlink()
    with (rolled / "00000000000000000000.index").open("ab") as file:
        file.write(b"\0")
    problems = _check(rolled).problems
    assert any("neither positive nor a multiple of 8" in problem for problem in problems)
    assert "00000000000000000000.timeindex: missing" in problems


def test_the_active_segment_may_be_ahead_of_its_indexes(rolled: Path) -> None:
    index = rolled / "00000000000000002641.index"
    index.write_bytes(index.read_bytes()[:80] + bytes(800))
    (rolled / "00000000000000002641.timeindex").unlink()
    assert _check(rolled).problems == ()


def test_a_cut_tail_of_the_active_segment_counts_if_it_stays(rolled: Path) -> None:
    log = rolled / "00000000000000002641.log"
    log.write_bytes(log.read_bytes()[:-10])
    assert "is cut after" in _check(rolled).problems[0]


def test_a_tail_that_is_being_written_is_read_again(rolled: Path) -> None:
    log = rolled / "00000000000000002641.log"
    whole = log.read_bytes()
    log.write_bytes(whole[:-10])

    def write_the_rest(step: int) -> None:
        """The first pass reports its progress at its end. The segment has grown by then."""
        log.write_bytes(whole)

    check = SegmentCheck(log, is_active=True, decodes=False, progress=write_the_rest)
    assert check.run().problems == []


def test_offsets_that_overlap_between_segments_are_reported(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    batch = build_batch([Record(number, 0, None, b"v") for number in range(5)], base_offset=0)
    (directory / "00000000000000000000.log").write_bytes(batch)
    for suffix in ("index", "timeindex"):
        (directory / f"00000000000000000000.{suffix}").touch()
    (directory / "00000000000000000003.log").touch()
    assert _check(directory).problems == (
        "00000000000000000003.log: begins before offset 5, where the last one ended",
    )


def test_partitions_that_are_being_deleted_are_left_out(tmp_path: Path) -> None:
    for name in ("a-0", "b-12", "a-1.0123456789abcdef0123456789abcdef-delete", "no partition"):
        (tmp_path / name).mkdir()
    assert [path.name for path in partition_directories(tmp_path)] == ["a-0", "b-12"]
    (tmp_path / "a-0" / "00000000000000000000.log").touch()
    assert partition_directories(tmp_path / "a-0") == [tmp_path / "a-0"]
