"""The directory of a local cluster, and its files.

    server-0.properties     the configuration of broker 0, for `barnabas serve`; you may edit it
    broker-0/kafka-logs/    its log directory
    broker-0/broker.log     what it prints
    broker-0/process        its process (`local_cluster.process`)
    store/metadata.db       the metadata store that all brokers share

The properties files say which brokers there are. A file is written once and never changed.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from barnabas.base.config.properties import load_properties
from barnabas.base.errors import KafkaError
from barnabas.cli.tool_errors import ToolError

HOST = "127.0.0.1"
_FILE = re.compile(r"server-(\d+)\.properties")
_HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Member:
    """A broker of the cluster, as its properties file describes it."""

    id: int
    properties: Path
    directory: Path
    port: int
    rack: str | None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


class Layout:
    def __init__(self, directory: Path) -> None:
        self.directory: Path = directory

    def members(self) -> list[Member]:
        """The brokers by id. Raises ToolError if there are none, or a file cannot be read."""
        try:
            names = [_FILE.fullmatch(path.name) for path in self.directory.iterdir()]
        except OSError:
            names = []
        found = [self._member(int(each[1])) for each in names if each is not None]
        if not found:
            raise ToolError(f"{self.directory} holds no cluster: create one with `barnabas cluster up`")
        return sorted(found, key=lambda member: member.id)

    def member(self, broker: int) -> Member:
        members = self.members()
        for each in members:
            if each.id == broker:
                return each
        ids = ", ".join(str(each.id) for each in members)
        raise ToolError(f"the cluster in {self.directory} has no broker {broker} (it has {ids})")

    def is_empty(self) -> bool:
        return not any(self.directory.glob("server-*.properties"))

    def create(self, brokers: int, racks: Sequence[str], port: int) -> None:
        """Write the files of a new cluster. Raises ToolError if the numbers do not fit."""
        if racks and len(racks) != brokers:
            raise ToolError(f"{brokers} brokers need {brokers} racks, not {len(racks)}: --racks a,b,c")
        if port + brokers - 1 > _HIGHEST_PORT:
            raise ToolError(f"the ports {port} to {port + brokers - 1} are too high: ports end at 65535")
        self.directory.mkdir(parents=True, exist_ok=True)
        for broker in range(brokers):
            self._write(broker, port + broker, racks[broker] if racks else None, replicas=min(brokers, 3))

    def add(self, rack: str | None) -> Member:
        """Write the file of one more broker, with the next id and the next port."""
        members = self.members()
        last = members[-1]
        port = max(each.port for each in members) + 1
        if port > _HIGHEST_PORT:
            raise ToolError("no port is left above those of the other brokers")
        replicas = int(_load(last.properties).get("offsets.topic.replication.factor", "1"))
        self._write(last.id + 1, port, rack, replicas)
        return self.member(last.id + 1)

    def _write(self, broker: int, port: int, rack: str | None, replicas: int) -> None:
        home = self.directory.absolute()
        lines = [
            f"# Broker {broker}, written by `barnabas cluster`. Changes take effect when it is restarted.",
            f"node.id={broker}",
            f"listeners=PLAINTEXT://{HOST}:{port}",
            f"log.dirs={home}/broker-{broker}/kafka-logs",
            f"barnabas.metadata.store.path={home}/store/metadata.db",
            f"default.replication.factor={replicas}",
            f"offsets.topic.replication.factor={replicas}",
            f"transaction.state.log.replication.factor={replicas}",
            f"transaction.state.log.min.isr={min(replicas, 2)}",
        ]
        if rack is not None:
            lines.append(f"broker.rack={rack}")
        (self.directory / f"broker-{broker}").mkdir(parents=True, exist_ok=True)
        (self.directory / f"server-{broker}.properties").write_text("\n".join(lines) + "\n")

    def _member(self, broker: int) -> Member:
        path = self.directory / f"server-{broker}.properties"
        values = _load(path)
        listener = values.get("listeners", "")
        port = listener.rpartition(":")[2]
        if not port.isdecimal():
            raise ToolError(f"{path}: listeners={listener} has no port")
        return Member(broker, path, self.directory / f"broker-{broker}", int(port), values.get("broker.rack"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One command at a time changes which brokers there are and starts them."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / ".lock").open("w") as file:
            try:
                flock(file, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                raise ToolError(f"another command is starting brokers in {self.directory}") from None
            yield


def _load(path: Path) -> dict[str, str]:
    try:
        return load_properties(path)
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror or error}") from error
    except KafkaError as error:
        raise ToolError(error.message) from error
