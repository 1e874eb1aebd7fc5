"""The assignors that clients bring, and those of the broker."""

from collections import Counter
from collections.abc import Callable

import pytest
from tests.integration.clients.clients import members_with
from tests.integration.clients.drivers.group_client import Partition
from tests.integration.clients.drivers.member import Member, is_shared_out, until

from barnabas.testing import Broker

OpenMember = Callable[..., Member]
_EAGER = ("range", "roundrobin", "sticky")
_CHOICES = [
    *(("kafka-python", assignor) for assignor in (*_EAGER, "cooperative-sticky")),
    *(("aiokafka", assignor) for assignor in _EAGER),
    *(("java", assignor) for assignor in (*_EAGER, "cooperative-sticky")),
    *(("confluent", assignor) for assignor in ("range", "roundrobin", "cooperative-sticky")),
    *((client, assignor) for client in ("confluent-new", "java-new") for assignor in ("uniform", "range")),
]


def _partitions(*topics: str) -> set[Partition]:
    return {Partition(topic, number) for topic in topics for number in range(3)}


@members_with("assignor", *_CHOICES)
def test_two_topics_are_shared_as_the_assignor_does(
    kafka_broker: Broker, group: str, open_member: OpenMember, client: str, assignor: str
) -> None:
    """Three partitions each for two members: by range 4 and 2, by all the others 3 and 3."""
    topics = (f"{group}-a", f"{group}-b")
    for topic in topics:
        kafka_broker.create_topic(topic, 3)
    first = open_member(client, *topics, assignor=assignor)
    until(lambda: first.owned == _partitions(*topics), first)
    second = open_member(client, *topics, assignor=assignor)
    wanted = [4, 2] if assignor == "range" else [3, 3]
    both = (first, second)

    def is_done() -> bool:
        counts = sorted((len(member.owned) for member in both), reverse=True)
        return is_shared_out(_partitions(*topics), *both) and counts == wanted

    until(is_done, *both)
    if assignor == "range":
        for member in both:
            each = Counter(partition.topic for partition in member.owned)
            assert len(set(each.values())) == 1
    if assignor in ("sticky", "cooperative-sticky", "uniform"):
        assert second.owned <= _partitions(*topics) - first.owned
    if assignor == "cooperative-sticky" or client.endswith("-new"):
        _assert_only_what_moved_was_revoked(first, second)


def _assert_only_what_moved_was_revoked(first: Member, second: Member) -> None:
    revoked = [
        partition for each in first.rebalances if each.happening == "revoked" for partition in each.partitions
    ]
    assert sorted(revoked) == sorted(second.owned)
    assert "lost" not in first.happenings


@pytest.mark.needs("confluent_kafka")
@pytest.mark.kafka_topic(partitions=2)
def test_members_without_a_common_assignor_are_not_let_in(kafka_topic: str, open_member: OpenMember) -> None:
    from confluent_kafka import KafkaError, KafkaException

    first = open_member("confluent", kafka_topic, assignor="range")
    until(lambda: len(first.owned) == 2, first)
    second = open_member("confluent", kafka_topic, assignor="roundrobin")
    until(lambda: second.failure is not None, first)
    failure = second.failure
    assert isinstance(failure, (AssertionError, KafkaException))
    error = failure.args[0]
    assert KafkaError(KafkaError.INCONSISTENT_GROUP_PROTOCOL).str() in str(error)
    assert len(first.owned) == 2
