"""kcat's balanced consumer (`kcat -G`): an older librdkafka, from a shell."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.clients.group_records import fill
from tests.integration.clients.group_requests import committed_offset
from tests.integration.clients.raw import RawClient
from tests.patience import PATIENCE

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("kcat")
_OPTIONS = ("session.timeout.ms=6000", "heartbeat.interval.ms=100", "auto.offset.reset=earliest")


class Kcat:
    def __init__(self, broker: Broker, group: str, topic: str, directory: Path, *more: str) -> None:
        self._printed: Path = directory / "out"
        self._errors: Path = directory / "err"
        options = [word for option in _OPTIONS for word in ("-X", option)]
        command = ["kcat", "-b", broker.bootstrap_servers, *options, *more, "-u", "-G", group, topic]
        with self._printed.open("wb") as out, self._errors.open("wb") as err:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )

    @property
    def values(self) -> list[bytes]:
        return self._printed.read_bytes().splitlines()

    @property
    def owned(self) -> int:
        """From the last line that tells what it was assigned."""
        lines = re.findall(r"assigned: (.*)", self._errors.read_text())
        return len(re.findall(r"\[\d+\]", lines[-1])) if lines else 0

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(PATIENCE)

    def wait(self) -> int:
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


OpenKcat = Callable[..., Kcat]


@pytest.fixture
def open_kcat(kafka_broker: Broker, kafka_topic: str, group: str, tmp_path: Path) -> Iterator[OpenKcat]:
    running: list[Kcat] = []

    def new(*more: str) -> Kcat:
        directory = tmp_path / str(len(running))
        directory.mkdir()
        running.append(Kcat(kafka_broker, group, kafka_topic, directory, *more))
        return running[-1]

    yield new
    for each in running:
        each.kill()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


@pytest.mark.kafka_topic(partitions=3)
def test_three_share_a_topic_and_one_leaves(
    kafka_broker: Broker, kafka_topic: str, open_kcat: OpenKcat
) -> None:
    members = [open_kcat() for _ in range(3)]
    _until(lambda: [each.owned for each in members] == [1, 1, 1])
    sent = fill(kafka_broker, kafka_topic, partitions=3, each=4)
    _until(lambda: sum(len(each.values) for each in members) >= 12)
    assert sorted(value for each in members for value in each.values) == sorted(sent)
    assert members[0].stop() == 0
    _until(lambda: sorted(each.owned for each in members[1:]) == [1, 2])


def test_offsets_are_committed_when_it_ends(
    kafka_broker: Broker, kafka_topic: str, group: str, open_kcat: OpenKcat
) -> None:
    sent = fill(kafka_broker, kafka_topic, partitions=1, each=4)
    first = open_kcat("-e")
    assert first.wait() == 0
    assert first.values == sent
    with RawClient(kafka_broker.port) as client:
        assert committed_offset(client, group, kafka_topic) == 4
    sent += fill(kafka_broker, kafka_topic, partitions=1, each=2, first=4)
    second = open_kcat("-e")
    assert second.wait() == 0
    assert second.values == sent[4:]
