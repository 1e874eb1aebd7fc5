"""Locks, with a second process that is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.pipelines.common.table_lock import InUse, hold, locked, release

_HOLDER = """
import sys
from pathlib import Path
from barnabas.pipelines.common.table_lock import hold
hold(Path(sys.argv[1]), "checkpoint x", "theirs")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _release() -> Iterator[None]:
    yield
    release("ours")


def test_a_lock_is_free_again_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="inside"), locked(tmp_path / "table"):
        raise RuntimeError("inside")
    with locked(tmp_path / "table"):
        pass


def test_a_second_driver_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        with pytest.raises(InUse, match=rf"^checkpoint x is in use by process {first.pid} on \S+: stop that"):
            hold(path, "checkpoint x", "ours")
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
    hold(path, "checkpoint x", "ours")
    hold(path, "checkpoint x", "ours")
    assert path.read_text().startswith(f"process {os.getpid()} on ")


def test_what_a_run_held_is_free_after_it(tmp_path: Path) -> None:
    hold(tmp_path / "x.lock", "checkpoint x", "theirs")
    with pytest.raises(InUse):
        hold(tmp_path / "x.lock", "checkpoint x", "ours")
    release("theirs")
    hold(tmp_path / "x.lock", "checkpoint x", "ours")
