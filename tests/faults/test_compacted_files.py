"""Apache Kafka's dump tool reads what compaction writes."""

import subprocess
from pathlib import Path

import pytest
from tests.faults.conftest import Serve
from tests.faults.served import until
from tests.faults.test_crash import create_topic
from tests.integration.clients.jars import fetch_jars, java_command
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import produce
from tests.patience import PROGRAM_PATIENCE

from barnabas.records.builder import build_batch
from barnabas.records.record import Record

CLEANER = {"log.cleaner.backoff.ms": 50, "log.cleaner.delete.retention.ms": 3_600_000}
TOPIC = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": 0.01,
    "internal.segment.bytes": 20_000,
    "index.interval.bytes": 500,
}


@pytest.mark.needs("java", "maven")
def test_kafkas_dump_tool_reads_a_compacted_log(serve: Serve) -> None:
    broker = serve(CLEANER).start()
    create_topic(broker, "t", TOPIC)
    with RawClient(broker.port) as client:
        for number in range(400):
            rows = [
                Record(n, 1_700_000_000_000 + number * 10 + n, b"k%d" % ((number * 7 + n) % 60),
                       None if n == 5 and number % 3 == 0 else b"%d" % number * 5)
                for n in range(8)
            ]  # fmt: skip
            assert produce(client, "t", build_batch(rows, compression=number % 5)).error_code == 0
    until(lambda: _cleaned_to(broker.log_dir) == _active_base_offset(broker.log_dir / "t-0"))
    broker.stop()
    files = sorted(path for path in (broker.log_dir / "t-0").iterdir() if path.suffix in _READ)
    output = _dump(",".join(map(str, files)), "--deep-iteration", "--skip-record-metadata")
    batches = [line for line in output.splitlines() if line.startswith("baseOffset: ")]
    assert batches
    assert all("isvalid: true" in line for line in batches)
    assert any("deleteHorizonMs: OptionalLong[" in line for line in batches)
    assert any(" count: 0 " not in line and not line.split("count: ")[1].startswith("8") for line in batches)
    checked = _dump(",".join(map(str, files)), "--index-sanity-check")
    assert "passed sanity check" in checked


_READ = (".log", ".index", ".timeindex")


def _cleaned_to(log_dir: Path) -> int:
    """The first dirty offset of t-0; -1 before the first compaction."""
    checkpoint = log_dir / "cleaner-offset-checkpoint"
    lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
    return next((int(line.split()[2]) for line in lines if line.startswith("t 0 ")), -1)


def _active_base_offset(directory: Path) -> int:
    """Up to here everything can be compacted."""
    return max(int(path.stem) for path in directory.glob("*.log"))


def _dump(files: str, *options: str) -> str:
    command = [*java_command(fetch_jars()), "org.apache.kafka.tools.DumpLogSegments", "--files", files]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, timeout=PROGRAM_PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert "corrupt" not in done.stderr.lower(), done.stderr
    assert "Index position" not in done.stderr, done.stderr
    assert "Mismatch" not in done.stderr + done.stdout, done.stderr
    return done.stdout
