"""A broker without a network: real metadata store, logs and partitions in a temporary directory, one
thread.

`ask` takes a request's fields, sends it through the bytes of the requested version, and reads the answer's
bytes back with kio: what a client of that version would have got.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import MISSING, fields, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from types import NoneType
from typing import Any, ParamSpec, TypeVar, cast, get_args

from kio.index import load_request_schema, load_response_schema
from tests.fakes.inline_executor import InlineExecutor
from tests.strategies.entities import entity_in, is_array, read, written

from barnabas.base.clock import ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.current_config import CurrentConfig
from barnabas.base.deferred import Deferred
from barnabas.base.descriptors import DescriptorLimits
from barnabas.base.errors import KafkaError
from barnabas.broker.builder import BrokerParts, Builder, build_controller, build_logs
from barnabas.broker.environment import Environment
from barnabas.broker.replication import Replication
from barnabas.broker.scheduler import Scheduler
from barnabas.controller.requests import NewTopic
from barnabas.group.coordinator import GroupCoordinator
from barnabas.handlers.context import Request
from barnabas.handlers.contexts import Contexts
from barnabas.handlers.registry import API_VERSIONS, APIS, AS_IT_CAME, handler_of
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.membership import LogHistory
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.network.connection import Peer
from barnabas.network.request_memory import RequestMemory
from barnabas.network.slices import Slices
from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.replication.flusher import Flusher
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.storage.deleted_files import unlink_now
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.logs import Logs
from barnabas.transaction.coordinator import TransactionCoordinator
from barnabas.wire import Reply, encode_response, parse_request
from barnabas.wire.transaction_states import DescribeTransactionsResponse

P = ParamSpec("P")
T = TypeVar("T")

_KEYS = {api.name: api.key for api in APIS.values()}
_DESCRIBE_TRANSACTIONS = _KEYS["DescribeTransactions"]
"""kio cannot read the start of a transaction that has none."""
_MAY_WAIT_FOR_THE_STORE = frozenset({_KEYS["InitProducerId"], _KEYS["EndTxn"]})
_ZEROES = {"string": "", "bool": False}


class Node:
    def __init__(self, directory: Path, properties: dict[str, str]) -> None:
        self.clock: ManualClock = ManualClock()
        self.listener: str = "PLAINTEXT"
        self._put_off: list[Callable[[], None]] = []
        config = BrokerConfig.from_properties(
            {"listeners": "PLAINTEXT://localhost:9092", "log.dirs": str(directory / "data")} | properties
        )
        self.settings: CurrentConfig = CurrentConfig(config)
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        """Runs what a request left to be done later: a flush, a handler that awaits."""
        self.executor: Executor = InlineExecutor()
        self._environment: Environment = Environment(clock=self.clock, rng=Random(1))
        self.store: SqliteStore = SqliteStore(directory / "metadata.db")
        self.cluster: ClusterMetadata = ClusterMetadata(self.store)
        self.cluster.load("the-cluster")
        self._changed: set[str] = set()
        self.cluster.subscribe(lambda change: self._changed.update(change.topics))
        membership, controller = build_controller(
            self.settings, self.cluster, self._environment, config.advertised_listeners
        )
        membership.join(LogHistory())
        controller.react()
        self._replication: Replication = Replication(
            self.settings, self._environment, self.cluster, membership, controller, self, self.loop
        )
        self.logs: Logs = build_logs(
            self.settings, self.cluster, self._environment, DescriptorLimits(), _ignore, unlink_now
        )
        self.logs.open_all()
        self.flusher: Flusher = Flusher(self.loop, self.executor)
        self.parts: BrokerParts = self._build()
        self.partitions: Partitions = self.parts.partitions
        self.contexts: Contexts = self.parts.contexts
        for host in (self.parts.groups, self.parts.transactions):
            host.load()
            host.start(self.cluster.image)

    def _build(self) -> BrokerParts:
        return Builder(
            self.settings,
            self._environment,
            self.store,
            self,
            self.cluster,
            self.logs,
            self.flusher,
            self.executor,
            Scheduler(_at_once, self.later, None),
            Slices(),
            RequestMemory(),
            self._replication,
        ).build()

    @property
    def config(self) -> BrokerConfig:
        return self.settings.value

    @property
    def groups(self) -> GroupCoordinator:
        return self.parts.groups.get()

    @property
    def transactions(self) -> TransactionCoordinator:
        return self.parts.transactions.get()

    def use_transaction_host(self, host: Any) -> None:
        """Have Produce requests verified by another coordinator."""
        records = replace(self.contexts.records, transaction_host=host)
        self.contexts = replace(self.contexts, records=records)

    @property
    def image(self) -> ClusterImage:
        return self.cluster.image

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The store thread's part: do it, then let the partitions follow."""
        result = function(*args, **kwargs)
        self._follow()
        return result

    def _follow(self) -> None:
        changed, self._changed = self._changed, set()
        self.partitions.follow(self.cluster.image)
        self.parts.groups.follow(self.cluster.image, changed)
        self.parts.transactions.follow(self.cluster.image, changed)

    def close(self) -> None:
        self.loop.run_until_complete(self._replication.stop())
        self.loop.close()
        self.logs.abandon()
        self.cluster.close()
        self.store.close()

    # --- what tests do ------------------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Keys of `configs` with an underscore for each dot."""
        own = {key.replace("_", "."): value for key, value in configs.items()}
        (result,) = self.parts.topics.create_topics([NewTopic(name, partitions, configs=own)])
        assert not result.error, result.message
        self._follow()

    def elect(
        self, topic: str, partition: int = 0, *, leader: int | None = None, epoch: int | None = None
    ) -> None:
        """Another leader of a partition, or another epoch of the same."""
        found = self.partitions.get(topic, partition)
        image = self.cluster.image.topics[topic].partitions[partition]
        leader = image.leader if leader is None else leader
        epoch = found.leader_epoch if epoch is None else epoch
        found.follow(image._replace(leader=leader, leader_epoch=epoch))

    def advance(self, ms: int) -> None:
        """Let time go by; what is due in the coordinators is done, and what was put off."""
        self.clock.advance(ms)
        put_off, self._put_off = self._put_off, []
        for callback in put_off:
            callback()
        for hosted in self.groups.hosted():
            hosted.run_due()
        for transactional in self.transactions.hosted():
            transactional.run_due()

    def later(self, delay: float, callback: Callable[[], None]) -> "_Silent":
        """The loop's `call_later`, for what is put off: the next `advance` does it."""
        self._put_off.append(callback)
        return _Silent()

    def append(self, topic: str, *timestamps: int, partition: int = 0, **batch: Any) -> Partition:
        """One batch with a record for each timestamp."""
        found = self.partitions.get(topic, partition)
        records = [Record(n, timestamp, b"key", b"value", ()) for n, timestamp in enumerate(timestamps)]
        found.append(build_batch(records, **batch), acks=1)
        return found

    def ask(self, name: str, version: int | None = None, **body: Any) -> Any:
        """kio's response of that version, by default the newest; entities of the request are plain dicts."""
        return self.send(name, version, **body).result()

    def request(self, name: str, version: int | None = None, **body: Any) -> Request:
        """A request as its handler gets it."""
        key = _KEYS[name]
        version = APIS[key].max_version if version is None else version
        data = written(entity(load_request_schema(key, version), body))
        newest = version if key in AS_IT_CAME else APIS[key].max_version
        parsed, raw = parse_request(key, version, newest, memoryview(data).toreadonly(), 0)
        return Request(key, version, 1, "test", Peer("localhost", 1, self.listener), parsed, raw)

    def send(self, name: str, version: int | None = None, **body: Any) -> Deferred[Any]:
        """The same for a request whose answer may come later."""
        request = self.request(name, version, **body)
        key, version = request.api_key, request.version
        reply: Reply | Deferred[Reply] | Coroutine[Any, Any, Reply]
        if key in _MAY_WAIT_FOR_THE_STORE:
            reply = self.loop.run_until_complete(
                _with_its_tasks(lambda: handler_of(key)(self.contexts.of(key), request))
            )
        else:
            reply = handler_of(key)(self.contexts.of(key), request)
        if inspect.iscoroutine(reply):
            reply = self.loop.run_until_complete(reply)
        answer = reply if isinstance(reply, Deferred) else Deferred.of(cast(Reply, reply))
        return answer.map(lambda each: _through_bytes(key, version, each), _no_reply)


