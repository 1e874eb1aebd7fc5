"""A producer whose owner waits for rows: a slow upstream costs no rows, doubles none and fails nothing."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.unit.spark.wire.log_broker import LogBroker, Lose, Refuse
from tests.unit.spark.wire.test_producer import NOT_LEADER, UNAUTHORIZED, encode, quick, rows

from barnabas.client.errors import BrokerError
from barnabas.spark.wire.producer import Producer


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the condition does not hold"
        time.sleep(0.005)


@pytest.mark.parametrize("changed", [{}, {"acks": 1, "is_idempotent": False}])
def test_rows_are_delivered_while_the_owner_waits_for_more(changed: dict[str, Any]) -> None:
    with (
        LogBroker() as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(**changed), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 100))
        producer.attend()
        until(lambda: producer._ready().is_empty)
        assert broker.logs[0].values == rows(0, 100)
        producer.send("t", 0, rows(100, 10))
        producer.flush()
        assert broker.logs[0].values == rows(0, 110)


def test_connections_that_break_while_the_owner_waits_double_nothing() -> None:
    faults = [None, Lose.ANSWER, None, Lose.REQUEST, Refuse(NOT_LEADER), Lose.MEMORY]
    with (
        LogBroker(faults) as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 100))
        producer.attend()
        until(lambda: producer._ready().is_empty)
        assert broker.logs[0].values == rows(0, 100)


def test_what_fails_while_the_owner_waits_is_raised_by_its_next_call() -> None:
    with (
        LogBroker([None, Refuse(UNAUTHORIZED)]) as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 100))
        producer.attend()
        until(lambda: producer._failure is not None)
        with pytest.raises(BrokerError) as failure:
            producer.send("t", 0, rows(100, 10))
        assert failure.value.code == UNAUTHORIZED


def test_answers_that_lie_there_are_read_although_their_time_is_over() -> None:
    with (
        LogBroker() as broker,
        broker.cluster(request_timeout=0.3) as cluster,
        Producer(cluster, quick(acks=1, is_idempotent=False), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 5))
        producer.flush()
        producer.send("t", 0, rows(5, 25))
        (lane,) = producer._ready()._lanes.values()
        assert len(lane.requests) > 1
        until(lambda: lane.connection.is_overdue(time.monotonic()))
        producer.flush()
        assert broker.logs[0].values == rows(0, 30)
        assert lane.connection.is_open


def test_only_the_time_in_which_the_producer_was_driven_counts_as_its_delivery_time() -> None:
    hours = [0.0]

    def clock() -> float:
        return time.monotonic() + 3600 * hours[0]

    with (
        LogBroker() as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(), encode=encode, clock=clock) as producer,
    ):
        for first in range(0, 100, 20):
            producer.send("t", 0, rows(first, 20))
            hours[0] += 1
        producer.flush()
        assert broker.logs[0].values == rows(0, 100)


def test_the_thread_ends_with_its_producer() -> None:
    with LogBroker() as broker, broker.cluster() as cluster:
        producer = Producer(cluster, quick(), encode=encode)
        producer.send("t", 0, rows(0, 10))
        producer.attend()
        thread = producer._thread._thread
        assert thread is not None
        producer.close()
        assert not thread.is_alive()
