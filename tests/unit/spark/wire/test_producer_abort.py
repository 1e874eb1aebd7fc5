"""Aborts of transactions of version 1: a request that is still on its way must not join the next one."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.unit.spark.wire.log_broker import LogBroker, Refuse
from tests.unit.spark.wire.test_producer import FENCED, encode, quick, rows

from barnabas.client.errors import BrokerError
from barnabas.spark.wire import end_transaction, outbox, transaction
from barnabas.spark.wire.producer import Producer

CONCURRENT = 51


class TransactionBroker:
    """Transactions of version 1; InitProducerId with an identity is answered as Kafka does."""

    def __init__(self, **given: Any) -> None:
        self.log: LogBroker = LogBroker(
            **given,
            answers={
                "find_coordinator": lambda _: {
                    "error_code": 0,
                    "node_id": 1,
                    "host": "127.0.0.1",
                    "port": self.log.script.port,
                },
                "init_producer_id": self._init,
                "add_partitions_to_txn": self._add,
                "end_txn": {"error_code": 0, "producer_id": -1, "producer_epoch": -1},
            },
        )
        self.fences: list[tuple[int, int]] = []
        self.held: threading.Event | None = None
        """Produce requests wait for it, if it is there."""
        original = self.log._produce

        def produce(request: Any) -> Any:
            if self.held is not None:
                self.held.wait()
            return original(request)

        self.log.script._answers["produce"] = produce

    def names(self) -> list[str]:
        """Of the requests that belong to the data and its transaction, in order."""
        found = [type(each).__name__.removesuffix("Request") for each in self.log.script.requests]
        return [each for each in found if each in ("Produce", "EndTxn", "InitProducerId")]

    def _init(self, request: Any) -> dict[str, object]:
        if request.producer_id < 0:
            return {"error_code": 0, "producer_id": 7, "producer_epoch": 0}
        self.fences.append((request.producer_id, request.producer_epoch))
        return {"error_code": CONCURRENT if len(self.fences) == 1 else FENCED, "producer_epoch": -1}

    def _add(self, request: Any) -> dict[str, object]:
        topics = [
            {
                "name": topic.name,
                "results_by_partition": [
                    {"partition_index": index, "partition_error_code": ErrorCode.none}
                    for index in topic.partitions
                ],
            }
            for topic in request.v3_and_below_topics
        ]
        return {"results_by_topic_v3_and_below": topics}


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[TransactionBroker]:
    monkeypatch.setattr(outbox, "_DRAINED_WITHIN", 0.2)
    for module in (end_transaction, transaction):
        monkeypatch.setattr(module, "is_version_2", lambda *_: False)
    found = TransactionBroker()
    with found.log:
        yield found
        if found.held is not None:
            found.held.set()


def test_requests_in_flight_are_awaited_before_the_abort(broker: TransactionBroker) -> None:
    with (
        broker.log.cluster() as cluster,
        Producer(cluster, quick(transactional_id="x"), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 5))
        producer.flush()
        producer.send("t", 0, rows(5, 20))
        producer.abort()
    names = broker.names()
    assert names[0] == "InitProducerId"
    assert names[-1] == "EndTxn"
    assert set(names[1:-1]) == {"Produce"}
    assert broker.log.logs[0].end == 5 + 5 * (len(names) - 3), "every request that left is answered"


def test_a_transaction_with_a_request_that_stays_unanswered_is_aborted_by_a_higher_epoch(
    broker: TransactionBroker,
) -> None:
    broker.held = threading.Event()
    with (
        broker.log.cluster() as cluster,
        Producer(cluster, quick(transactional_id="x"), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 5))
        producer.abort()
    assert broker.fences == [(7, 0), (7, 0)]
    assert "EndTxn" not in broker.names()


def test_a_zombie_that_was_fenced_raises_no_epoch(broker: TransactionBroker) -> None:
    broker.log.faults.append(Refuse(FENCED))
    with (
        broker.log.cluster() as cluster,
        Producer(cluster, quick(transactional_id="x"), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 5))
        with pytest.raises(BrokerError):
            producer.flush()
        producer.abort()
    assert broker.fences == []


def test_a_transaction_without_records_needs_no_end(broker: TransactionBroker) -> None:
    with (
        broker.log.cluster() as cluster,
        Producer(cluster, quick(transactional_id="x"), encode=encode) as producer,
    ):
        producer.abort()
        producer.init()
        producer.abort()
    assert broker.names() == ["InitProducerId"]