async def _with_its_tasks(handle: Callable[[], Any]) -> Any:
    """The result of a handler that may start a task: it is over when the handler's result is looked at."""
    reply = handle()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others)
    return reply


def _through_bytes(key: int, version: int, reply: Reply) -> Any:
    assert isinstance(reply, Reply)
    response = (
        DescribeTransactionsResponse if key == _DESCRIBE_TRANSACTIONS else load_response_schema(key, version)
    )
    header = 5 if response.__flexible__ and key != API_VERSIONS else 4
    return read(response, encode_response(key, version, 1, reply)[header:])


def _no_reply(error: KafkaError) -> Any:
    raise AssertionError("a handler makes an answer of every error") from error


def _ignore(directory: LogDirectory, error: OSError) -> None:
    """Tests of failing disks use a broker."""


def _at_once(callback: Callable[[], None]) -> None:
    """The loop's turn ends with every request."""
    callback()


class _Silent:
    def cancel(self) -> None:
        pass


def entity(kind: Any, values: dict[str, Any]) -> Any:
    """An entity from plain values; what is not given takes the schema's default."""
    known = {field.name: field for field in fields(kind)}
    assert values.keys() <= known.keys(), f"{kind.__name__} has no {values.keys() - known.keys()}"
    complete = {name: _default(field) for name, field in known.items()}
    for name, value in values.items():
        inner = entity_in(known[name].type)
        if inner is not None and isinstance(value, Sequence):
            complete[name] = tuple(entity(inner, each) for each in value)
        elif inner is not None and value is not None:
            complete[name] = entity(inner, value)
        else:
            complete[name] = tuple(value) if isinstance(value, list) else value
    return kind(**complete)


def _default(field: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    if NoneType in get_args(field.type):
        return None
    if is_array(field.type):
        return ()
    kafka_type = field.metadata["kafka_type"]
    return timedelta(0) if kafka_type.startswith("timedelta") else _ZEROES.get(kafka_type, 0)
