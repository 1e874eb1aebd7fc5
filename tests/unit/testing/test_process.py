"""The parent's side of the protocol, with scripts instead of `barnabas.testing.child`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.testing import BrokerStartError, process
from barnabas.testing.process import ProcessHost

_WAITS = "import json, sys, signal; config = json.loads(sys.stdin.readline()); "


def _host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str) -> ProcessHost:
    monkeypatch.setattr(process, "_PROGRAM", program)
    return ProcessHost(tmp_path / "broker.log")


def test_child_gets_the_configuration_and_reports_its_port(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answer = "print('ready', config['port'], flush=True); sys.stdin.read()"
    host = _host(monkeypatch, tmp_path, _WAITS + answer)
    assert host.start({"port": "40123"}) == 40123
    host.stop()


def test_reason_of_a_failed_start_is_raised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host = _host(monkeypatch, tmp_path, _WAITS + "print('failed bad key', flush=True)")
    with pytest.raises(BrokerStartError, match=r"^bad key$"):
        host.start({})


def test_crash_of_the_child_shows_the_end_of_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host = _host(monkeypatch, tmp_path, _WAITS + "sys.exit('out of luck')")
    with pytest.raises(BrokerStartError, match=r"before it was ready(.|\n)*out of luck"):
        host.start({})


def test_child_that_exits_at_once_is_a_failed_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host = _host(monkeypatch, tmp_path, "raise SystemExit('no python here')")
    with pytest.raises(BrokerStartError, match="no python here"):
        host.start({"large": "x" * 1_000_000})


def test_child_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(process, "_START_TIMEOUT", 0.0)
    host = _host(monkeypatch, tmp_path, _WAITS + "signal.pause()")
    with pytest.raises(BrokerStartError, match="did not get ready in time"):
        host.start({})


def test_child_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready 1', flush=True); signal.pause()"
    host = _host(monkeypatch, tmp_path, _WAITS + deaf)
    host.start({})
    monkeypatch.setattr(process, "_STOP_TIMEOUT", 0.0)
    with pytest.raises(RuntimeError, match="was killed"):
        host.stop()


def test_child_sees_the_end_of_its_input_when_the_parent_is_killed(tmp_path: Path) -> None:
    """The lifeline: nothing keeps the child's input open but the parent."""
    ended, writer = os.pipe()
    child = "import sys; sys.stdin.readline(); print('ready 1', flush=True); sys.stdin.read()"
    parent = (
        "import sys, pathlib\n"
        "from barnabas.testing import process\n"
        f"process._PROGRAM = {child!r}\n"
        "process.subprocess.Popen = __import__('functools').partial(\n"
        f"    process.subprocess.Popen, pass_fds=[{writer}])\n"
        "process.ProcessHost(pathlib.Path(sys.argv[1])).start({})\n"
        "__import__('os').kill(__import__('os').getpid(), 9)\n"
    )
    command = [sys.executable, "-c", parent, str(tmp_path / "broker.log")]
    subprocess.run(command, pass_fds=[writer], check=False)
    os.close(writer)
    with open(ended, "rb") as pipe:
        assert pipe.read() == b""  # the end of the pipe: the child, which holds the other end, has ended
