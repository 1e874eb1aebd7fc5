"""`barnabas serve` in a child process that a test may treat badly.

The broker is the command a user runs, not the embedded one: its exit status and what it writes to stderr are
part of what is promised. It keeps its port and its directory over restarts.
"""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.patience import PATIENCE

_READY = "BARNABAS_READY_FD"


class Served:
    def __init__(
        self, directory: Path, config: Mapping[str, object] | None = None, log_dirs: Sequence[Path] = ()
    ) -> None:
        self.directory: Path = directory
        self.log_dirs: list[Path] = list(log_dirs) or [directory / "logs"]
        self.port: int = free_port()
        self.config: dict[str, object] = {
            "node.id": 0,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": ",".join(map(str, self.log_dirs)),
            **(config or {}),
        }
        self.program: Sequence[str] = ("barnabas",)
        """A module and its first arguments; a test may put something between itself and the broker."""
        self.open_files_limit: int | None = None
        """Hard limit of open files, `ulimit -n`; None leaves that of the test."""
        self.stderr: Path = directory / "stderr"
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: int = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        if error is not None:
            print(self.stderr.read_text(errors="replace")[-4000:], file=sys.stderr)

    @property
    def environment(self) -> dict[str, str]:
        """`kafka-server-stop` with it finds the brokers of this test only."""
        return {**os.environ, "TMPDIR": str(self.directory)}

    @property
    def log_dir(self) -> Path:
        return self.log_dirs[0]

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    # --- life ------------------------------------------------------------------------------------------

    def spawn(self) -> Self:
        """Start the process and do not wait for the broker."""
        assert self._process is None
        command = [sys.executable, "-m", *self.program, "serve"]
        if self.open_files_limit is not None:
            command = ["sh", "-c", f'ulimit -n {self.open_files_limit}; exec "$@"', "sh", *command]
        for key, value in self.config.items():
            command += ["--override", f"{key}={value}"]
        self._ready, ready = os.pipe()
        try:
            with self.stderr.open("ab") as stderr:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    start_new_session=True,
                    pass_fds=[ready],
                    env={**self.environment, _READY: str(ready)},
                )
        finally:
            os.close(ready)
        return self

    def start(self) -> Self:
        self.spawn()
        assert self.becomes_ready(), f"the broker did not start:\n{self.stderr.read_text(errors='replace')}"
        return self

    def becomes_ready(self) -> bool:
        """True when it is ready, False when it ended instead."""
        readable, _, _ = select.select([self._ready], [], [], PATIENCE)
        assert readable, "the broker neither got ready nor ended"
        return bool(os.read(self._ready, 100))

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self.wait()

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit status."""
        status = self.process.wait(PATIENCE)
        self._process = None
        os.close(self._ready)
        return status

    def stop(self) -> None:
        self.signal()
        assert self.wait() == 0

    # --- what it tells ---------------------------------------------------------------------------------

    @property
    def lines(self) -> list[str]:
        return self.stderr.read_text(errors="replace").splitlines()

    def forget_lines(self) -> None:
        self.stderr.write_bytes(b"")

    def warnings(self) -> list[str]:
        """Without those about the event loop, which a busy machine causes."""
        found = [
            line for line in self.lines if re.search(r"^\[[^]]*\] (WARN|ERROR|FATAL) |^barnabas: ", line)
        ]
        return [line for line in found if not line.endswith("(loop)")]

    def assert_no_traceback(self) -> None:
        lines = self.lines
        for number, line in enumerate(lines):
            assert not line.startswith("Traceback"), "\n".join(lines[max(0, number - 1) : number + 25])

    # --- what /proc tells ------------------------------------------------------------------------------

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def open_files(self) -> list[str]:
        found = []
        for link in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                found.append(os.readlink(link))
        return found


def free_port() -> int:
    """Below the ports that the kernel gives to connecting sockets: none of them takes it meanwhile."""
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    start = 10_000 + os.getpid() * 7 % 10_000
    for port in range(start, low):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no free port")


def until(condition: Callable[[], bool], pause: float = 0.002) -> None:
    """Wait for what another process does."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(pause)
