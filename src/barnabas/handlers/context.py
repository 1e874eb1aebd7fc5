"""What a handler may use: the parts of the broker that its family of requests needs, and the request.

Contexts are built once, by the broker. A change of the configuration or of the cluster is seen through
`settings` and `cluster`; nothing is assigned.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol, TypeVar

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.current_config import CurrentConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.base.principal import ANONYMOUS, Principal
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.controller import Controller
from barnabas.controller.producer_ids import ProducerIds
from barnabas.controller.requests import CreatedTopic, NewTopic
from barnabas.controller.topics import TopicAdmin
from barnabas.handlers.deleted_topics import DeletedTopics
from barnabas.handlers.fetch_sessions import FetchSessions
from barnabas.handlers.missing_brokers import MissingBrokers
from barnabas.handlers.unpacking import Unpacking
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import ClusterImage
from barnabas.network.connection import Peer
from barnabas.network.request_memory import RequestMemory
from barnabas.network.slices import Slices
from barnabas.replication.partitions import Partitions
from barnabas.replication.replica_moves import ReplicaMoves
from barnabas.replication.throttling import ReplicationQuota
from barnabas.storage.logs import Logs

if TYPE_CHECKING:
    from barnabas.group.coordinator import GroupCoordinator
    from barnabas.transaction.coordinator import TransactionCoordinator

P = ParamSpec("P")
T = TypeVar("T")


class StoreThread(Protocol):
    """The one thread that talks to the metadata store; it applies what changed before it returns."""

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class GroupHost(Protocol):
    """Has the group coordinator, and creates it when it is first used."""

    @property
    def is_made(self) -> bool: ...

    def get(self) -> "GroupCoordinator": ...

    def load(self) -> None:
        """Import what the coordinator needs; any thread may do it."""


class TransactionHost(Protocol):
    """The same for the transaction coordinator."""

    @property
    def is_made(self) -> bool: ...

    def get(self) -> "TransactionCoordinator": ...

    def load(self) -> None: ...


class TopicCreator(Protocol):
    """Has the controller create topics for this broker."""

    async def create(self, topics: Sequence[NewTopic]) -> list[CreatedTopic]: ...


@dataclass(frozen=True, slots=True)
class Serving:
    """What the dispatcher needs to serve requests of any kind, and long ones in slices."""

    settings: CurrentConfig
    clock: Clock
    executor: Executor
    """For work that may block: loading of schemas, cold reads, directory sizes."""
    holds: LoopHolds = field(default_factory=LoopHolds)
    """The requests and callbacks that held the event loop longer than allowed."""
    slices: Slices = field(default_factory=Slices)
    """For work with much to do: `await slices.pause()` every few items."""
    request_memory: RequestMemory = field(default_factory=RequestMemory)
    """What requests under way hold, against `queued.max.request.bytes`."""


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """The configuration and the cluster metadata: what every handler may read."""

    settings: CurrentConfig
    cluster: ClusterMetadata

    @property
    def config(self) -> BrokerConfig:
        return self.settings.value

    @property
    def image(self) -> ClusterImage:
        return self.cluster.image


@dataclass(frozen=True, slots=True)
class TopicContext(ClusterContext):
    """For requests that describe, create, change and delete topics."""

    topics: TopicAdmin
    creation: TopicCreator
    store: StoreThread
    clock: Clock
    deleted_topics: DeletedTopics = field(default_factory=DeletedTopics)


@dataclass(frozen=True, slots=True)
class ConfigContext(ClusterContext):
    """For requests about configurations."""

    configs: ConfigAdmin
    store: StoreThread


@dataclass(frozen=True, slots=True)
class LogDirContext(ClusterContext):
    """For requests about log directories."""

    logs: Logs
    partitions: Partitions
    moves: ReplicaMoves


@dataclass(frozen=True, slots=True)
class RecordContext(ClusterContext):
    """For requests that write, read and look up records."""

    partitions: Partitions
    topics: TopicContext
    """For topics that are created because a client names them."""
    transaction_host: TransactionHost
    fetch_sessions: FetchSessions
    serving: Serving
    replication_quota: ReplicationQuota
    """What this broker may send to followers that are not in sync."""
    unpacking: Unpacking = field(default_factory=Unpacking)

    @property
    def clock(self) -> Clock:
        return self.serving.clock

    @property
    def transactions(self) -> "TransactionCoordinator":
        return self.transaction_host.get()


@dataclass(frozen=True, slots=True)
class GroupContext(ClusterContext):
    """For requests about groups and committed offsets."""

    group_host: GroupHost

    @property
    def groups(self) -> "GroupCoordinator":
        return self.group_host.get()


@dataclass(frozen=True, slots=True)
class TransactionContext(GroupContext):
    """For requests about transactions and producer ids."""

    transaction_host: TransactionHost
    partitions: Partitions
    producer_ids: ProducerIds
    store: StoreThread
    clock: Clock
    slices: Slices

    @property
    def transactions(self) -> "TransactionCoordinator":
        return self.transaction_host.get()


@dataclass(frozen=True, slots=True)
class CoordinatorContext(GroupContext):
    """For requests that look for a coordinator, whose topic they may create."""

    transaction_host: TransactionHost
    creation: TopicCreator
    executor: Executor
    missing_brokers: MissingBrokers = field(default_factory=MissingBrokers)


@dataclass(frozen=True, slots=True)
class ControllerContext(ClusterContext):
    """For requests that the controller decides. The broker may not be the controller."""

    controller: Controller
    store: StoreThread


class Request(NamedTuple):
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    peer: Peer
    body: Any
    """In the newest version's shape."""
    raw: Any
    """As it came: for fields that newer versions dropped."""
    software: tuple[str, str] = ("unknown", "unknown")
    size: int = 0
    """Bytes of the frame it came in."""
    elements: int = 0
    """Of a part of a long request: how many elements the whole has (`handlers.long_request`)."""
    principal: Principal = ANONYMOUS
    is_forwarded: bool = False
    """It came from another broker, in an envelope."""
