"""The directory that a stopped broker leaves is Kafka's: by its names, its checkpoints, and the dump tool."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.integration.clients.jars import java_command
from tests.integration.clients.messages import CODECS
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce
from tests.patience import PROGRAM_PATIENCE

from barnabas.testing import Broker

_SEGMENT = re.compile(r"\d{20}\.(log|index|timeindex|txnindex|snapshot)")
_WRONG = re.compile(
    r"(?i)error|exception|mismatch|out of order|not valid|isvalid: false|corrupt|failed|invalid"
)


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is left of a broker that served records of all kinds and was stopped."""
    directory = tmp_path_factory.mktemp("disk")
    with Broker(process=True, directory=directory) as broker:
        broker.create_topic("codecs", len(CODECS))
        broker.create_topic("rolled", config={"segment.bytes": 1 << 20, "index.interval.bytes": 4096})
        broker.create_topic("idempotent")
        broker.create_topic("appendtime", config={"message.timestamp.type": "LogAppendTime"})
        broker.create_topic("gzipped", config={"compression.type": "gzip"})
        broker.create_topic("empty")
        with RawClient(broker.port) as client:
            _fill(client)
        return broker.log_dir


def _fill(client: RawClient) -> None:
    wanted = {"transactional_id": None, "transaction_timeout": 0, "producer_id": -1, "producer_epoch": -1}
    producer = client.call("init_producer_id", 4, **wanted).producer_id
    for codec in range(len(CODECS)):
        for _ in range(20):
            values = [b"%d" % number * 20 for number in range(25)]
            produce(client, "codecs", batch(*values, compression=codec), partition=codec)
    for number in range(300):
        produce(client, "rolled", batch(b"x" * 9000, timestamp=1_700_000_000_000 + number * 1000))
        produce(
            client,
            "idempotent",
            batch(b"a", b"b", producer_id=producer, producer_epoch=0, base_sequence=2 * number),
        )
    produce(client, "appendtime", batch(b"a", b"b", timestamp=1000))
    produce(client, "gzipped", batch(b"a" * 1000, b"b" * 1000))


def test_names_are_kafkas(log_dir: Path) -> None:
    files = {path.name for path in log_dir.iterdir() if path.is_file()}
    assert files >= {
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
        ".kafka_cleanshutdown",
    }
    partitions = {path.name: path for path in log_dir.iterdir() if path.is_dir() and path.name[0] != "."}
    assert partitions.keys() == {f"codecs-{number}" for number in range(5)} | {
        "rolled-0",
        "idempotent-0",
        "appendtime-0",
        "gzipped-0",
        "empty-0",
    }
    for directory in partitions.values():
        others = {path.name for path in directory.iterdir() if not _SEGMENT.fullmatch(path.name)}
        assert others <= {"partition.metadata", "leader-epoch-checkpoint"}
        assert "partition.metadata" in others
        logs = {path.stem for path in directory.glob("*.log")}
        assert logs == {path.stem for path in directory.glob("*.index")}
        assert logs == {path.stem for path in directory.glob("*.timeindex")}


def test_checkpoints_are_kafkas(log_dir: Path) -> None:
    version, count, *lines = (log_dir / "recovery-point-offset-checkpoint").read_text().splitlines()
    assert (version, count) == ("0", str(len(lines)))
    offsets = dict(line.rsplit(" ", 1) for line in lines)
    assert (offsets["rolled 0"], offsets["idempotent 0"], offsets["codecs 3"]) == ("300", "600", "500")
    assert (log_dir / "idempotent-0" / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
    metadata = (log_dir / "codecs-2" / "partition.metadata").read_text()
    assert re.fullmatch(r"version: 0\ntopic_id: [\w-]{22}\n?", metadata)
    properties = (log_dir / "meta.properties").read_text()
    assert re.search(r"^version=[01]$", properties, re.MULTILINE)
    assert re.search(r"^cluster\.id=[\w-]{22}$", properties, re.MULTILINE)


def test_segments_roll_at_their_size(log_dir: Path) -> None:
    logs = sorted((log_dir / "rolled-0").glob("*.log"))
    assert len(logs) == 3
    assert all(path.stat().st_size <= 1 << 20 for path in logs)
    assert [int(path.stem) for path in logs] == sorted({int(path.stem) for path in logs})


def _dump(jars: Path, *arguments: str) -> str:
    command = [*java_command(jars), "org.apache.kafka.tools.DumpLogSegments", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROGRAM_PATIENCE)
    assert done.returncode == 0, done.stderr
    # Of every segment but the first it says that its offsets do not follow on -1: of Kafka's own as well.
    expected = re.compile(r"SLF4J.*|Non-consecutive offsets in .*/rolled-0/.*|  -1 is followed by (115|230)")
    assert [line for line in done.stderr.splitlines() if not expected.fullmatch(line)] == []
    return done.stdout


@pytest.mark.needs("java", "maven")
def test_kafkas_dump_tool_reads_every_file(log_dir: Path, jars: Path) -> None:
    files = sorted(path for path in log_dir.glob("*-*/*") if _SEGMENT.fullmatch(path.name))
    kinds = {path.suffix for path in files}
    assert kinds >= {".log", ".index", ".timeindex", ".snapshot"}
    output = _dump(jars, "--deep-iteration", "--files", ",".join(map(str, files)))
    wrong = [line for line in output.splitlines() if _WRONG.search(line)]
    assert wrong == []
    batches = re.findall(r"^baseOffset: .* isvalid: true$", output, re.MULTILINE)
    assert len(batches) == 5 * 20 + 300 + 300 + 1 + 1
    records = re.findall(r"^\| offset: ", output, re.MULTILINE)
    assert len(records) == 5 * 20 * 25 + 300 + 600 + 2 + 2
    codecs = re.findall(r"compresscodec: (\w+)", output)
    assert {name: codecs.count(name) for name in CODECS[1:]} == {
        "gzip": 21,
        "snappy": 20,
        "lz4": 20,
        "zstd": 20,
    }
    assert re.search(r"producerId: \d+ .* lastSequence: 599 ", output)
    assert len(re.findall(r"^offset: \d+ position: \d+$", output, re.MULTILINE)) > 100
    assert len(re.findall(r"^timestamp: \d+ offset: \d+$", output, re.MULTILINE)) > 100
    assert "LogAppendTime: " in output


@pytest.mark.needs("java", "maven")
def test_indexes_pass_kafkas_sanity_check(log_dir: Path, jars: Path) -> None:
    files = sorted(path for kind in ("index", "timeindex") for path in log_dir.glob(f"*-*/*.{kind}"))
    output = _dump(jars, "--index-sanity-check", "--files", ",".join(map(str, files)))
    passed = re.findall(r"^(.*) (?:passed sanity check|is empty)\.$", output, re.MULTILINE)
    assert sorted(passed) == sorted(map(str, files))
