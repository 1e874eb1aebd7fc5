import random
import threading
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.unit.spark.wire.log_broker import LogBroker, Lose, Refuse

from barnabas.client.errors import BadSettings, BrokerError, ClientError
from barnabas.records.batch import HEADER_SIZE
from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.spark.wire.errors import RecordTooLarge, Undelivered
from barnabas.spark.wire.produce_settings import ProduceSettings
from barnabas.spark.wire.producer import Producer

NOT_LEADER, TIMED_OUT, TOO_LARGE, FENCED, BAD_EPOCH, UNAUTHORIZED = 6, 7, 10, 90, 47, 29
OUT_OF_ORDER, DUPLICATE, UNKNOWN_PRODUCER, UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE = 45, 46, 59, 3, 5


class Plain:
    """A batch as `arrow.record_batches` gives it."""

    def __init__(self, raw: bytes, count: int) -> None:
        self.head, self.body, self.count = raw[:HEADER_SIZE], raw[HEADER_SIZE:], count


def encode(
    values: Sequence[bytes],
    *,
    codec: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    is_transactional: bool,
    batch_bytes: int,
) -> list[Plain]:
    """One batch for each five rows: a stand-in without Arrow."""
    found = []
    for first in range(0, len(values), 5):
        part = values[first : first + 5]
        raw = build_batch(
            [Record(0, 1000, None, value) for value in part],
            compression=codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=(base_sequence + first) % 2**31 if base_sequence >= 0 else -1,
            transactional=is_transactional,
        )
        found.append(Plain(raw, len(part)))
    return found


def rows(first: int, count: int) -> Any:
    return [b"%d" % number for number in range(first, first + count)]


def quick(**changed: Any) -> ProduceSettings:
    given: dict[str, Any] = {
        "retry_backoff": 0.001,
        "delivery_timeout": PATIENCE,
        "batch_bytes": 1,
        **changed,
    }
    return ProduceSettings(**given)


def produce(broker: LogBroker, count: int = 100, **changed: Any) -> None:
    with broker.cluster() as cluster, Producer(cluster, quick(**changed), encode=encode) as producer:
        for first in range(0, count, 10):
            assert producer.send("t", 0, rows(first, 10)) == 10
        producer.flush()


def test_everything_sent_is_there_in_order() -> None:
    with LogBroker() as broker:
        produce(broker)
        assert broker.logs[0].values == rows(0, 100)


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_old_and_new_brokers_are_spoken_to(version: int) -> None:
    with LogBroker(versions={"produce": version, "fetch": 4}) as broker:
        produce(broker)
        assert broker.logs[0].values == rows(0, 100)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_fails_nothing_is_lost_and_nothing_is_twice(seed: int) -> None:
    chance = random.Random(seed)
    kinds = [
        None,
        Lose.REQUEST,
        Lose.ANSWER,
        Refuse(NOT_LEADER),
        Refuse(TIMED_OUT, is_written=True),
        Refuse(TIMED_OUT),
        Refuse(DUPLICATE, is_written=True),
    ]
    faults = [chance.choice(kinds) for _ in range(25)]
    with LogBroker(faults) as broker:
        produce(broker)
        assert broker.logs[0].values == rows(0, 100)


def test_partitions_share_a_request_and_keep_their_order() -> None:
    with (
        LogBroker([Refuse(NOT_LEADER), None, Lose.ANSWER], partitions=3) as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(batch_bytes=10_000), encode=encode) as producer,
    ):
        for first in range(0, 60, 5):
            producer.send("t", first % 3, rows(first, 5))
        producer.flush()
        for partition, log in enumerate(broker.logs):
            assert log.values == [v for n in range(0, 60, 5) if n % 3 == partition for v in rows(n, 5)]
        assert len(broker.requests("Produce")) < 12


def test_sequences_go_round() -> None:
    with LogBroker() as broker, broker.cluster() as cluster:
        producer = Producer(cluster, quick(), encode=encode)
        producer.init()
        producer._ready().queue("t", 0, producer.identity).next_sequence = 2**31 - 7
        for first in range(0, 30, 10):
            producer.send("t", 0, rows(first, 10))
        producer.flush()
        producer.close()
        assert broker.logs[0].values == rows(0, 30)
        assert broker.logs[0].producers[7].next_sequence == 23


