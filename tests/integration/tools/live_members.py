"""Real members of a group, for tests of tools that look at groups: confluent-kafka's consumers."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.patience import PATIENCE


def make_topic(bootstrap: str, topic: str, partitions: int, records_each: int = 0) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(PATIENCE)
    produce(bootstrap, topic, partitions, records_each)


def produce(bootstrap: str, topic: str, partitions: int, records_each: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for number in range(partitions * records_each):
        producer.produce(topic, b"x", partition=number % partitions)
    assert producer.flush(10) == 0


def commit(bootstrap: str, group: str, offsets: dict[tuple[str, int], int]) -> None:
    """As a consumer without a subscription does; the group is made if there is none."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    positions = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
    try:
        consumer.commit(offsets=positions, asynchronous=False)
    finally:
        consumer.close()


@contextmanager
def live_members(
    bootstrap: str,
    group: str,
    topic: str,
    *,
    count: int = 1,
    protocol: str = "classic",
    instance_ids: Sequence[str] = (),
) -> Iterator[list[Consumer]]:
    """Members that have partitions; the first ones are static, if there are ids for them."""
    members = [
        Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": f"client-{number}",
                "group.protocol": protocol,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **({"group.instance.id": instance_ids[number]} if number < len(instance_ids) else {}),
            }
        )
        for number in range(count)
    ]
    try:
        for member in members:
            member.subscribe([topic])
        _wait_for_assignment(members)
        yield members
    finally:
        for member in members:
            member.close()


def _wait_for_assignment(members: Sequence[Consumer]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not all(member.assignment() for member in members):
        assert time.monotonic() < deadline, "the members got no partitions"
        for member in members:
            member.poll(0.02)


def commit_one(member: Consumer, topic: str, partition: int, offset: int) -> None:
    """As soon as the group lets it: a member in a rebalance has to wait."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            member.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
            return
        except KafkaException:
            assert time.monotonic() < deadline, "the member could not commit"
            member.poll(0.05)
