"""The commands as a user types them, with the real broker in its own process."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.patience import PATIENCE, PROGRAM_PATIENCE

from barnabas.testing.admin import Admin

_BIN = Path(sys.executable).parent


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={tmp_path}/logs\n")
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """`kafka-server-stop` in these tests finds only the brokers of these tests."""
    return {**os.environ, "TMPDIR": str(tmp_path), "LOG_DIR": str(tmp_path / "out")}


@contextmanager
def _serving(environment: dict[str, str], *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A broker in the foreground and its greeting."""
    command = [str(_BIN / "barnabas"), "serve", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            greeting = ""
            while "Stop:" not in greeting:
                line = process.stdout.readline()
                assert line, f"the broker ended with status {process.wait()} after: {greeting}"
                greeting += line
            yield process, greeting
        finally:
            process.kill()


def _command(environment: dict[str, str], name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(_BIN / name), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, timeout=PROGRAM_PATIENCE
    )


def _port(greeting: str) -> int:
    found = re.search(r"Listens on: +127\.0\.0\.1:(\d+)", greeting)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_served_broker_greets_answers_and_stops_cleanly(
    properties: Path, environment: dict[str, str], how: signal.Signals
) -> None:
    with _serving(environment, str(properties)) as (process, greeting):
        Admin("127.0.0.1", _port(greeting)).create_topic("t", 1, {})
        process.send_signal(how)
        assert process.wait(PATIENCE) == 0
    assert (properties.parent / "logs" / ".kafka_cleanshutdown").exists()


def test_second_broker_on_the_port_is_one_line(
    properties: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with _serving(environment, str(properties)) as (_, greeting):
        overrides = [
            f"--override=listeners=PLAINTEXT://127.0.0.1:{_port(greeting)}",
            f"--override=log.dirs={tmp_path}/other",
        ]
        result = _command(environment, "barnabas", "serve", str(properties), "--quiet", *overrides)
    assert result.returncode == 1
    assert re.fullmatch(r"barnabas: cannot listen on .* in use.*\n", result.stderr)


def test_second_broker_on_the_directory_is_one_line(properties: Path, environment: dict[str, str]) -> None:
    with _serving(environment, str(properties)):
        result = _command(environment, "barnabas", "serve", str(properties), "--quiet")
    assert result.returncode == 1
    assert result.stderr.startswith("barnabas: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("suffix", ["", ".sh"])
def test_daemon_is_ready_when_the_command_returns_and_stops_on_command(
    properties: Path, environment: dict[str, str], suffix: str
) -> None:
    started = _command(environment, f"kafka-server-start{suffix}", "-daemon", str(properties))
    assert started.returncode == 0, started.stderr
    found = re.search(r"pid (\d+)", started.stdout)
    assert found is not None
    greeting = (properties.parent / "out" / "kafkaServer.out").read_text()
    assert Admin("127.0.0.1", _port(greeting)).list_topics() == set()
    watch = os.pidfd_open(int(found[1]))
    try:
        assert _command(environment, f"kafka-server-stop{suffix}").returncode == 0
        _wait_for_end(watch)
    finally:
        os.close(watch)
    stopped = _command(environment, f"kafka-server-stop{suffix}")
    assert (stopped.returncode, stopped.stdout) == (1, "No kafka server to stop\n")


def _wait_for_end(watch: int) -> None:
    import select

    assert select.select([watch], [], [], PATIENCE)[0], "the broker did not stop"


def test_commands_of_the_greeting_work_when_typed(properties: Path, environment: dict[str, str]) -> None:
    """In a shell that does not know the virtual environment, as after `make run`."""
    known = [each for each in environment["PATH"].split(os.pathsep) if Path(each) != _BIN]
    environment = {**environment, "PATH": os.pathsep.join(known)}

    def typed(command: str) -> str:
        ran = subprocess.run(
            ["sh", "-c", command],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
            timeout=PATIENCE,
        )
        assert ran.returncode == 0, (command, ran.stderr)
        return ran.stdout

    with _serving(environment, str(properties)) as (process, greeting):
        rows = dict(re.findall(r"^  (\w[\w ]*): +(.*)$", greeting, re.MULTILINE))
        typed(rows["Send"])
        typed(rows["From Python"])
        assert typed(rows["Read"]).split() == ["hello", "hello"]
        typed(rows["Stop"].removeprefix("Ctrl-C, or "))
        assert process.wait(PATIENCE) == 0
