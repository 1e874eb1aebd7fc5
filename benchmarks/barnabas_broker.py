"""Barnabas as a child process: `python -m barnabas serve` with the Python that runs the benchmark."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.broker_settings import COMMON
from benchmarks.processes import BrokerProcess, free_ports, wait_until_ready

SOURCES = Path(__file__).resolve().parent.parent / "src"

_PROPERTIES = """broker.id=1
listeners=PLAINTEXT://127.0.0.1:{port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={log_dir}
"""


class Barnabas:
    """Starts Barnabas brokers from this checkout."""

    name = "Barnabas"

    def launch(self, directory: Path, partitions: int = 0) -> BrokerProcess:
        """Start on `directory`; returns when Metadata answers and shows `partitions` led partitions."""
        (port,) = free_ports(1)
        directory.mkdir(parents=True, exist_ok=True)
        log_dir = directory / "logs"
        properties = directory / "server.properties"
        properties.write_text(_PROPERTIES.format(port=port, log_dir=log_dir) + COMMON)
        inherited = os.environ.get("PYTHONPATH")
        environment = {"PYTHONPATH": f"{SOURCES}{os.pathsep}{inherited}" if inherited else str(SOURCES)}
        command = [sys.executable, "-m", "barnabas", "serve", str(properties)]
        process = BrokerProcess.start(
            self.name,
            command,
            port=port,
            log_dir=log_dir,
            output=directory / "output.log",
            environment=environment,
        )
        wait_until_ready(process, timeout=60.0, partitions=partitions)
        return process