def test_at_most_the_allowed_number_is_in_flight() -> None:
    with LogBroker() as broker, broker.cluster() as cluster:
        most = 0

        def watch(request: Any) -> Any:
            nonlocal most
            lanes = outbox._lanes.values()
            most = max([most, *(len(lane.requests) for lane in lanes)])
            return original(request)

        original = broker._produce
        broker.script._answers["produce"] = watch
        with Producer(cluster, quick(max_in_flight=2), encode=encode) as producer:
            outbox = producer._ready()
            producer.send("t", 0, rows(0, 100))
            producer.flush()
        assert most == 2


def test_broker_that_forgot_the_producer_is_written_to_under_a_new_epoch() -> None:
    with LogBroker() as broker, broker.cluster() as cluster:
        with Producer(cluster, quick(), encode=encode) as producer:
            producer.send("t", 0, rows(0, 10))
            producer.flush()
            broker.logs[0].producers[7].next_sequence = 99
            producer.send("t", 0, rows(10, 20))
            producer.flush()
            producer.send("t", 0, rows(30, 10))
            producer.flush()
        assert broker.logs[0].values == rows(0, 40)
        assert broker.logs[0].producers[7].epoch == 1


def test_unknown_producer_begins_anew() -> None:
    with LogBroker([None, None, Refuse(UNKNOWN_PRODUCER, log_start_offset=0)]) as broker:
        produce(broker)
        assert broker.logs[0].values == rows(0, 100)
        assert broker.logs[0].producers[7].epoch == 1


@pytest.mark.parametrize("turn", [1, 2, 5, 9])
def test_broker_that_restarts_and_remembers_nothing_gets_none_twice(turn: int) -> None:
    with LogBroker([*[None] * turn, Lose.MEMORY]) as broker:
        produce(broker)
        assert broker.logs[0].values == rows(0, 100)
        assert broker.logs[0].producers[7].epoch == 0


@pytest.mark.parametrize("code", [FENCED, BAD_EPOCH, UNAUTHORIZED])
def test_error_that_is_not_retriable_is_raised_and_stays(code: int) -> None:
    with (
        LogBroker([None, Refuse(code)]) as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 10))
        with pytest.raises(BrokerError, match=r"^t-0: ") as failure:
            producer.flush()
        assert failure.value.code == code
        with pytest.raises(BrokerError) as again:
            producer.send("t", 0, rows(10, 10))
        assert again.value is failure.value


def test_batch_too_large_for_the_topic_is_split() -> None:
    with LogBroker(max_message=100) as broker:
        produce(broker, batch_bytes=1_000_000)
        assert broker.logs[0].values == rows(0, 100)


def test_record_too_large_is_named_with_its_size() -> None:
    with (
        LogBroker(max_message=1000) as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(), encode=encode) as producer,
    ):
        values: Any = [b"small", b"x" * 3000]
        producer.send("t", 0, values)
        with pytest.raises(
            RecordTooLarge, match=r"A record of 30\d\d bytes for t-0 is larger than the topic"
        ):
            producer.flush()


def test_record_beyond_max_request_size_is_not_sent() -> None:
    with (
        LogBroker() as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(max_request_size=1000), encode=encode) as producer,
    ):
        values: Any = [b"x" * 3000]
        with pytest.raises(RecordTooLarge, match=r"than max\.request\.size allows"):
            producer.send("t", 0, values)
        assert broker.requests("Produce") == []


def test_topic_that_comes_to_be_is_waited_for() -> None:
    with LogBroker() as broker, broker.cluster() as cluster:
        broker.topic_errors.extend([LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC])
        with Producer(cluster, quick(), encode=encode) as producer:
            assert producer.partition_count("t") == 1
        assert broker.was_creating


def test_topic_that_never_comes_is_an_error_after_the_delivery_timeout() -> None:
    with LogBroker() as broker, broker.cluster() as cluster:
        broker.topic_errors.extend([UNKNOWN_TOPIC] * 1000)
        with Producer(cluster, quick(delivery_timeout=0.2), encode=encode) as producer:
            producer.send("t", 0, rows(0, 5))
            with pytest.raises(BrokerError, match=r"There is no topic t; records for t-0 were not delivered"):
                producer.flush()


