"""Broker processes: start, time until the first successful Metadata request, resident memory, stop.

Memory is what Linux's /proc says of the process (`VmRSS`, `VmHWM`). Only processes started here are
signalled.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import protocol
from benchmarks.raw_client import Connection

HOST = "127.0.0.1"


class BrokerFailed(Exception):
    """A broker exited or did not become ready; the message ends with the tail of its output."""


def free_ports(count: int) -> list[int]:
    """Ports that no process listens on now, all different."""
    probes = [socket.create_server((HOST, 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class BrokerProcess:
    """One running broker, reachable at `HOST:port`."""

    def __init__(
        self,
        name: str,
        process: subprocess.Popen[bytes],
        port: int,
        log_dir: Path,
        output: Path,
        started: float,
    ) -> None:
        self.name = name
        self.port = port
        self.log_dir = log_dir
        self.ready_seconds = 0.0
        self._process = process
        self._output = output
        self._started = started

    @classmethod
    def start(
        cls,
        name: str,
        command: Sequence[str],
        *,
        port: int,
        log_dir: Path,
        output: Path,
        environment: Mapping[str, str] | None = None,
    ) -> BrokerProcess:
        with output.open("ab") as sink:
            started = time.perf_counter()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        return cls(name, process, port, log_dir, output, started)

    @property
    def bootstrap_servers(self) -> str:
        return f"{HOST}:{self.port}"

    def connect(self) -> Connection:
        return Connection(HOST, self.port)

    def mark_ready(self) -> None:
        self.ready_seconds = self.seconds_since_exec()

    def check_running(self) -> None:
        code = self._process.poll()
        if code is not None:
            raise BrokerFailed(f"{self.name} exited with {code}:\n{self.output_tail()}")

    def rss_mb(self) -> float:
        return self._memory_mb("VmRSS:")

    def peak_rss_mb(self) -> float:
        return self._memory_mb("VmHWM:")

    def cpu_seconds(self) -> float:
        """User and system time of all threads since the start."""
        self.check_running()
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """SIGKILL: what a crash of the process leaves behind."""
        self._process.kill()
        self._process.wait()

    def seconds_since_exec(self) -> float:
        return time.perf_counter() - self._started

    def terminate(self) -> None:
        """SIGTERM, without waiting for the end."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self, timeout: float = 60.0) -> None:
        """SIGTERM and wait, as a clean stop does; SIGKILL only for a broker that does not follow."""
        if self._process.poll() is None:
            self.terminate()
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _memory_mb(self, field: str) -> float:
        self.check_running()
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024 / 1e6
        raise BrokerFailed(f"{self.name}: /proc has no {field}")

    def output_tail(self) -> str:
        return "\n".join(self._output.read_text(errors="replace").splitlines()[-15:])


def wait_until_ready(process: BrokerProcess, timeout: float, partitions: int = 0) -> None:
    """Ask for Metadata until it names a broker and `partitions` led partitions; keeps the time since exec."""
    deadline = time.perf_counter() + timeout
    request = protocol.metadata(None if partitions else [])
    while time.perf_counter() < deadline:
        process.check_running()
        try:
            with process.connect() as connection:
                while time.perf_counter() < deadline:
                    view = protocol.parse_metadata(connection.call(request))
                    if view.brokers and sum(view.led_partitions.values()) >= partitions:
                        process.mark_ready()
                        return
                    time.sleep(0.002)
        except OSError:
            time.sleep(0.002)
    process.stop(timeout=5.0)
    raise BrokerFailed(f"{process.name} was not ready after {timeout:.0f} s:\n{process.output_tail()}")
