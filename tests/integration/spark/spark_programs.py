"""Programs of Spark's pip package, as an operator starts them: a Connect server, a standalone cluster.

Each runs in a session of its own with a log of its own, on a free port, and is killed with all it started.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from benchmarks.processes import free_ports

from barnabas.spark.worker_python import worker_python

_HOST = "127.0.0.1"
_ROOT = Path(__file__).parents[3]
PATIENCE = 240.0
"""For what takes seconds on a quiet machine."""
SHORT_LIFE = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM: in a short life compiling well does not pay, and costs the tests beside it their cores."""


def environment() -> dict[str, str]:
    """Python, and the package under test, for every process that Spark starts."""
    paths = [str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYSPARK_PYTHON": worker_python(),
        "SPARK_LOCAL_IP": _HOST,
        "JAVA_TOOL_OPTIONS": SHORT_LIFE,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


class Program:
    """A process and what it wrote."""

    def __init__(self, command: list[str], log: Path, more: Mapping[str, str] | None = None) -> None:
        self.log: Path = log
        with log.open("w") as output:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**environment(), **(more or {})},
                cwd=log.parent,
                start_new_session=True,
            )

    def wait_for(self, text: str, times: int = 1) -> "re.Match[str]":
        """Until its log says so."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = list(re.finditer(text, self.log.read_text(errors="replace")))
            if len(found) >= times:
                return found[times - 1]
            assert self.process.poll() is None, self.tail()
            time.sleep(0.05)
        raise AssertionError(f"{text} did not come:\n{self.tail()}")

    def end(self) -> None:
        """It must come to its end by itself, and well."""
        assert self.process.wait(PATIENCE) == 0, self.tail()

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-60:])

    def kill(self) -> None:
        """With its children, the hard way."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def program(command: list[str], log: Path, more: Mapping[str, str] | None = None) -> Iterator[Program]:
    started = Program(command, log, more)
    try:
        yield started
    finally:
        started.kill()


def spark_program(name: str) -> str:
    """One of the scripts that come with the package."""
    import pyspark

    return str(Path(pyspark.__file__).parent / "bin" / name)


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """The address for `SparkSession.builder.remote`."""
    (port,) = free_ports(1)
    settings = {
        "spark.connect.grpc.binding.port": port,
        "spark.connect.grpc.binding.address": _HOST,
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.warehouse.dir": directory / "warehouse",
        "spark.log.level": "INFO",
    }
    command = [spark_program("spark-submit"), "--master", "local[2]"]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with program(command, directory / "connect.log") as server:
        server.wait_for("Spark Connect server started")
        yield f"sc://{_HOST}:{port}"


class Cluster:
    """A master and its workers, of one core each."""

    def __init__(self, url: str, workers: list[Program]) -> None:
        self.url: str = url
        self.workers: list[Program] = workers


@contextmanager
def standalone_cluster(directory: Path, workers: int) -> Iterator[Cluster]:
    port, page = free_ports(2)
    url = f"spark://{_HOST}:{port}"
    run = [spark_program("spark-class")]
    master = [*run, "org.apache.spark.deploy.master.Master", "--host", _HOST]
    worker = [*run, "org.apache.spark.deploy.worker.Worker", "--host", _HOST, "--cores", "1"]
    small = {"SPARK_DAEMON_MEMORY": "256m"}
    with ExitStack() as stack:
        first = stack.enter_context(
            program(
                [*master, "--port", str(port), "--webui-port", str(page)], directory / "master.log", small
            )
        )
        first.wait_for("I have been elected leader")
        started = []
        for number in range(workers):
            home = directory / f"worker-{number}"
            home.mkdir()
            more = ["--memory", "1g", "--webui-port", "0", "--work-dir", str(home), url]
            started.append(stack.enter_context(program([*worker, *more], home / "worker.log", small)))
        first.wait_for("Registering worker", workers)
        yield Cluster(url, started)
