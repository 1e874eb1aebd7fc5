"""A broker without a network: real metadata store, logs and partitions in a temporary directory, one
thread.

`ask` takes a request's fields, sends it through the bytes of the version asked with, and reads the answer's
bytes back with kio: what a client of that version would have got.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import MISSING, fields
from datetime import timedelta
from pathlib import Path
from types import NoneType
from typing import Any, ParamSpec, TypeVar, cast, get_args

from kio.index import load_request_schema, load_response_schema
from tests.strategies.entities import entity_in, is_array, read, written

from barnabas.base.clock import ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.topic_config import resolve_log_config
from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError
from barnabas.client.transaction_states import DescribeTransactionsResponse
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.producer_ids import ProducerIds
from barnabas.controller.requests import NewTopic
from barnabas.controller.topics import TopicAdmin
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.coordinator.runtime.hosted_shard import HostedShard
from barnabas.coordinator.transaction_coordinator import TransactionCoordinator
from barnabas.handlers.context import Context, Request
from barnabas.handlers.registry import API_VERSIONS, APIS, AS_IT_CAME, handler_of
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.network.connection import Peer
from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.flusher import Flusher
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.storage.logs import Logs, LogsSettings
from barnabas.wire import Reply, encode_response, parse_request

P = ParamSpec("P")
T = TypeVar("T")

_KEYS = {api.name: api.key for api in APIS.values()}
_DESCRIBE_TRANSACTIONS = _KEYS["DescribeTransactions"]
"""kio cannot read the start of a transaction that has none."""
_ZEROES = {"string": "", "bool": False}


class Node:
    def __init__(self, directory: Path, properties: dict[str, str]) -> None:
        self.clock: ManualClock = ManualClock()
        self.listener: str = "PLAINTEXT"
        self._put_off: list[Callable[[], None]] = []
        self.config: BrokerConfig = BrokerConfig.from_properties(
            {"listeners": "PLAINTEXT://localhost:9092", "log.dirs": str(directory / "data")} | properties
        )
        self.store: SqliteStore = SqliteStore(directory / "metadata.db")
        self.cluster: ClusterMetadata = ClusterMetadata(self.store, self.clock)
        self.cluster.load("the-cluster")
        self.cluster.join(self.config.broker_id, self.config.advertised_listeners, self.config.rack)
        settings = LogsSettings(self.config.broker_id, self.cluster.image.cluster_id)
        self.logs: Logs = Logs(self.config.log_dirs, settings, self._config_of, clock=self.clock)
        self.logs.open_all()
        self.partitions: Partitions = Partitions(
            self.config.broker_id, self.logs, cast(Flusher, None), self._config_of
        )
        self.groups: GroupCoordinator = GroupCoordinator(
            self.config, self.partitions, self.clock, _load_at_once, _never, _at_once
        )
        producer_ids = ProducerIds(self.store, self.config.broker_id)
        self.transactions: TransactionCoordinator = TransactionCoordinator(
            self.config,
            self.partitions,
            self.clock,
            _load_at_once,
            self.later,
            _at_once,
            self.get,
            producer_ids.next_producer_id,
        )
        self.context: Context = Context(
            config=self.config,
            clock=self.clock,
            cluster=self.cluster,
            topics=TopicAdmin(self.cluster, self.config),
            configs=ConfigAdmin(self.cluster, self.config),
            producer_ids=producer_ids,
            partitions=self.partitions,
            logs=self.logs,
            fetch_sessions=cast(FetchSessions, None),
            store=self,
            group_host=self,
            transaction_host=_TransactionHost(self.transactions),
            executor=cast(Executor, None),
        )

    def _config_of(self, topic: str) -> LogConfig:
        own = self.cluster.image.topic_configs.get(topic, {})
        return resolve_log_config(own, self.config.log_defaults())

    @property
    def image(self) -> ClusterImage:
        return self.cluster.image

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The store thread's part: do it, then let the partitions follow."""
        result = function(*args, **kwargs)
        self._follow()
        return result

    def get(self) -> GroupCoordinator:
        """The group host's part."""
        return self.groups

    def _follow(self) -> None:
        self.partitions.follow(self.cluster.image)
        self.groups.follow(self.cluster.image)
        self.transactions.follow(self.cluster.image)

    def close(self) -> None:
        self.logs.abandon()
        self.cluster.close()
        self.store.close()

    # --- what tests do ------------------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Keys of `configs` with an underscore for each dot."""
        own = {key.replace("_", "."): value for key, value in configs.items()}
        (result,) = self.context.topics.create_topics([NewTopic(name, partitions, configs=own)])
        assert not result.error, result.message
        self._follow()

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

    def send(self, name: str, version: int | None = None, **body: Any) -> Deferred[Any]:
        """The same for a request whose answer may come later."""
        key = _KEYS[name]
        version = APIS[key].max_version if version is None else version
        data = written(entity(load_request_schema(key, version), body))
        newest = version if key in AS_IT_CAME else APIS[key].max_version
        parsed, raw = parse_request(key, version, newest, memoryview(data).toreadonly(), 0)
        request = Request(key, version, 1, "test", Peer("localhost", 1, self.listener), parsed, raw)
        reply: Reply | Deferred[Reply] | Coroutine[Any, Any, Reply] = handler_of(key)(self.context, request)
        if inspect.iscoroutine(reply):
            reply = asyncio.run(reply)
        answer = reply if isinstance(reply, Deferred) else Deferred.of(cast(Reply, reply))
        return answer.map(lambda each: _through_bytes(key, version, each), _no_reply)


def _through_bytes(key: int, version: int, reply: Reply) -> Any:
    assert isinstance(reply, Reply)
    response = (
        DescribeTransactionsResponse if key == _DESCRIBE_TRANSACTIONS else load_response_schema(key, version)
    )
    header = 5 if response.__flexible__ and key != API_VERSIONS else 4
    return read(response, encode_response(key, version, 1, reply)[header:])


def _no_reply(error: KafkaError) -> Any:
    raise AssertionError("a handler makes an answer of every error") from error


def _load_at_once(hosted: HostedShard[Any], partition: Partition) -> None:
    """Topics of a node are new: there is nothing to load."""
    hosted.activate()


class _TransactionHost:
    def __init__(self, transactions: TransactionCoordinator) -> None:
        self._transactions: TransactionCoordinator = transactions

    def get(self) -> TransactionCoordinator:
        return self._transactions


def _at_once(callback: Callable[[], None]) -> None:
    """The loop's turn ends with every request."""
    callback()


class _Silent:
    def cancel(self) -> None:
        pass


def _never(delay: float, callback: Callable[[], None]) -> _Silent:
    """Time goes by in `Node.advance` only."""
    return _Silent()


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
