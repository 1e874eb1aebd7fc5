"""Who gets what: one member of each group (unicast), and every group (broadcast)."""

from collections.abc import Callable

import pytest
from tests.integration.clients.clients import every_member, some_members
from tests.integration.clients.drivers.member import Member, settle, until
from tests.integration.clients.group_records import all_values, fill
from tests.integration.clients.group_requests import member_count

from barnabas.testing import Broker

OpenMember = Callable[..., Member]
three_partitions = pytest.mark.kafka_topic(partitions=3)


@every_member
@three_partitions
def test_a_group_of_one_gets_all_and_a_group_of_three_shares(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    alone = open_member(client, kafka_topic, group=f"{group}-1")
    together = [open_member(client, kafka_topic, group=f"{group}-2") for _ in range(3)]
    until(lambda: len(alone.owned) == 3, alone)
    settle(*together, topic=kafka_topic, to=[1, 1, 1])
    sent = fill(kafka_broker, kafka_topic, partitions=3, each=20)
    until(lambda: len(alone.received) >= 60 and sum(len(one.received) for one in together) >= 60, alone)
    assert sorted(alone.values) == sorted(sent)
    assert sorted(all_values(together)) == sorted(sent)
    for member in together:
        (own,) = member.owned
        assert {message.partition for message in member.received} == {own.partition}
        assert [message.offset for message in member.received] == list(range(20))


@every_member
@three_partitions
def test_surplus_member_idles_and_takes_over_when_another_leaves(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    members = [open_member(client, kafka_topic, auto_commit_ms=1000) for _ in range(4)]
    # A member that owns nothing may not have joined yet: its joining would move the partitions once more.
    until(lambda: member_count(kafka_broker, group) == len(members), *members)
    settle(*members, topic=kafka_topic, to=[1, 1, 1, 0])
    sent = fill(kafka_broker, kafka_topic, partitions=3, each=10)
    until(lambda: len(all_values(members)) >= 30, *members)
    (idle,) = [member for member in members if not member.owned]
    assert idle.received == []
    leaving = next(member for member in members if member.owned)
    leaving.close()
    assert leaving.failure is None
    staying = [member for member in members if member is not leaving]
    settle(*staying, topic=kafka_topic, to=[1, 1, 1])
    sent += fill(kafka_broker, kafka_topic, partitions=3, each=10, first=10)
    until(lambda: len(all_values(members)) >= 60, *staying)
    assert idle.received
    # Everybody committed when partitions were taken away, so nothing came twice.
    assert sorted(all_values(members)) == sorted(sent)


@every_member
@pytest.mark.kafka_topic(partitions=4)
def test_member_that_comes_later_gets_its_share(
    kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    first = open_member(client, kafka_topic)
    until(lambda: len(first.owned) == 4, first)
    second = open_member(client, kafka_topic)
    settle(first, second, topic=kafka_topic, partitions=4, to=[2, 2])
    second.close()
    until(lambda: len(first.owned) == 4, first)


@some_members("confluent", "java-new")
def test_group_id_is_what_separates_groups(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    names = [group, f"{group}-", f"{group}é", group.upper()]
    members = [open_member(client, kafka_topic, group=name) for name in names]
    sent = fill(kafka_broker, kafka_topic, partitions=1, each=5)
    until(lambda: all(len(member.received) >= 5 for member in members), *members)
    assert [member.values for member in members] == [sent] * len(members)


@pytest.mark.needs("confluent_kafka", "kafka", "aiokafka")
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@three_partitions
def test_clients_of_different_make_share_one_group(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember
) -> None:
    names = ("confluent", "kafka-python", "aiokafka")
    members = [open_member(name, kafka_topic, assignor="range") for name in names]
    settle(*members, topic=kafka_topic, to=[1, 1, 1])
    sent = fill(kafka_broker, kafka_topic, partitions=3, each=5)
    until(lambda: len(all_values(members)) >= 15, *members)
    assert sorted(all_values(members)) == sorted(sent)
