"""`barnabas cluster up` and the commands beside it, as a user types them."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE

from barnabas.cli.local_cluster.layout import Layout
from barnabas.testing.ports import free_port

_COMMAND = [sys.executable, "-m", "barnabas", "cluster"]


def _cluster(directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [*_COMMAND, *words, "--dir", str(directory)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * PATIENCE)


def _status(directory: Path) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(_cluster(directory, "status", "--json").stdout)
    return status


def _pids(directory: Path) -> list[int]:
    return [each["pid"] for each in _status(directory)["brokers"] if each["pid"] is not None]


def _port() -> str:
    """The first of four ports that are free."""
    while True:
        first = free_port()
        with ExitStack() as probes, suppress(OSError):
            for port in range(first, first + 4):
                probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return str(first)


def _ok(result: "subprocess.CompletedProcess[str]") -> str:
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cluster"
    _cluster(tmp_path / "cluster", "down")


def _wait_for(directory: Path, states: list[str], isr: set[int]) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE
    while True:
        status = _status(directory)
        found = [each["state"] for each in status["brokers"]]
        isrs = [set(each["isr"]) for each in status["partitions"]]
        if found == states and all(each == isr for each in isrs):
            return status
        assert time.monotonic() < deadline, status


def test_cluster_in_the_background_is_broken_and_repaired(directory: Path) -> None:
    printed = _ok(_cluster(directory, "up", "--racks", "a,b,c", "--port", _port(), "--detach"))
    bootstrap = next(line.split()[1] for line in printed.splitlines() if "Bootstrap:" in line)
    topic = ["topic", "create", "t", "--partitions", "1", "--replicas", "3", "-b", bootstrap]
    subprocess.run([sys.executable, "-m", "barnabas", *topic], check=True, capture_output=True)
    status = _wait_for(directory, ["running"] * 3, {0, 1, 2})
    assert [each["rack"] for each in status["brokers"]] == ["a", "b", "c"]
    (leader,) = [each["leader"] for each in status["partitions"]]
    again = _cluster(directory, "up")
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)
    assert "is running" in again.stderr

    assert _ok(_cluster(directory, "kill", str(leader))) == f"Killed broker {leader}.\n"
    states = ["stopped" if number == leader else "running" for number in range(3)]
    status = _wait_for(directory, states, {0, 1, 2} - {leader})
    assert status["partitions"][0]["leader"] != leader
    twice = _cluster(directory, "kill", str(leader))
    assert (twice.returncode, twice.stderr.split(":")[0:2]) == (
        1,
        ["barnabas", f" broker {leader} does not run"],
    )
    assert f"Restarted broker {leader}" in _ok(_cluster(directory, "restart", str(leader)))
    _wait_for(directory, ["running"] * 3, {0, 1, 2})

    drained = _status(directory)["partitions"][0]["leader"]
    printed = _ok(_cluster(directory, "drain", str(drained)))
    assert printed.startswith(f"Moved 0 replicas of broker {drained} to other brokers and stopped it. 1 stay")
    assert _status(directory)["partitions"][0]["leader"] not in (drained, None)
    _ok(_cluster(directory, "restart", str(drained)))
    _wait_for(directory, ["running"] * 3, {0, 1, 2})

    _ok(_cluster(directory, "pause", "1"))
    assert _status(directory)["brokers"][1]["state"] == "paused"
    assert _cluster(directory, "status").returncode == 1
    _ok(_cluster(directory, "resume", "1"))

    assert "Broker 3 listens" in _ok(_cluster(directory, "add"))
    _wait_for(directory, ["running"] * 4, {0, 1, 2})
    assert (
        _ok(_cluster(directory, "drain", "0"))
        == "Moved 1 replicas of broker 0 to other brokers and stopped it.\n"
    )
    _wait_for(directory, ["stopped", "running", "running", "running"], {1, 2, 3})
    assert _ok(_cluster(directory, "down")) == "Stopped 3 brokers.\n"
    assert _ok(_cluster(directory, "down")) == "No broker was running.\n"


def _foreground(directory: Path, **options: Any) -> "subprocess.Popen[str]":
    words = ["up", "--brokers", "1", "--port", _port(), "--dir", str(directory)]
    running = subprocess.Popen([*_COMMAND, *words], stdout=subprocess.PIPE, text=True, **options)
    assert running.stdout is not None
    while not running.stdout.readline().startswith("BROKER"):
        assert running.poll() is None
    return running


def _assert_ended(pids: list[int]) -> None:
    deadline = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGHUP, 129), (signal.SIGKILL, -signal.SIGKILL)])
def test_cluster_in_the_foreground_stops_with_its_command(directory: Path, number: int, status: int) -> None:
    with _foreground(directory) as running:
        pids = _pids(directory)
        assert len(pids) == 1
        running.send_signal(number)
        assert running.wait(PATIENCE) == status
        _assert_ended(pids)
    log = (directory / "broker-0" / "broker.log").read_text()
    assert "stopped in" in log.splitlines()[-1]


def test_terminal_shows_a_live_table_until_ctrl_c(directory: Path) -> None:
    master, slave = pty.openpty()
    words = ["up", "--brokers", "1", "--port", _port(), "--dir", str(directory)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    running = subprocess.Popen(
        [*_COMMAND, *words], stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    seen = b""
    while b"under-replicated" not in seen:
        seen += os.read(master, 4096)
    running.send_signal(signal.SIGINT)
    with suppress(OSError):  # the end of the terminal
        while part := os.read(master, 4096):
            seen += part
    assert running.wait(PATIENCE) == 0
    os.close(master)
    assert b"Bootstrap:" in seen
    assert b"Stopped 1 brokers." in seen


def test_errors_are_one_line(directory: Path) -> None:
    def error(*words: str) -> str:
        result = _cluster(directory, *words)
        assert result.returncode != 0
        assert result.stderr.startswith("barnabas: ")
        assert result.stderr.count("\n") == 1
        return result.stderr

    assert "holds no cluster" in error("status")
    assert "holds no cluster" in error("kill", "0")
    assert "3 brokers need 3 racks" in error("up", "--brokers", "3", "--racks", "a")
    assert not list(directory.glob("server-*"))
    assert "0" in error("up", "--brokers", "0")


def test_broker_that_cannot_start_stops_the_others_and_says_why(directory: Path) -> None:
    Layout(directory).create(2, [], int(_port()))
    with (directory / "server-1.properties").open("a") as file:
        file.write("num.partitions=many\n")
    result = _cluster(directory, "up", "--detach")
    assert result.returncode == 1
    expected = "barnabas: broker 1 did not start: Invalid value many for configuration num.partitions"
    assert result.stderr.startswith(expected)
    assert _pids(directory) == []
    changed = _cluster(directory, "up", "--brokers", "5")
    assert (changed.returncode, "holds a cluster with --brokers 2" in changed.stderr) == (1, True)
