"""kafka-dump-log and `barnabas log`: on files of Apache Kafka, on damaged ones, beside a running broker."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.integration.tools.programs import Ran, run_inside
from tests.patience import PATIENCE

from barnabas.testing import Broker

GOLDEN = Path(__file__).parents[2] / "golden" / "apache-kafka-4.3"
LOG_DIR = GOLDEN / "log-dir"
MORE = GOLDEN / "more-logs"
_FLAGS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
    "kraft": "--cluster-metadata-decoder",
    "rolled": "",
}
_LOG = "00000000000000000000.log"


def _golden() -> Iterator[tuple[Path, Path]]:
    for directory, dumps in ((LOG_DIR, GOLDEN / "dumps"), (MORE, MORE / "dumps")):
        for dump in sorted(dumps.glob("*.txt")):
            partition, _, file = dump.name.removesuffix(".txt").rpartition("_")
            yield directory / partition / file, dump


_ALL_GOLDEN = list(_golden())


def _dump(path: Path, *flags: str) -> Ran:
    return run_inside("kafka-dump-log", "--files", str(path), *flags)


@pytest.fixture
def rolled(tmp_path: Path) -> Path:
    """A copy of a partition with three segments, to be damaged."""
    return Path(shutil.copytree(LOG_DIR / "rolled-0", tmp_path / "rolled-0"))


def _flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(("path", "dump"), _ALL_GOLDEN, ids=[dump.stem for _, dump in _ALL_GOLDEN])
def test_prints_what_apache_kafka_prints(path: Path, dump: Path) -> None:
    topic = path.parent.name.rpartition("-")[0]
    flag = _FLAGS.get(topic, "--print-data-log") if path.suffix in (".log", ".checkpoint") else ""
    ran = _dump(path, *filter(None, [flag]))
    assert ran.stdout.replace(f"{path.parents[1]}{os.sep}", "") == dump.read_text()
    assert ran.code == 0


def test_several_files_are_dumped_and_unknown_ones_reported() -> None:
    plain = LOG_DIR / "plain-0"
    files = (
        f"{plain / _LOG},{plain / 'partition.metadata'},{plain},{plain / '00000000000000000020.snapshot'},"
    )
    ran = run_inside("kafka-dump-log", "--files", files)
    assert [line for line in ran.lines if line.startswith("Dumping")] == [
        f"Dumping {path}" for path in files.rstrip(",").split(",")
    ]
    assert (
        ran.stderr == f"Ignoring unknown file {plain / 'partition.metadata'}\nIgnoring unknown file {plain}\n"
    )
    assert ran.code == 0


def test_a_wrong_checksum_is_reported_and_the_dump_goes_on(rolled: Path) -> None:
    _flip(rolled / _LOG, 8000)
    lines = _dump(rolled / _LOG).lines
    assert [line.endswith("isvalid: false") for line in lines[2:5]] == [False, True, False]
    assert len(lines) == 207


def test_a_cut_file_ends_with_its_invalid_bytes(rolled: Path) -> None:
    os.truncate(rolled / _LOG, 10_000)
    ran = _dump(rolled / _LOG)
    assert ran.lines[-1] == f"Found {10_000 - 7854} invalid bytes at the end of {_LOG}"
    assert ran.code == 0


def test_max_bytes_stops_at_a_whole_batch(rolled: Path) -> None:
    ran = _dump(rolled / _LOG, "--max-bytes", "20000")
    assert [line.split()[1] for line in ran.lines[2:]] == ["0", "10"]


def test_gaps_in_offsets_are_reported(rolled: Path) -> None:
    path = rolled / "00000000000000001320.log"
    ran = _dump(path, "--deep-iteration")
    assert ran.stderr == f"Non-consecutive offsets in {path}\n  -1 is followed by 1320\n"


def test_wrong_indexes_are_reported_and_exit_with_0(rolled: Path) -> None:
    index, times = rolled / "00000000000000001320.index", rolled / "00000000000000001320.timeindex"
    _flip(index, 3)
    _flip(times, 7)
    _flip(times, 12 + 11)
    ran = run_inside("kafka-dump-log", "--files", f"{index},{times}", "--verify-index-only")
    assert ran.stdout == f"Dumping {index}\nDumping {times}\n"
    assert ran.stderr == (
        f"Mismatches in :{index}\n  Index offset: 1338, log offset: 1339\n"
        f"Found timestamp mismatch in :{times}\n"
        "  Index timestamp: 1700000013391, log timestamp: 1700000013390\n"
        f"The following indexed offsets are not found in :{times}\n"
        "Indexed offset: 1341, found log offset: 1349\n"
    )
    assert ran.code == 0


def test_sanity_check_passes_or_ends_with_1(rolled: Path) -> None:
    index = rolled / "00000000000000000000.index"
    assert _dump(index, "--index-sanity-check").lines[-1] == f"{index} passed sanity check."
    with index.open("ab") as file:
        file.write(b"\0")
    ran = _dump(index, "--index-sanity-check")
    assert "neither positive nor a multiple of 8" in ran.stderr
    assert (ran.code, ran.stderr.count("\n")) == (1, 1)


def test_an_index_allocated_ahead_ends_at_its_zeros(rolled: Path) -> None:
    index = rolled / "00000000000000000000.index"
    before = _dump(index).stdout
    with index.open("ab") as file:
        file.write(bytes(800))
    assert _dump(index).stdout == before


def test_record_metadata_can_be_skipped() -> None:
    ran = _dump(LOG_DIR / "txn-0" / "00000000000000000003.log", "--print-data-log", "--skip-record-metadata")
    assert ran.lines[3] == ""
    assert ran.lines[5] == "| key: r1 payload: round-1-0"


def test_values_are_decoded_by_class_name() -> None:
    ran = _dump(
        LOG_DIR / "plain-0" / _LOG, "--value-decoder-class", "org.apache.kafka.tools.api.IntegerDecoder"
    )
    assert ran.lines[3].endswith(f"payload: {int.from_bytes(b'valu', 'big')}")


@pytest.mark.parametrize(
    ("content", "flags", "complaint"),
    [
        (bytes(100), [], "Found record size 0 smaller than minimum record overhead (14)"),
        (b"\xff" * 100, [], "Found record size -1 smaller"),
        ((LOG_DIR / "plain-0" / _LOG).read_bytes(), ["--offsets-decoder"], "message had a missing key"),
        (None, [], "No such file or directory"),
        (b"", ["--value-decoder-class", "com.example.Mine"], "Failed to load decoder class com.example.Mine"),
        (b"", ["--remote-log-metadata-decoder"], "not supported"),
        (b"", ["--max-bytes", "-1"], "Invalid size: -1"),
        (b"", ["--max-bytes", "x"], "Cannot parse argument 'x' of option max-bytes"),
    ],
)
def test_what_cannot_be_dumped_is_one_line_and_status_1(
    content: bytes | None, flags: list[str], complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / _LOG
    if content is not None:
        path.write_bytes(content)
    ran = _dump(path, *flags)
    assert complaint in ran.stderr
    assert ran.code == 1
    assert "Traceback" not in ran.stderr


def test_odd_kinds_of_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / _LOG).mkdir()
    assert _dump(tmp_path / _LOG).stderr == f"Cannot read {tmp_path / _LOG}: Is a directory\n"
    os.mkfifo(tmp_path / "00000000000000000001.log")
    assert "Not a regular file" in _dump(tmp_path / "00000000000000000001.log").stderr
    (tmp_path / "name.log").write_bytes(b"")
    assert _dump(tmp_path / "name.log").code == 1


def test_empty_files_have_no_lines(tmp_path: Path) -> None:
    for suffix in (".log", ".index", ".timeindex", ".txnindex"):
        (tmp_path / f"00000000000000000005{suffix}").touch()
    assert _dump(tmp_path / "00000000000000000005.log").lines[1:] == ["Log starting offset: 5"]
    index = tmp_path / "00000000000000000005.index"
    assert _dump(index).lines[1:] == [f"{index} is empty."]
    assert _dump(tmp_path / "00000000000000000005.timeindex").lines[1:] == []
    assert _dump(tmp_path / "00000000000000000005.txnindex").lines[1:] == []


def test_damaged_bytes_never_end_in_a_traceback(tmp_path: Path) -> None:
    original = (LOG_DIR / "codecs-1" / _LOG).read_bytes()
    path = tmp_path / _LOG
    for position in range(120):
        for byte in (0x00, 0x7F, 0xFF):
            path.write_bytes(original[:position] + bytes([byte]) + original[position + 1 :])
            ran = _dump(path, "--print-data-log")
            assert ran.code in (0, 1)
            assert "Traceback" not in ran.stderr
            assert ran.stderr.count("\n") <= (1 if ran.code else 9999)


def test_a_closed_pipe_is_no_failure() -> None:
    command = [sys.executable, "-m", "barnabas.cli.kafka.dump_log", "--deep-iteration", "--files"]
    with subprocess.Popen(
        [*command, str(LOG_DIR / "rolled-0" / _LOG)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"Dumping")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0


def test_without_arguments_the_help_is_printed_and_the_status_is_1() -> None:
    ran = run_inside("kafka-dump-log")
    assert "--print-data-log" in ran.stderr
    assert ran.code == 1


# --- barnabas log ---------------------------------------------------------------------------------------


def test_check_finds_nothing_wrong_with_apache_kafkas_files() -> None:
    ran = run_inside("barnabas", "log", "check", "--records", "--json", str(LOG_DIR))
    reports = {report["partition"]: report for report in json.loads(ran.stdout)}
    assert ran.code == 0
    assert len(reports) == 12
    assert reports["rolled-0"] == {
        "partition": "rolled-0", "segments": 3, "bytes": 2372502, "batches": 441, "records": 3000, "start": 0,
        "end": 3000, "gaps": 0, "problems": [],
    }  # fmt: skip
    assert reports["compact-0"]["start"] == 80


def test_check_reports_errors_and_ends_with_1(rolled: Path) -> None:
    _flip(rolled / _LOG, 8000)
    _flip(rolled / "00000000000000001320.index", 3)
    _flip(rolled / "00000000000000002641.snapshot", 5)
    ran = run_inside("barnabas", "log", "check", str(rolled))
    assert ran.code == 1
    assert ran.stderr.splitlines() == [
        f"rolled-0/{_LOG}: at 7854: wrong checksum",
        "rolled-0/00000000000000001320.index: offset 1338 -> 7884, where a batch that ends at 1339 is",
        next(line for line in ran.stderr.splitlines() if "Snapshot is corrupt" in line),
    ]


def test_check_of_nothing_is_an_error(tmp_path: Path) -> None:
    assert (
        run_inside("barnabas", "log", "check", str(tmp_path)).stderr
        == f"barnabas: No partitions in {tmp_path}\n"
    )
    assert run_inside("barnabas", "log", "check", str(tmp_path / "missing")).code == 1


def test_dump_shows_rows_of_every_kind_of_file() -> None:
    txn = LOG_DIR / "txn-0"
    ran = run_inside(
        "barnabas",
        "log",
        "dump",
        *(str(txn / f"00000000000000000003{kind}") for kind in (".log", ".txnindex")),
    )
    assert ran.lines[1].split()[:3] == ["OFFSET", "LAST", "COUNT"]
    assert ran.lines[2].split() == [
        "3",
        "3",
        "1",
        "0",
        "78",
        "1794789426754",
        "none",
        "1",
        "0",
        "control",
        "yes",
    ]
    assert ran.lines[-1].split() == ["1", "12", "15", "16"]


def test_dump_decodes_internal_topics_by_their_directory() -> None:
    path = LOG_DIR / "__consumer_offsets-0" / _LOG
    ran = run_inside(
        "barnabas", "log", "dump", "--records", "--json", "--from", "2", "--limit", "1", str(path)
    )
    assert json.loads(ran.stdout)["key"]["data"] == {
        "group": "golden-classic",
        "topic": "codecs",
        "partition": 0,
    }


def test_a_running_brokers_directory_is_only_read(barnabas_broker: Broker) -> None:
    barnabas_broker.create_topic("dumped", partitions=1)
    producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers, "linger.ms": 0})
    for number in range(20):
        producer.produce("dumped", f"value-{number}", key=f"key-{number}")
        producer.poll(0)
    producer.flush()
    directory = Path(barnabas_broker.log_dir) / "dumped-0"
    before = {path.name: path.stat().st_mtime_ns for path in directory.iterdir()}
    ran = _dump(directory / _LOG, "--print-data-log")
    assert [line.rpartition("payload: ")[2] for line in ran.lines if line.startswith("|")] == [
        f"value-{number}" for number in range(20)
    ]
    checked = run_inside("barnabas", "log", "check", "--json", str(directory))
    assert [(each["records"], each["end"], each["problems"]) for each in json.loads(checked.stdout)] == [
        (20, 20, [])
    ]
    assert {path.name: path.stat().st_mtime_ns for path in directory.iterdir()} == before


def test_what_a_producer_sent_does_not_steer_the_terminal() -> None:
    ran = run_inside("barnabas", "log", "dump", "--records", "--limit", "1", str(LOG_DIR / "plain-0" / _LOG))
    assert ran.lines[1].split()[-3:] == [
        "h1=v",
        "h2=",
        "h1=\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}",
    ]
