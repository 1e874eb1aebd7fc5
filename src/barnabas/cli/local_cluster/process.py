"""The process of a broker of a local cluster: started, found again by another command, and given signals.

`broker-N/process` is one line, `<pid> <start time>`: the start time is that of /proc/<pid>/stat, in clock
ticks since boot, with the id of the boot. A pid alone is not enough, since a later process may have it. A
signal goes through a file descriptor of the process, which is opened before the start time is compared, so
no other process can ever get it.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from barnabas.cli.local_cluster.layout import HOST, Member
from barnabas.cli.serve import READY_VARIABLE
from barnabas.cli.tool_errors import ToolError

RUNNING, PAUSED, STOPPED = "running", "paused", "stopped"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STOP_SECONDS = 60.0
_LOOK_SECONDS = 0.02
_PR_SET_PDEATHSIG = 1


class Identity(NamedTuple):
    pid: int
    start: str


class BrokerProcess:
    def __init__(self, member: Member) -> None:
        self.member: Member = member
        self._file: Path = member.directory / "process"

    def pid(self) -> int | None:
        """None if the broker does not run."""
        found = self._known()
        return None if found is None or _identity(found.pid) != found else found.pid

    def state(self) -> str:
        pid = self.pid()
        if pid is None:
            return STOPPED
        try:
            letter = _stat(pid)[0]
        except OSError:
            return STOPPED
        return PAUSED if letter in "Tt" else RUNNING

    def signal(self, number: signal.Signals) -> bool:
        """Returns False if the broker does not run."""
        with self._opened() as descriptor:
            if descriptor is None:
                return False
            try:
                signal.pidfd_send_signal(descriptor, number)
            except ProcessLookupError:
                return False
        return True

    def stop(self) -> bool:
        """Ask for a clean stop, also of a paused broker. Returns False if it does not run."""
        is_running = self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        return is_running

    def wait_until_stopped(self) -> None:
        """Raises ToolError if it takes too long."""
        deadline = time.monotonic() + _STOP_SECONDS
        while self.pid() is not None:
            if time.monotonic() > deadline:
                raise ToolError(
                    f"broker {self.member.id} has not stopped after {_STOP_SECONDS:.0f} s: see {self.log}, "
                    f"or end it with `barnabas cluster kill {self.member.id}`"
                )
            time.sleep(_LOOK_SECONDS)

    @property
    def log(self) -> Path:
        return self.member.directory / "broker.log"

    def spawn(self, *, is_detached: bool) -> "Start":
        """Start the process, unless it runs. Without `is_detached` it stops when this process ends."""
        if self.pid() is not None:
            raise ToolError(f"broker {self.member.id} runs already (pid {self.pid()})")
        self._check_port()
        reader, writer = os.pipe()
        self.member.directory.mkdir(parents=True, exist_ok=True)
        begin = self.log.stat().st_size if self.log.exists() else 0
        try:
            process = self._popen(writer, is_detached)
        finally:
            os.close(writer)
        identity = _identity(process.pid)
        if identity is not None:
            self._file.write_text(f"{identity.pid} {identity.start}\n")
        return Start(self, process, reader, begin)

    def _popen(self, ready: int, is_detached: bool) -> "subprocess.Popen[bytes]":
        with self.log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "barnabas", "serve", str(self.member.properties)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[ready],
                env={**os.environ, READY_VARIABLE: str(ready)},
                preexec_fn=None if is_detached else _stop_with_parent,
            )

    def _check_port(self) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, self.member.port))
            except OSError as error:
                raise ToolError(
                    f"broker {self.member.id} cannot listen on {self.member.address}: {error.strerror}; "
                    f"choose other ports with --port, or change {self.member.properties}"
                ) from error

    def _known(self) -> Identity | None:
        try:
            pid, start = self._file.read_text().split(maxsplit=1)
            return Identity(int(pid), start.strip())
        except (OSError, ValueError):
            return None

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        """A descriptor of the process; None if it does not run."""
        known = self._known()
        descriptor = None
        if known is not None:
            with suppress(OSError, OverflowError):
                descriptor = os.pidfd_open(known.pid)
        try:
            # Compared after it was opened: the descriptor cannot become that of another process.
            is_ours = descriptor is not None and known is not None and _identity(known.pid) == known
            yield descriptor if is_ours else None
        finally:
            if descriptor is not None:
                os.close(descriptor)


class Start:
    """A broker that is starting."""

    def __init__(
        self, broker: BrokerProcess, process: "subprocess.Popen[bytes]", ready: int, log_begin: int
    ) -> None:
        self._broker: BrokerProcess = broker
        self._process: subprocess.Popen[bytes] = process
        self._ready: int = ready
        self._log_begin: int = log_begin

    def wait(self) -> None:
        """Wait until clients can connect. Raises ToolError with the reason if the broker ends instead."""
        with open(self._ready, "rb") as pipe:
            is_ready = bool(pipe.readline())
        if is_ready:
            self._process.returncode = 0  # It outlives this object on purpose: no ResourceWarning.
            return
        self._process.wait()
        raise ToolError(f"broker {self._broker.member.id} did not start: {self._reason()}")

    def _reason(self) -> str:
        with self._broker.log.open("rb") as log:
            log.seek(self._log_begin)
            lines = log.read().decode(errors="replace").splitlines()
        errors = [line for line in lines if line.startswith("barnabas: ") and " warning: " not in line]
        return errors[-1].removeprefix("barnabas: ") if errors else f"see {self._broker.log}"


def reap() -> None:
    """Take leave of children that have ended: otherwise they stay as zombies."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _identity(pid: int) -> Identity | None:
    """None if there is no such process, or it has ended and was not reaped."""
    try:
        state, start = _stat(pid)
        boot = _BOOT_ID.read_text().strip()
    except OSError:
        return None
    return None if state in "ZX" else Identity(pid, f"{start} {boot}")


def _stat(pid: int) -> tuple[str, str]:
    """State and start time. The name of the program, in parentheses, may have spaces."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], fields[19]


def _stop_with_parent() -> None:
    """In the child: SIGTERM when the parent ends, however it ends."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
