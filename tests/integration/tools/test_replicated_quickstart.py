"""The replicated topic of Kafka's quickstart: three property files, `kafka-server-start`, `kafka-topics`.

The files are those of the quickstart: the second and the third are copies with another `broker.id`, port and
log directory. Nothing but the names of the directories and `zookeeper.connect` makes them one cluster.
"""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.patience import PATIENCE, PROGRAM_PATIENCE

from barnabas.testing.ports import free_port

_COMMON = """\
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
zookeeper.connect=localhost:2181
zookeeper.connection.timeout.ms=6000
group.initial.rebalance.delay.ms=0
"""


def _program(module: str, *words: str) -> list[str]:
    call = f"import sys; from barnabas.cli.kafka.{module} import main; sys.exit(main())"
    return [sys.executable, "-c", call, *words]


class Quickstart:
    """Three brokers, each started as the quickstart does it."""

    def __init__(self, directory: Path, brokers: ExitStack) -> None:
        self.directory: Path = directory
        self.ports: list[int] = [free_port() for _ in range(3)]
        self._brokers: ExitStack = brokers
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        for number, port in enumerate(self.ports):
            name = "server.properties" if number == 0 else f"server-{number}.properties"
            logs = "log.dirs=" if number == 0 else "log.dir="
            suffix = "" if number == 0 else f"-{number}"
            own = f"broker.id={number}\nlisteners=PLAINTEXT://:{port}\nadvertised.listeners=PLAINTEXT://localhost:{port}\n"
            (directory / name).write_text(f"{own}{logs}{directory}/kafka-logs{suffix}\n{_COMMON}")

    def start(self, number: int) -> None:
        name = "server.properties" if number == 0 else f"server-{number}.properties"
        with (self.directory / f"out-{number}").open("ab") as out:
            process = self._brokers.enter_context(
                subprocess.Popen(
                    _program("server_start", str(self.directory / name)),
                    stdout=out,
                    stderr=out,
                    env={**os.environ, "TMPDIR": str(self.directory)},
                )
            )
        self._brokers.callback(process.kill)
        self.processes[number] = process

    def topics(self, *words: str) -> str:
        port = next(self.ports[number] for number, each in self.processes.items() if each.poll() is None)
        command = _program("topics", "--bootstrap-server", f"localhost:{port}", *words)
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROGRAM_PATIENCE)
        return ran.stdout + ran.stderr

    def output(self) -> str:
        return "".join(path.read_text() for path in sorted(self.directory.glob("out-*")))


@pytest.fixture
def quickstart(tmp_path: Path) -> Iterator[Quickstart]:
    with ExitStack() as brokers:
        yield Quickstart(tmp_path, brokers)


_LINE = re.compile(r"\tTopic: (\S+)\tPartition: 0\tLeader: (\S+)\tReplicas: (\S+)\tIsr: (\S+)")


def _described(quickstart: Quickstart) -> tuple[int, list[int], set[int]]:
    """Leader, replicas and ISR, as `kafka-topics --describe` shows them."""
    found = _LINE.search(quickstart.topics("--describe", "--topic", "my-replicated-topic"))
    if found is None or found[2] == "none":
        return -1, [], set()
    return int(found[2]), [*map(int, found[3].split(","))], {*map(int, found[4].split(","))}


def _until(condition: Callable[[], bool], quickstart: Quickstart) -> None:
    deadline = time.monotonic() + 2 * PATIENCE
    while not condition():
        assert time.monotonic() < deadline, quickstart.output()[-3000:]


def _wait_for_isr(quickstart: Quickstart, members: set[int]) -> tuple[int, list[int]]:
    """Returns the leader and the replicas."""
    found: list[tuple[int, list[int]]] = []

    def has_isr() -> bool:
        leader, replicas, isr = _described(quickstart)
        found.append((leader, replicas))
        return isr == members

    _until(has_isr, quickstart)
    return found[-1]


def test_three_property_files_are_one_cluster_that_outlives_a_broker(quickstart: Quickstart) -> None:
    # "&": all three at once, in an order that the start must not depend on.
    for number in (2, 1, 0):
        quickstart.start(number)
    _until(lambda: all(_answers(port) for port in quickstart.ports), quickstart)
    create = ("--create", "--replication-factor", "3", "--partitions", "1", "--topic", "my-replicated-topic")
    _until(lambda: "Created topic" in quickstart.topics(*create), quickstart)

    text = quickstart.topics("--describe", "--topic", "my-replicated-topic")
    assert re.search(
        r"^Topic: my-replicated-topic\tTopicId: \S+\tPartitionCount: 1\tReplicationFactor: 3\t", text
    )
    leader, replicas = _wait_for_isr(quickstart, {0, 1, 2})
    assert sorted(replicas) == [0, 1, 2]
    assert leader == replicas[0]

    quickstart.processes[leader].kill()
    quickstart.processes[leader].wait()
    successor, same = _wait_for_isr(quickstart, {0, 1, 2} - {leader})
    assert successor not in (leader, -1)
    assert same == replicas

    quickstart.start(leader)
    _wait_for_isr(quickstart, {0, 1, 2})
    assert not (quickstart.directory / "kafka-logs-1" / ".barnabas").exists()
    assert (quickstart.directory / "kafka-logs" / ".barnabas" / "metadata.db").exists()
    assert "Traceback" not in quickstart.output()
    assert (
        "No ZooKeeper answers"
        in subprocess.run(
            _program("topics", "--describe", "--zookeeper", "127.0.0.1:1", "--topic", "my-replicated-topic"),
            capture_output=True,
            text=True,
            check=False,
        ).stderr
    )  # what the quickstart's own flag leads to: a line with the flag to use


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
