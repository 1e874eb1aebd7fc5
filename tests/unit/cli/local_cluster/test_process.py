import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from barnabas.cli.local_cluster import process as module
from barnabas.cli.local_cluster.layout import Layout
from barnabas.cli.local_cluster.process import PAUSED, RUNNING, STOPPED, BrokerProcess
from barnabas.cli.tool_errors import ToolError


@pytest.fixture
def broker(tmp_path: Path) -> BrokerProcess:
    layout = Layout(tmp_path)
    layout.create(1, [], 9092)
    return BrokerProcess(layout.member(0))


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    program = "import signal; print(flush=True); signal.pause()"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        yield running
        running.kill()


def _remember(broker: BrokerProcess, pid: int, start: str | None = None) -> None:
    identity = module._identity(pid)
    assert identity is not None
    (broker.member.directory / "process").write_text(f"{pid} {start or identity.start}\n")


def test_process_is_found_paused_and_ended(broker: BrokerProcess, sleeper: "subprocess.Popen[bytes]") -> None:
    assert (broker.state(), broker.pid()) == (STOPPED, None)
    _remember(broker, sleeper.pid)
    assert (broker.state(), broker.pid()) == (RUNNING, sleeper.pid)
    assert broker.signal(signal.SIGSTOP)
    os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED)
    assert broker.state() == PAUSED
    assert broker.stop()  # continues it as well
    assert sleeper.wait(PATIENCE) == -signal.SIGTERM
    broker.wait_until_stopped()
    assert not broker.signal(signal.SIGKILL)


def test_process_of_a_stranger_with_the_same_pid_gets_no_signal(
    broker: BrokerProcess, sleeper: "subprocess.Popen[bytes]"
) -> None:
    for start in ("1 some-boot", "garbage"):
        _remember(broker, sleeper.pid, start)
        assert (broker.state(), broker.pid()) == (STOPPED, None)
        assert not broker.signal(signal.SIGKILL)
        assert not broker.stop()
    assert sleeper.poll() is None


@pytest.mark.parametrize("text", ["", "x", "12", "0 1 boot", "-5 1 boot", "99999999999 1 boot"])
def test_damaged_file_is_that_of_a_stopped_broker(broker: BrokerProcess, text: str) -> None:
    (broker.member.directory / "process").write_text(text)
    assert broker.state() == STOPPED
    assert not broker.signal(signal.SIGTERM)


def test_process_that_ended_and_was_not_reaped_is_stopped(broker: BrokerProcess) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        _remember(broker, ended.pid)
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert broker.state() == STOPPED


def test_port_that_is_in_use_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        layout = Layout(tmp_path)
        layout.create(1, [], other.getsockname()[1])
        with pytest.raises(ToolError, match=r"cannot listen on .*: Address already in use"):
            BrokerProcess(layout.member(0)).spawn(is_detached=True)
    assert not (tmp_path / "broker-0" / "process").exists()