def test_leader_that_refuses_for_ever_is_given_up_with_its_error() -> None:
    with (
        LogBroker([Refuse(NOT_LEADER)] * 1000) as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(delivery_timeout=0.1), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 5))
        with pytest.raises(BrokerError) as failure:
            producer.flush()
        assert failure.value.code == NOT_LEADER


def test_broker_that_always_hangs_up_is_given_up() -> None:
    with (
        LogBroker([Lose.REQUEST] * 1000) as broker,
        broker.cluster() as cluster,
        Producer(cluster, quick(delivery_timeout=0.1), encode=encode) as producer,
    ):
        producer.send("t", 0, rows(0, 5))
        with pytest.raises(Undelivered, match=r"not delivered in 0\.1 s"):
            producer.flush()


def test_request_without_a_response_in_time_is_retried() -> None:
    with LogBroker() as broker, broker.cluster(request_timeout=0.2) as cluster:
        original, requests, is_retried = broker._produce, count(), threading.Event()

        def slow(request: Any) -> Any:
            if next(requests) > 0:
                is_retried.set()
            is_retried.wait(PATIENCE)
            return original(request)

        broker.script._answers["produce"] = slow
        with Producer(cluster, quick(), encode=encode) as producer:
            producer.send("t", 0, rows(0, 30))
            producer.flush()
        assert broker.logs[0].values == rows(0, 30)


def test_partition_that_moves_is_followed_in_order() -> None:
    with LogBroker([None, None, *[Refuse(NOT_LEADER)] * 9]) as old:
        with LogBroker(logs=old.logs) as new, old.cluster() as cluster:
            old.nodes[2] = new.script.port
            with Producer(cluster, quick(), encode=encode) as producer:
                producer.send("t", 0, rows(0, 10))
                producer.flush()
                old.leader = 2
                for first in range(10, 100, 10):
                    producer.send("t", 0, rows(first, 10))
                producer.flush()
            assert new.requests("Produce")
        assert old.logs[0].values == rows(0, 100)


def test_without_acks_nothing_is_awaited() -> None:
    with LogBroker() as broker:
        produce(broker, acks=0, is_idempotent=False)
        assert [request.acks for request in broker.requests("Produce")][:1] == [0]


def test_without_idempotence_there_is_no_producer_id() -> None:
    with LogBroker([Refuse(NOT_LEADER)]) as broker:
        produce(broker, acks=1, is_idempotent=False)
        assert set(broker.logs[0].values) == set(rows(0, 100))
        assert len(broker.logs[0].values) == 100
        assert broker.logs[0].producers == {}
        assert broker.requests("InitProducerId") == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"acks": 1}, "acks"),
        ({"max_in_flight": 6}, "at most 5"),
        ({"is_idempotent": False, "transactional_id": "x"}, "transactional.id"),
        ({"acks": 7}, "acks=7"),
    ],
)
def test_combinations_that_kafka_refuses_are_refused(changed: dict[str, Any], reason: str) -> None:
    with LogBroker() as broker, broker.cluster() as cluster, pytest.raises(BadSettings, match=reason):
        Producer(cluster, quick(**changed), encode=encode)


def test_memory_is_bounded_by_waiting() -> None:
    with LogBroker() as broker, broker.cluster() as cluster:
        with Producer(cluster, quick(buffer_memory=500, batch_bytes=10**6), encode=encode) as producer:
            for first in range(0, 100, 10):
                producer.send("t", 0, rows(first, 10))
                assert producer._ready().unanswered <= 500
            producer.flush()
        assert broker.logs[0].values == rows(0, 100)


def test_connection_is_used_again_by_the_next_producer() -> None:
    with LogBroker() as broker, broker.cluster() as cluster:
        for _ in range(3):
            with Producer(cluster, quick(), encode=encode) as producer:
                producer.send("t", 0, rows(0, 5))
                producer.flush()
        assert broker.script.connections == 2


def test_answer_that_is_none_is_a_lost_connection() -> None:
    with LogBroker() as broker, broker.cluster() as cluster:
        broker.script._answers["produce"] = {"responses": []}
        with Producer(cluster, quick(delivery_timeout=0.1), encode=encode) as producer:
            producer.send("t", 0, rows(0, 5))
            with pytest.raises(ClientError, match="not a valid response"):
                producer.flush()
