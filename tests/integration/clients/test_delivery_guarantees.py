"""At most once, at least once, exactly once: what the order of processing and committing makes of a crash.

The consumer that crashes is `drivers/worker.py`, in a process of its own: it exits in the middle of its work,
and the next one goes on.
"""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.clients.group_records import fill
from tests.patience import PROGRAM_PATIENCE

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("confluent_kafka")
_ROOT = Path(__file__).parents[3]
_CRASHED = 9
_NEVER = -1
both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def _run(broker: Broker, *words: object) -> int:
    command = [sys.executable, "-m", "tests.integration.clients.drivers.worker", broker.bootstrap_servers]
    command += map(str, words)
    return subprocess.run(command, cwd=_ROOT, timeout=PROGRAM_PATIENCE, check=False).returncode


def _processed(output: Path) -> list[bytes]:
    with closing(sqlite3.connect(output)) as database:
        return [value for (value,) in database.execute("SELECT value FROM processed ORDER BY rowid")]


@both_protocols
@pytest.mark.kafka_topic(partitions=2)
def test_crash_between_processing_and_committing(
    kafka_broker: Broker, kafka_topic: str, group: str, tmp_path: Path, protocol: str
) -> None:
    sent = fill(kafka_broker, kafka_topic, partitions=2, each=10)

    def crash_and_go_on(order: str) -> list[bytes]:
        output = tmp_path / f"{order}.sqlite"
        arguments = (f"{group}-{order}", kafka_topic, protocol, order, output)
        assert _run(kafka_broker, *arguments, 7) == _CRASHED
        assert _run(kafka_broker, *arguments, _NEVER) == 0
        return _processed(output)

    orders = ("commit-first", "process-first", "together")
    with ThreadPoolExecutor() as threads:
        at_most, at_least, exactly = threads.map(crash_and_go_on, orders)
    # The one in hand at the crash is lost,
    assert len(at_most) == len(set(at_most)) == 19
    assert set(at_most) < set(sent)
    # or comes again,
    assert len(at_least) == 21
    assert set(at_least) == set(sent)
    # or neither, when the offset is in the transaction of the output.
    assert sorted(exactly) == sorted(sent)
