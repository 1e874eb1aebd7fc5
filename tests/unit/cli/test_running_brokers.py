import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.cli.kafka import server_stop
from barnabas.cli.running_brokers import RunningBroker, registered, run_directory, running_brokers

_BROKER = """
import signal, sys, tempfile
tempfile.tempdir = sys.argv[1]
from barnabas.cli.running_brokers import registered
with registered(7):
    print("ready", flush=True)
    signal.sigwait({signal.SIGUSR1})
"""


@pytest.fixture(autouse=True)
def own_run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@contextmanager
def _broker_process(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-c", _BROKER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_registered_broker_is_found_until_it_ends() -> None:
    with registered(3):
        assert running_brokers() == [RunningBroker(os.getpid(), 3)]
    assert running_brokers() == []
    assert list(run_directory().iterdir()) == []


def test_killed_broker_is_not_running_and_its_file_goes(tmp_path: Path) -> None:
    with _broker_process(tmp_path) as process:
        assert running_brokers() == [RunningBroker(process.pid, 7)]
        process.kill()
        process.wait()
        assert running_brokers() == []
        assert list(run_directory().iterdir()) == []


def test_broker_runs_unregistered_when_the_directory_cannot_be_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / f"barnabas-{os.getuid()}").write_text("in the way")
    with registered(3):
        pass
    assert "kafka-server-stop will not find this broker" in caplog.text


def test_stop_terminates_the_running_broker(tmp_path: Path) -> None:
    with _broker_process(tmp_path) as process:
        assert server_stop.main([]) == 0
        assert process.wait() == -signal.SIGTERM


def test_stop_by_node_id_leaves_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with _broker_process(tmp_path) as process:
        assert server_stop.main(["--node-id=8"]) == 1
        assert "No kafka server to stop" in capsys.readouterr().out
        assert server_stop.main(["--process-role=broker", "--node-id=7"]) == 0
        assert process.wait() == -signal.SIGTERM


def test_stop_without_a_broker_says_what_kafkas_script_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert server_stop.main([]) == 1
    assert capsys.readouterr().out == "No kafka server to stop\n"


def test_stop_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert server_stop.main(["--force"]) == 1
    assert "USAGE" in capsys.readouterr().err
