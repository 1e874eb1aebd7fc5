"""What a handler may use: the broker's parts, and the request with who sent it."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol, TypeVar

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.producer_ids import ProducerIds
from barnabas.controller.topics import TopicAdmin
from barnabas.handlers.deleted_topics import DeletedTopics
from barnabas.handlers.unpacking import Unpacking
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import ClusterImage
from barnabas.network.connection import Peer
from barnabas.network.request_memory import RequestMemory
from barnabas.network.slices import Slices
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.partitions import Partitions
from barnabas.storage.logs import Logs

if TYPE_CHECKING:
    from barnabas.coordinator.group_coordinator import GroupCoordinator
    from barnabas.coordinator.transaction_coordinator import TransactionCoordinator

P = ParamSpec("P")
T = TypeVar("T")


class StoreThread(Protocol):
    """The one thread that talks to the metadata store; it applies what changed before it returns."""

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class GroupHost(Protocol):
    """Has the group coordinator, and makes it when it is first asked for."""

    def get(self) -> "GroupCoordinator": ...


class TransactionHost(Protocol):
    """The same for the transaction coordinator."""

    def get(self) -> "TransactionCoordinator": ...


@dataclass(slots=True)
class Context:
    """Built once by the broker. Handlers read it; only the broker replaces `config` (dynamic changes)."""

    config: BrokerConfig
    clock: Clock
    cluster: ClusterMetadata
    topics: TopicAdmin
    configs: ConfigAdmin
    producer_ids: ProducerIds
    partitions: Partitions
    logs: Logs
    fetch_sessions: FetchSessions
    store: StoreThread
    group_host: GroupHost
    transaction_host: TransactionHost
    executor: Executor
    """For work that may block: cold reads, directory sizes."""
    deleted_topics: DeletedTopics = field(default_factory=DeletedTopics)
    holds: LoopHolds = field(default_factory=LoopHolds)
    """Who held the event loop longer than allowed."""
    slices: Slices = field(default_factory=Slices)
    """For handlers with much to do: `await slices.pause()` every few items."""
    unpacking: Unpacking = field(default_factory=Unpacking)
    request_memory: RequestMemory = field(default_factory=RequestMemory)
    """What requests under way hold, against `queued.max.request.bytes`."""

    @property
    def image(self) -> ClusterImage:
        return self.cluster.image

    @property
    def groups(self) -> "GroupCoordinator":
        return self.group_host.get()

    @property
    def transactions(self) -> "TransactionCoordinator":
        return self.transaction_host.get()


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
