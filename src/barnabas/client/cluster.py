"""A cluster as a tool sees it: its brokers, leaders, coordinators and controller, and requests to them.

Connections are opened when first needed and kept. A caller that sends several requests ahead leases a
connection (`lease`) and returns it. Cached metadata (brokers, coordinators) is dropped after a retriable
error and requested again: `retried` is the one loop that does so.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from barnabas.client.address import Address
from barnabas.client.connection import Connection
from barnabas.client.errors import BrokerError, Unreachable, check
from barnabas.client.settings import ClientSettings

GROUP, TRANSACTION = 0, 1
"""Kinds of coordinators, as FindCoordinator numbers them."""

_PAUSE = 0.1
T = TypeVar("T")


class Node(NamedTuple):
    id: int
    host: str
    port: int
    rack: str | None

    @property
    def address(self) -> Address:
        return Address(self.host, self.port)


class Cluster:
    def __init__(self, settings: ClientSettings) -> None:
        self.settings: ClientSettings = settings
        self._bootstrap: Connection | None = None
        self._connections: dict[int, Connection] = {}
        self._leased: dict[Connection, int] = {}
        self._idle: dict[int, list[Connection]] = {}
        self._nodes: dict[int, Node] = {}
        self._addresses: dict[int, Address] = {}
        self._controller_id: int = -1
        self._cluster_id: str | None = None
        self._coordinators: dict[tuple[int, str], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        idle = [connection for each in self._idle.values() for connection in each]
        for connection in [self._bootstrap, *self._connections.values(), *idle, *self._leased]:
            if connection is not None:
                connection.close()
        self._connections.clear()
        self._idle.clear()
        self._leased.clear()
        self._bootstrap = None

    # --- requests ------------------------------------------------------------------------------------

    def request(
        self, api: str, *, to: int | None = None, max_version: int | None = None, **fields: object
    ) -> Any:
        """The response of broker `to` (None: any broker), in the newest shape of that response."""
        return self.connection(to).request(api, fields, max_version)

    def send_to_controller(self, api: str, *, max_version: int | None = None, **fields: object) -> Any:
        return self.request(api, to=self.controller_id, max_version=max_version, **fields)

    def send_to_coordinator(
        self, kind: int, key: str, api: str, *, max_version: int | None = None, **fields: object
    ) -> Any:
        """To the coordinator of a group (kind GROUP) or of a transactional id (TRANSACTION)."""
        return self.request(api, to=self.coordinator(kind, key), max_version=max_version, **fields)

    def version_of(self, api: str, *, to: int | None = None, max_version: int | None = None) -> int:
        """The version of the request. Raises Unsupported if the broker does not serve it."""
        return self.connection(to).version_of(api, max_version)

    def retried(self, attempt: Callable[[], T]) -> T:
        """Repeats `attempt` while a broker responds with a retriable error, up to the API timeout."""
        deadline = time.monotonic() + self.settings.api_timeout
        while True:
            try:
                return attempt()
            except BrokerError as error:
                if not error.is_retriable or time.monotonic() + _PAUSE > deadline:
                    raise
            self.forget()
            time.sleep(_PAUSE)

    # --- metadata ------------------------------------------------------------------------------------

    @property
    def nodes(self) -> dict[int, Node]:
        if not self._nodes:
            self.metadata([])
        return self._nodes

    @property
    def controller_id(self) -> int | None:
        """None if no controller is known: any broker takes the request then."""
        if not self._nodes:
            self.metadata([])
        return self._controller_id if self._controller_id in self._nodes else None

    @property
    def cluster_id(self) -> str | None:
        if not self._nodes:
            self.metadata([])
        return self._cluster_id

    def metadata(self, topics: Sequence[str] | None, *, is_creating: bool = False) -> Any:
        """The Metadata response for these topics (None: all).

        With `is_creating` a broker with auto creation creates missing topics, as for Kafka's producers. A
        new topic has no leaders at first.
        """
        wanted = None if topics is None else [{"name": name, "topic_id": None} for name in topics]
        answer = self.request("metadata", topics=wanted, allow_auto_topic_creation=is_creating)
        self._nodes = {
            each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in answer.brokers
        }
        self._addresses |= {node.id: node.address for node in self._nodes.values()}
        self._controller_id = answer.controller_id
        self._cluster_id = answer.cluster_id
        return answer

    def leaders(self, topics: Iterable[str]) -> dict[tuple[str, int], int]:
        """The leader of each partition of these topics. Raises BrokerError if one is missing."""
        found = {}
        for topic in self.metadata(list(topics)).topics:
            check(topic.error_code)
            for partition in topic.partitions:
                check(partition.error_code)
                found[topic.name, partition.partition_index] = partition.leader_id
        return found

    def coordinator(self, kind: int, key: str) -> int:
        """The id of the coordinator. Raises BrokerError, often a retriable one (`retried`)."""
        if (kind, key) not in self._coordinators:
            answer = self.request("find_coordinator", max_version=3, key=key, key_type=kind)
            check(answer.error_code, answer.error_message)
            if answer.node_id not in self.nodes:
                self._nodes[answer.node_id] = Node(answer.node_id, answer.host, answer.port, None)
            self._coordinators[kind, key] = answer.node_id
        return self._coordinators[kind, key]

    def forget(self) -> None:
        """Drops the cached brokers and coordinators."""
        self._nodes = {}
        self._coordinators.clear()

    # --- connections ---------------------------------------------------------------------------------

    def connection(self, to: int | None = None) -> Connection:
        """A connection to broker `to`, or to the first bootstrap server that answers. Raises Unreachable."""
        if to is None:
            if self._bootstrap is not None and not self._bootstrap.is_idle:
                self._bootstrap.close()
                self._bootstrap = None
            if self._bootstrap is None:
                self._bootstrap = self._open_any()
            return self._bootstrap
        known = self._connections.get(to)
        if known is not None:
            if known.is_idle:
                return known
            known.close()
        self._connections[to] = self._open_to(to)
        return self._connections[to]

    def lease(self, to: int) -> Connection:
        """A connection to broker `to` for the caller alone, until `give_back`. Raises Unreachable."""
        connection = self._idle_one(to) or self._open_to(to)
        self._leased[connection] = to
        return connection

    def _idle_one(self, to: int) -> Connection | None:
        idle = self._idle.get(to, [])
        while idle:
            connection = idle.pop()
            if connection.is_idle:
                return connection
            connection.close()
        return None

    def give_back(self, connection: Connection) -> None:
        """Closes a connection with outstanding responses: they would mix with those of later requests."""
        to = self._leased.pop(connection, None)
        if to is not None and connection.is_idle:
            self._idle.setdefault(to, []).append(connection)
        else:
            connection.close()

    def _open_to(self, to: int) -> Connection:
        if to not in self.nodes:
            raise Unreachable(f"The cluster has no broker {to} (it has {_listed(self.nodes)})")
        return self._open(self.nodes[to].address)

    def _open_any(self) -> Connection:
        """A connection to a bootstrap server or a known broker: bootstrap servers may be down by now."""
        deadline = time.monotonic() + self.settings.patience
        while True:
            reasons = []
            for address in dict.fromkeys((*self.settings.bootstrap, *self._addresses.values())):
                try:
                    return self._open(address)
                except Unreachable as error:
                    reasons.append(str(error))
            if time.monotonic() + _PAUSE > deadline:
                raise Unreachable(f"No broker answers ({'; '.join(reasons)}). Is it running?")
            time.sleep(_PAUSE)

    def _open(self, address: Address) -> Connection:
        settings = self.settings
        return Connection(
            address,
            client_id=settings.client_id,
            connect_timeout=settings.connect_timeout,
            timeout=settings.request_timeout,
            receive_buffer=settings.receive_buffer,
        )


def _listed(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(nodes))) or "none"
