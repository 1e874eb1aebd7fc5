"""How long a client with 50 small requests a second waits while another one sends a very long request.

Each row is one request of a stranger; the figure is the longest wait of the other client, a witness on a
connection of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks import long_requests
from benchmarks.costly_batches import late_batch, small_batch_of_many
from benchmarks.metrics import Metric, Target
from benchmarks.processes import HOST, BrokerProcess
from benchmarks.protocol import ProduceAnswer, produce
from benchmarks.raw_client import Connection, produce_once
from benchmarks.scenarios.base import Scenario, Settings, topic
from benchmarks.witness import PAUSE_SECONDS, Witness

GROUP = "Longest wait of another client while a very long request is answered"
LONGEST_WAIT_MS = 100.0

Send = Callable[[Connection, str], None]


@dataclass(frozen=True, slots=True)
class Stall:
    """One long request, or a few, and the clients that wait meanwhile."""

    short_name: str
    title: str
    send: Send

    @property
    def name(self) -> str:
        return f"stalls/{self.short_name}"

    @property
    def group(self) -> str:
        return GROUP

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (Metric("wait_ms", self.title, "ms", False, Target("value", "most", LONGEST_WAIT_MS)),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        with topic(broker, 1) as (connection, name), Witness(HOST, broker.port, name) as witness:
            time.sleep(2 * PAUSE_SECONDS)
            witness.worst_seconds = 0.0
            self.send(connection, name)
            time.sleep(2 * PAUSE_SECONDS)
        return {"wait_ms": witness.worst_seconds * 1000}


def _call(request: Callable[[str], bytes]) -> Send:
    def send(connection: Connection, name: str) -> None:
        connection.call(request(name))

    return send


def _fetches(connection: Connection, name: str) -> None:
    for _ in range(5):
        connection.send(long_requests.fetch(name, 1, times=20_000, max_wait_ms=0))
    for _ in range(5):
        connection.receive()


def _change_default(connection: Connection, name: str) -> None:
    connection.call(long_requests.alter_broker_default("log.retention.ms", "86400000"))


def _unpack(connection: Connection, name: str) -> None:
    two_hours_ahead = int(time.time() * 1000) + 7_200_000
    costly = small_batch_of_many(30_000_000, two_hours_ahead)
    connection.call(produce(name, [(0, costly)], acks=1))


def _search_by_time(connection: Connection, name: str) -> None:
    timestamp = int(time.time() * 1000) - 60_000
    request = produce(name, [(0, late_batch(900_000, timestamp))], acks=1)
    produce_once(connection, request, ProduceAnswer(name, 1))
    request = long_requests.list_offsets(name, 1, timestamp + 1)
    for _ in range(50):
        connection.send(request)
    for _ in range(50):
        connection.receive()


def scenarios() -> Iterable[Scenario]:
    create, lists = long_requests.create_topics, long_requests
    rows: list[tuple[str, str, Send]] = [
        ("configs", "DescribeConfigs of 1,000", _call(lambda t: lists.describe_topic_configs(1000, t))),
        ("groups", "DescribeGroups of 500,000", _call(lambda _: lists.describe_groups(500_000))),
        ("validate", "CreateTopics of 5,000, validated", _call(lambda _: create(5000, validate_only=True))),
        ("create", "CreateTopics of 2,000", _call(lambda _: create(2000, validate_only=False))),
        ("default", "a default changed with 2,000 topics", _change_default),
        ("delete", "DeleteTopics of 2,000", _call(lambda _: lists.delete_topics(2000))),
        ("transactions", "ListTransactions, 30 kB", _call(lambda _: lists.list_transactions("x?" * 15000))),
        ("metadata", "Metadata of 100,000", _call(lambda _: lists.metadata(100_000))),
        ("offsets", "ListOffsets of 200,000", _call(lambda t: lists.list_offsets(t, 200_000))),
        ("commit", "OffsetCommit of 100,000", _call(lambda t: lists.offset_commit(t, 100_000))),
        ("fetch", "5 fetches, a partition 20,000 times", _fetches),
        ("unpack", "Produce of 30 kB that unpack to 30 MB, two hours ahead", _unpack),
        ("time", "50 searches by time in a batch of 0.9 MB", _search_by_time),
    ]
    return [Stall(*row) for row in rows]
