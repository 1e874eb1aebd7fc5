"""A worker of a distributed Kafka Connect cluster, in a JVM of its own, and its REST interface.

Workers with the same group share connectors, tasks and the three internal topics. Connectors copy lines: from
a file to a topic in transactions, and from a topic to a file.
"""

import http.client
import json
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from benchmarks.processes import free_ports
from tests.integration.clients.drivers.member import until
from tests.integration.clients.jars import connect_command
from tests.patience import PROGRAM_PATIENCE

_PACKAGE = "org.apache.kafka.connect"
_START_SECONDS = 90
_CONVERTER = f"{_PACKAGE}.storage.StringConverter"


class Refused(Exception):
    """The worker answered with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status: int = status


class State(NamedTuple):
    """Of a connector with one task; `worker` runs the task."""

    connector: str
    task: str | None
    worker: str | None
    trace: str = ""


def source_of_lines(file: Path, topic: str) -> dict[str, str]:
    """The configuration of a connector that writes each line once, or refuses to run."""
    return {
        "connector.class": f"{_PACKAGE}.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "file": str(file),
        "topic": topic,
        "exactly.once.support": "required",
    }


def sink_of_lines(file: Path, topic: str) -> dict[str, str]:
    return {
        "connector.class": f"{_PACKAGE}.file.FileStreamSinkConnector",
        "tasks.max": "1",
        "file": str(file),
        "topics": topic,
        "consumer.override.isolation.level": "read_committed",
        "consumer.override.auto.offset.reset": "earliest",
        # A worker that lost the broker stops its tasks; their members cannot leave, and are waited for.
        "consumer.override.session.timeout.ms": "3000",
        "consumer.override.heartbeat.interval.ms": "300",
    }


class ConnectWorker:
    """`name` is what states call it; `log` what it said, which without an SLF4J binding is little."""

    def __init__(
        self,
        jars: Path,
        bootstrap_servers: str,
        group: str,
        directory: Path,
        more: Mapping[str, object] | None = None,
    ) -> None:
        (self._port,) = free_ports(1)
        directory.mkdir(parents=True, exist_ok=True)
        self.log: Path = directory / f"worker-{self._port}.log"
        self.name: str = f"127.0.0.1:{self._port}"
        properties = directory / f"worker-{self._port}.properties"
        settings = {**_settings(bootstrap_servers, group), "listeners": f"http://{self.name}", **(more or {})}
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        with self.log.open("w") as log:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [*connect_command(jars), f"{_PACKAGE}.cli.ConnectDistributed", str(properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    # --- life ------------------------------------------------------------------------------------------

    def wait_until_ready(self) -> None:
        until(self._is_ready, seconds=_START_SECONDS)

    def close(self) -> None:
        """SIGTERM: it stops its tasks and leaves the group. One that does not end tells where it hangs."""
        self._process.terminate()
        try:
            self._process.wait(PROGRAM_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            until(lambda: "JNI global refs" in self.log.read_text())
            raise AssertionError(self.log.read_text()) from None

    def kill(self) -> None:
        """kill -9: it leaves no group and closes nothing."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        try:
            # It answers only when it is a member of the group and has read the internal topics.
            self.connectors()
        except (OSError, http.client.HTTPException, Refused):
            return False
        return True

    # --- connectors ------------------------------------------------------------------------------------

    def connectors(self) -> list[str]:
        found: list[str] = self._ask("GET", "/connectors")
        return sorted(found)

    def put(self, connector: str, config: Mapping[str, str]) -> None:
        self._ask("PUT", f"/connectors/{connector}/config", config)

    def pause(self, connector: str) -> None:
        self._ask("PUT", f"/connectors/{connector}/pause")

    def resume(self, connector: str) -> None:
        self._ask("PUT", f"/connectors/{connector}/resume")

    def stop(self, connector: str) -> None:
        self._ask("PUT", f"/connectors/{connector}/stop")

    def delete(self, connector: str) -> None:
        self._ask("DELETE", f"/connectors/{connector}")

    def offsets(self, connector: str) -> list[dict[str, Any]]:
        """Partition and offset of the source or sink, as Connect has committed them."""
        found: list[dict[str, Any]] = self._ask("GET", f"/connectors/{connector}/offsets")["offsets"]
        return found

    def state(self, connector: str) -> State | None:
        """None before the connector is known, and while the worker is busy with a rebalance."""
        try:
            found = self._ask("GET", f"/connectors/{connector}/status")
        except Refused as error:
            if error.status in (404, 409, 500, 503):
                return None
            raise
        of_connector = found["connector"]["state"]
        if not found["tasks"]:
            return State(of_connector, None, None)
        (task,) = found["tasks"]
        return State(of_connector, task["state"], task["worker_id"], task.get("trace", ""))

    def wait_for(self, connector: str, connector_state: str, task: str | None, seconds: float = 60) -> State:
        """Wait until the connector and its task are in these states; a task that failed ends the wait."""
        found: list[State] = []

        def has_come() -> bool:
            state = self.state(connector)
            if state is None:
                return False
            assert state.task != "FAILED" or task == "FAILED", state.trace
            found[:] = [state]
            return state[:2] == (connector_state, task)

        until(has_come, seconds=seconds)
        return found[0]

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=100)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer_text = answer.read().decode()
        finally:
            connection.close()
        if answer.status >= 400:
            raise Refused(answer.status, answer_text)
        return json.loads(answer_text) if answer_text else None


def _settings(bootstrap_servers: str, group: str) -> dict[str, object]:
    return {
        "bootstrap.servers": bootstrap_servers,
        "group.id": group,
        "key.converter": _CONVERTER,
        "value.converter": _CONVERTER,
        "config.storage.topic": f"{group}-configs",
        "offset.storage.topic": f"{group}-offsets",
        "status.storage.topic": f"{group}-status",
        "config.storage.replication.factor": 1,
        "offset.storage.replication.factor": 1,
        "status.storage.replication.factor": 1,
        "exactly.once.source.support": "enabled",
        "connector.client.config.override.policy": "All",
        "plugin.discovery": "service_load",
        "offset.flush.interval.ms": 200,
        # A worker that is killed is missed soon, and its tasks go to the others at once.
        "session.timeout.ms": 3000,
        "heartbeat.interval.ms": 300,
        "rebalance.timeout.ms": 10000,
        "scheduled.rebalance.max.delay.ms": 0,
        "task.shutdown.graceful.timeout.ms": 2000,
        "producer.transaction.timeout.ms": 10000,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 100,
        "producer.reconnect.backoff.ms": 20,
        "producer.reconnect.backoff.max.ms": 100,
        "consumer.reconnect.backoff.ms": 20,
        "consumer.reconnect.backoff.max.ms": 100,
    }
