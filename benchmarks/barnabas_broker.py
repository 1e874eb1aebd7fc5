"""Barnabas as a child process: `python -m barnabas serve` with the Python that runs the benchmark."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.broker_settings import COMMON
from benchmarks.clusters import BROKERS, SETTINGS, RunningCluster
from benchmarks.processes import BrokerProcess, free_ports, wait_until_ready

SOURCES = Path(__file__).resolve().parent.parent / "src"

_PROPERTIES = """broker.id=1
listeners=PLAINTEXT://127.0.0.1:{port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={log_dir}
"""


_MEMBER = """broker.id={number}
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={log_dir}
barnabas.metadata.store.path={store}
"""


class Barnabas:
    """Starts Barnabas brokers from this checkout."""

    name = "Barnabas"

    def launch(self, directory: Path, partitions: int = 0) -> BrokerProcess:
        """Start on `directory`; returns when Metadata answers and shows `partitions` led partitions."""
        (port,) = free_ports(1)
        directory.mkdir(parents=True, exist_ok=True)
        text = _PROPERTIES.format(port=port, log_dir=directory / "logs") + COMMON
        process = self._start(directory, port, text)
        wait_until_ready(process, timeout=60.0, partitions=partitions)
        return process

    def launch_cluster(self, directory: Path) -> RunningCluster:
        """Start brokers that share a metadata store; returns when all processes are started."""
        ports = free_ports(BROKERS)

        def start(number: int) -> BrokerProcess:
            own = directory / str(number)
            own.mkdir(parents=True, exist_ok=True)
            text = _MEMBER.format(
                number=number + 1, port=ports[number], log_dir=own / "logs", store=directory / "metadata.db"
            )
            return self._start(own, ports[number], text + COMMON + SETTINGS)

        return RunningCluster(self.name, start)

    def _start(self, directory: Path, port: int, text: str) -> BrokerProcess:
        properties = directory / "server.properties"
        properties.write_text(text)
        inherited = os.environ.get("PYTHONPATH")
        environment = {"PYTHONPATH": f"{SOURCES}{os.pathsep}{inherited}" if inherited else str(SOURCES)}
        return BrokerProcess.start(
            self.name,
            [sys.executable, "-m", "barnabas", "serve", str(properties)],
            port=port,
            log_dir=directory / "logs",
            output=directory / "output.log",
            environment=environment,
        )
