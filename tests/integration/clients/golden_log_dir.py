"""A copy of the log directory that Apache Kafka 4.3 wrote, adopted as a user does it."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.patience import PROGRAM_PATIENCE

from barnabas.testing import Broker

GOLDEN = Path(__file__).parents[2] / "golden" / "apache-kafka-4.3"


def adopt(directory: Path) -> Broker:
    """A broker, not started yet, on the copy."""
    log_dir = directory / "kafka-logs"
    shutil.copytree(GOLDEN / "log-dir", log_dir)
    command = [sys.executable, "-m", "barnabas", "adopt", str(log_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROGRAM_PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "codecs: 5 partitions" in done.stdout
    # The offsets are from 2023: their usual week would be over.
    kept = {"offsets.retention.minutes": 2**31 - 1}
    return Broker(process=True, directory=directory, config=kept)
