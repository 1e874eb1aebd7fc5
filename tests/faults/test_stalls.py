"""Very long requests of one client do not hold the event loop: others are served meanwhile."""

from collections.abc import Callable, Iterator

import pytest
from benchmarks import long_requests, protocol
from benchmarks.raw_client import Connection, create_topic
from benchmarks.witness import Witness
from confluent_kafka import Producer
from tests.faults.loop_holds import no_long_hold

from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.testing import Broker

HOST = "127.0.0.1"
PATIENCE = 120.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True, config={"auto.create.topics.enable": "true"}) as broker:
        with Connection(HOST, broker.port, PATIENCE) as connection:
            create_topic(connection, "witness", 1)
            # The first request of an API loads its code; that happens once.
            for request in ATTACKS.values():
                connection.call(request(1))
        yield broker


ATTACKS: dict[str, Callable[[int], bytes]] = {
    "DescribeConfigs": lambda size: long_requests.describe_configs(max(size // 1000, 1), 0),
    "DescribeGroups": long_requests.describe_groups,
    "CreateTopics validated": lambda size: long_requests.create_topics(
        max(size // 100, 1), validate_only=True
    ),
    "Metadata": lambda size: long_requests.metadata(max(size // 4, 1), may_create=True),
    "ListOffsets": lambda size: long_requests.list_offsets("witness", max(size // 3, 1)),
    "OffsetFetch": lambda size: long_requests.offset_fetch("witness", 3 * size),
    "OffsetCommit": lambda size: long_requests.offset_commit("witness", size),
    "ListTransactions": lambda size: long_requests.list_transactions("x{0,9}" * max(size // 90, 1)),
    "Fetch": lambda size: long_requests.fetch("witness", 1, times=size, max_wait_ms=0),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_very_long_request_does_not_hold_the_loop(broker: Broker, attack: str) -> None:
    request = ATTACKS[attack](100_000)
    with (
        Connection(HOST, broker.port, PATIENCE) as connection,
        Witness(HOST, broker.port, "witness"),
        no_long_hold(broker),
    ):
        answer = connection.call(request)
    assert len(answer) > 10


def test_hundreds_of_topics_are_created_and_reconfigured_in_steps(broker: Broker) -> None:
    with Connection(HOST, broker.port, PATIENCE) as connection, no_long_hold(broker):
        connection.call(long_requests.create_topics(400, validate_only=False, prefix="stall"))
        connection.call(long_requests.alter_broker_default("log.retention.ms", "86400000"))
        connection.call(long_requests.metadata_of_all())
        connection.call(long_requests.delete_topics(400, prefix="stall"))


def test_fetches_that_name_a_partition_20000_times_do_not_slow_the_producers_down(broker: Broker) -> None:
    with Connection(HOST, broker.port, PATIENCE) as connection:
        create_topic(connection, "open", 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "stall"})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce("open", b"value")
    producer.flush(PATIENCE)
    waiting = [Connection(HOST, broker.port, PATIENCE) for _ in range(5)]
    with Connection(HOST, broker.port, PATIENCE) as connection, no_long_hold(broker):
        for each in waiting:
            each.send(long_requests.fetch("open", 1, times=20_000, max_wait_ms=2000))
        for _ in range(50):
            connection.call(protocol.produce("open", [(0, _batch())], acks=1))
        for each in waiting:
            each.receive()
            each.close()


def _batch() -> bytes:
    return build_batch([Record(0, 1, None, b"value", ())])
