"""Apache Kafka as the yardstick: jars from Maven Central, a single KRaft node with the options it ships with.

Jars and a formatted, empty data directory are kept in the cache (`$BARNABAS_BENCH_CACHE`, else
`~/.cache/barnabas-bench`), so Maven runs once per version and formatting costs one JVM start once.
Whatever is missing (java, mvn, the network) raises `ApacheKafkaUnavailable` with a sentence a person can
act on; the benchmark then measures Barnabas alone.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path

from benchmarks.broker_settings import COMMON
from benchmarks.clusters import BROKERS, SETTINGS, RunningCluster
from benchmarks.file_lock import file_lock
from benchmarks.processes import BrokerProcess, free_ports, wait_until_ready

VERSION = "4.3.1"
SCALA = "2.13"
LOG4J = "2.25.4"
"""As Kafka's own jars bring it; the SLF4J binding is in the distribution but not among their dependencies."""

# kafka-run-class.sh starts brokers with these.
JVM_OPTIONS = (
    "-server",
    "-Xmx1G",
    "-Xms1G",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>barnabas</groupId>
  <artifactId>benchmark-yardstick</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_{SCALA}</artifactId>
      <version>{VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-tools</artifactId>
      <version>{VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>{LOG4J}</version>
    </dependency>
  </dependencies>
</project>
"""

_LOG4J = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN">
  <Appenders>
    <Console name="stdout"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
  </Appenders>
  <Loggers>
    <Root level="WARN"><AppenderRef ref="stdout"/></Root>
  </Loggers>
</Configuration>
"""

_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={log_dir}
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
log.initial.task.delay.ms=500
"""


_MEMBER = """process.roles=broker,controller
node.id={number}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={log_dir}
log.initial.task.delay.ms=500
"""
"""One of several combined nodes."""


class ApacheKafkaUnavailable(Exception):
    """Apache Kafka cannot be run on this machine; the message says why."""


def default_cache() -> Path:
    configured = os.environ.get("BARNABAS_BENCH_CACHE")
    return Path(configured) if configured else Path.home() / ".cache" / "barnabas-bench"


class ApacheKafka:
    """Starts Apache Kafka nodes from cached jars. Build it with `ApacheKafka.fetch`."""

    name = "Apache Kafka"

    def __init__(self, java: str, home: Path, jvm_options: Sequence[str] = JVM_OPTIONS) -> None:
        self.version = VERSION
        self._java = java
        self._home = home
        self._jvm_options = jvm_options

    @classmethod
    def fetch(cls, cache: Path, jvm_options: Sequence[str] = JVM_OPTIONS) -> ApacheKafka:
        java = shutil.which("java")
        if java is None:
            raise ApacheKafkaUnavailable("java is not installed")
        home = cache / f"apache-kafka-{VERSION}"
        kafka = cls(java, home, jvm_options)
        with file_lock(cache / "fetching"):
            if not (home / "jars.complete").exists():
                _download(home)
            if not (home / "formatted.complete").exists():
                kafka._format()
        return kafka

    @property
    def jars(self) -> Path:
        """The directory with its jars and those they need."""
        return self._home / "jars"

    def launch(self, directory: Path, settings: str = "") -> BrokerProcess:
        """Start on the data in `directory` (prepared when new); returns when a Metadata request succeeds.

        `settings` are further lines of server.properties; they win over the common ones.
        """
        log_dir = directory / "logs"
        if not log_dir.exists():
            shutil.copytree(self._home / "formatted", log_dir)
        port, controller_port = free_ports(2)
        own = _PROPERTIES.format(port=port, controller_port=controller_port, log_dir=log_dir)
        process = self._start(directory, port, own + COMMON + settings)
        wait_until_ready(process, timeout=60.0)
        return process

    def launch_cluster(self, directory: Path) -> RunningCluster:
        """Start combined nodes; returns when all processes are started."""
        ports, controllers = free_ports(BROKERS), free_ports(BROKERS)
        voters = ",".join(f"{number + 1}@127.0.0.1:{port}" for number, port in enumerate(controllers))

        def start(number: int) -> BrokerProcess:
            own = directory / str(number)
            log_dir = own / "logs"
            if not log_dir.exists():
                shutil.copytree(self._home / "formatted", log_dir)
                _set_node_id(log_dir / "meta.properties", number + 1)
            text = _MEMBER.format(
                number=number + 1,
                voters=voters,
                port=ports[number],
                controller_port=controllers[number],
                log_dir=log_dir,
            )
            return self._start(own, ports[number], text + COMMON + SETTINGS)

        return RunningCluster(self.name, start)

    def _start(self, directory: Path, port: int, text: str) -> BrokerProcess:
        properties = directory / "server.properties"
        properties.write_text(text)
        return BrokerProcess.start(
            self.name,
            [*self._java_command(), "kafka.Kafka", str(properties)],
            port=port,
            log_dir=directory / "logs",
            output=directory / "output.log",
        )

    def _java_command(self) -> list[str]:
        log4j = self._home / "log4j2.xml"
        classpath = f"{self.jars}/*"
        return [self._java, *self._jvm_options, f"-Dlog4j2.configurationFile={log4j}", "-cp", classpath]

    def _format(self) -> None:
        target = self._home / "formatted"
        shutil.rmtree(target, ignore_errors=True)
        (self._home / "log4j2.xml").write_text(_LOG4J)
        properties = self._home / "format.properties"
        # Ports are not part of what formatting writes, so one formatted directory serves every start.
        properties.write_text(_PROPERTIES.format(port=9092, controller_port=9093, log_dir=target) + COMMON)
        command = [*self._java_command(), "kafka.tools.StorageTool"]
        command += ["format", "-t", "YmFybmFiYXNfYmVuY2gwMA", "-c", str(properties)]
        _run(command, "formatting a log directory")
        (self._home / "formatted.complete").touch()


def _set_node_id(path: Path, number: int) -> None:
    """Make the copy of a formatted log directory that of another node, with a directory id of its own."""
    lines = [
        line for line in path.read_text().splitlines() if not line.startswith(("node.id", "directory.id"))
    ]
    directory_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    path.write_text("\n".join([*lines, f"node.id={number}", f"directory.id={directory_id}", ""]))


def _download(home: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise ApacheKafkaUnavailable("mvn (Apache Maven) is not installed, so its jars cannot be fetched")
    home.mkdir(parents=True, exist_ok=True)
    (home / "pom.xml").write_text(_POM)
    command = [maven, "-q", "-B", "-f", str(home / "pom.xml"), "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={home / 'jars'}"]
    _run(command, "fetching its jars from Maven Central")
    (home / "jars.complete").touch()


def _run(command: list[str], purpose: str) -> None:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    except subprocess.TimeoutExpired:
        raise ApacheKafkaUnavailable(f"{purpose} took more than 15 minutes") from None
    if result.returncode != 0:
        lines = (result.stdout + result.stderr).strip().splitlines() or ["no output"]
        first = next((line for line in lines if "ERROR" in line or "Exception" in line), lines[-1])
        raise ApacheKafkaUnavailable(f"{purpose} failed: {first.strip()[:300]}")
