"""What a group subscribes to grows: new partitions, new topics that match, another list of topics."""

from collections.abc import Callable

import pytest
from tests.integration.clients.clients import MEMBERS, every_member, some_members
from tests.integration.clients.drivers.group_client import Partition
from tests.integration.clients.drivers.member import Member, is_shared_out, until
from tests.integration.clients.group_records import fill
from tests.integration.clients.raw import RawClient

from barnabas.testing import Broker

OpenMember = Callable[..., Member]
_REFRESH_MS = 300
every_member_slow_with_the_new_protocol = some_members(*MEMBERS, soak=("confluent-new", "java-new"))
"""The broker looks for topics that match at most every ten seconds."""


def _add_partitions(broker: Broker, topic: str, count: int) -> None:
    topics = [{"name": topic, "count": count, "assignments": None}]
    with RawClient(broker.port) as client:
        answer = client.call("create_partitions", 3, topics=topics, timeout=5000, validate_only=False)
    assert answer.results[0].error_code == 0


@every_member
def test_new_partition_is_noticed(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    member = open_member(client, kafka_topic, metadata_ms=_REFRESH_MS)
    until(lambda: len(member.owned) == 1, member)
    _add_partitions(kafka_broker, kafka_topic, 3)
    until(lambda: len(member.owned) == 3, member)
    sent = fill(kafka_broker, kafka_topic, partitions=3, each=2)
    until(lambda: sorted(member.values) == sorted(sent), member)


@every_member
def test_regular_expression_finds_what_is_there(
    kafka_broker: Broker, group: str, open_member: OpenMember, client: str
) -> None:
    for topic in (f"{group}-one", f"{group}-two", f"x{group}-other"):
        kafka_broker.create_topic(topic)
    members = [open_member(client, f"^{group}-.*") for _ in range(2)]
    topics = [f"{group}-one", f"{group}-two"]
    until(lambda: sorted(each.topic for member in members for each in member.owned) == topics, *members)


@every_member_slow_with_the_new_protocol
def test_regular_expression_takes_in_new_topics(
    kafka_broker: Broker, group: str, open_member: OpenMember, client: str
) -> None:
    kafka_broker.create_topic(f"{group}-one")
    kafka_broker.create_topic(f"x{group}-other")
    member = open_member(client, f"^{group}-.*", metadata_ms=_REFRESH_MS)
    until(lambda: member.owned == {Partition(f"{group}-one", 0)}, member)
    kafka_broker.create_topic(f"{group}-two", 2)
    wanted = {Partition(f"{group}-one", 0), Partition(f"{group}-two", 0), Partition(f"{group}-two", 1)}
    until(lambda: member.owned == wanted, member)


@some_members("confluent", "confluent-new", "java", "java-new", soak=("confluent-new", "java-new"))
def test_topic_that_is_deleted_leaves_the_assignment(
    kafka_broker: Broker, group: str, open_member: OpenMember, client: str
) -> None:
    kafka_broker.create_topic(f"{group}-one")
    kafka_broker.create_topic(f"{group}-two")
    member = open_member(client, f"^{group}-.*", metadata_ms=_REFRESH_MS)
    until(lambda: len(member.owned) == 2, member)
    kafka_broker.delete_topic(f"{group}-two")
    until(lambda: member.owned == {Partition(f"{group}-one", 0)}, member)


@every_member
@pytest.mark.kafka_topic(partitions=2)
def test_member_subscribes_to_something_else(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    other = f"{group}-other"
    kafka_broker.create_topic(other, 2)
    member = open_member(client, kafka_topic, metadata_ms=_REFRESH_MS)
    until(lambda: {each.topic for each in member.owned} == {kafka_topic}, member)
    member.do(lambda each: each.subscribe([other]))
    until(lambda: {each.topic for each in member.owned} == {other} and len(member.owned) == 2, member)
    member.do(lambda each: each.subscribe([other, kafka_topic]))
    until(lambda: len(member.owned) == 4, member)


@some_members("confluent", "confluent-new", "kafka-python", "java", "java-new")
@pytest.mark.kafka_topic(partitions=2)
def test_members_with_different_subscriptions_get_only_their_own(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    other = f"{group}-other"
    kafka_broker.create_topic(other, 2)
    one = open_member(client, kafka_topic)
    two = open_member(client, kafka_topic, other)
    wanted = {Partition(topic, number) for topic in (kafka_topic, other) for number in range(2)}
    until(lambda: is_shared_out(wanted, one, two), one, two)
    assert {each.topic for each in one.owned} <= {kafka_topic}
    assert {Partition(other, 0), Partition(other, 1)} <= two.owned
