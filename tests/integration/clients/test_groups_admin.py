"""Groups seen and changed by the admin clients of confluent-kafka and kafka-python."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.integration.clients.clients import some_members
from tests.integration.clients.drivers.member import Member, settle, until
from tests.integration.clients.group_records import fill
from tests.integration.clients.group_requests import commit, committed_offset
from tests.integration.clients.raw import RawClient
from tests.patience import PATIENCE

from barnabas.testing import Broker

OpenMember = Callable[..., Member]
_both = some_members("confluent", "confluent-new")


@pytest.fixture
def admin(kafka_broker: Broker) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": kafka_broker.bootstrap_servers, "log_level": 0})


@pytest.fixture
def python_admin(kafka_broker: Broker) -> Iterator[Any]:
    from kafka.admin import KafkaAdminClient

    client = KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap_servers)
    yield client
    client.close()


def _commit(broker: Broker, group: str, topic: str, *offsets: int) -> None:
    with RawClient(broker.port) as client:
        assert set(commit(client, group, topic, dict(enumerate(offsets)))) == {0}


def _result(futures: Any) -> Any:
    """Of a call about one group."""
    (future,) = futures.values() if isinstance(futures, dict) else (futures,)
    return future.result(PATIENCE)


def _newest(spec: Any) -> Any:
    return spec.latest()


@_both
@pytest.mark.kafka_topic(partitions=3)
def test_group_is_listed_and_described(
    kafka_topic: str, group: str, open_member: OpenMember, admin: Any, client: str
) -> None:
    from confluent_kafka import ConsumerGroupState, ConsumerGroupType

    kind = ConsumerGroupType.CONSUMER if client.endswith("-new") else ConsumerGroupType.CLASSIC
    first = open_member(client, kafka_topic, client_id="first", instance="instance-1")
    second = open_member(client, kafka_topic, client_id="second")
    settle(first, second, topic=kafka_topic, to=[2, 1])
    listed = admin.list_consumer_groups(states={ConsumerGroupState.STABLE}, types={kind}).result(PATIENCE)
    assert listed.errors == []
    (found,) = [each for each in listed.valid if each.group_id == group]
    assert (found.state, found.type, found.is_simple_consumer_group) == (
        ConsumerGroupState.STABLE,
        kind,
        False,
    )
    described = _result(admin.describe_consumer_groups([group]))
    assert (described.state, described.type) == (ConsumerGroupState.STABLE, kind)
    assert described.partition_assignor == ("uniform" if client.endswith("-new") else "range")
    members = {each.client_id: each for each in described.members}
    assert {name: each.group_instance_id for name, each in members.items()} == {
        "first": "instance-1",
        "second": None,
    }
    for name, member in (("first", first), ("second", second)):
        described = {(each.topic, each.partition) for each in members[name].assignment.topic_partitions}
        assert described == set(member.owned)
        assert members[name].host in ("/127.0.0.1", "127.0.0.1")


@_both
def test_group_without_members_is_empty_and_goes_when_it_is_deleted(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, admin: Any, client: str
) -> None:
    from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException

    member = open_member(client, kafka_topic)
    until(lambda: len(member.owned) == 1, member)
    with pytest.raises(KafkaException) as refused:
        _result(admin.delete_consumer_groups([group]))
    assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    member.close()
    _commit(kafka_broker, group, kafka_topic, 1)
    assert _result(admin.describe_consumer_groups([group])).state == ConsumerGroupState.EMPTY
    _result(admin.delete_consumer_groups([group]))
    listed = admin.list_consumer_groups().result(PATIENCE).valid
    assert group not in {each.group_id for each in listed}
    with pytest.raises(KafkaException) as missing:
        _result(admin.delete_consumer_groups([group]))
    assert missing.value.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND


@_both
@pytest.mark.kafka_topic(partitions=2)
def test_offsets_of_an_empty_group_are_altered_and_those_of_a_living_one_not(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, admin: Any, client: str
) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, TopicPartition

    sent = fill(kafka_broker, kafka_topic, partitions=2, each=5)
    wanted = [TopicPartition(kafka_topic, 0, 4), TopicPartition(kafka_topic, 1, 5)]
    requested = ConsumerGroupTopicPartitions(group, wanted)
    altered = _result(admin.alter_consumer_group_offsets([requested]))
    assert [each.error for each in altered.topic_partitions] == [None, None]
    found = _result(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
    assert sorted((each.partition, each.offset) for each in found.topic_partitions) == [(0, 4), (1, 5)]
    member = open_member(client, kafka_topic)
    until(lambda: member.values == sent[4:5], member)
    refused = _result(admin.alter_consumer_group_offsets([requested])).topic_partitions
    assert {each.error.code() for each in refused} == {KafkaError.UNKNOWN_MEMBER_ID}


@pytest.mark.needs("confluent_kafka")
@pytest.mark.kafka_topic(partitions=3)
def test_lag_is_what_is_behind_the_committed_offset(
    kafka_broker: Broker, kafka_topic: str, group: str, admin: Any
) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

    fill(kafka_broker, kafka_topic, partitions=3, each=10)
    _commit(kafka_broker, group, kafka_topic, 10, 3)
    partitions = [TopicPartition(kafka_topic, number) for number in range(3)]
    requested = ConsumerGroupTopicPartitions(group, partitions)
    committed = _result(admin.list_consumer_group_offsets([requested])).topic_partitions
    ends = admin.list_offsets({each: _newest(OffsetSpec) for each in partitions})
    end = {each.partition: future.result(PATIENCE).offset for each, future in ends.items()}
    lag = {each.partition: end[each.partition] - max(each.offset, 0) for each in committed}
    assert lag == {0: 0, 1: 7, 2: 10}
    assert [each.offset for each in committed if each.partition == 2] == [-1001]


@pytest.mark.needs("kafka")
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.kafka_topic(partitions=2)
def test_offsets_of_several_groups_with_kafka_python(
    kafka_broker: Broker, kafka_topic: str, group: str, python_admin: Any
) -> None:
    from kafka import TopicPartition
    from kafka.structs import OffsetAndMetadata

    one, two = f"{group}-1", f"{group}-2"
    partition = TopicPartition(kafka_topic, 0)
    done = python_admin.alter_group_offsets(one, {partition: OffsetAndMetadata(7, "why", -1)})
    assert [error.__name__ for error in done.values()] == ["NoError"]
    _commit(kafka_broker, two, kafka_topic, 1, 2)
    found = python_admin.list_group_offsets([one, two])
    described = {
        name: sorted((each.partition, offset.offset, offset.metadata) for each, offset in offsets.items())
        for name, offsets in found.items()
    }
    assert described == {one: [(0, 7, "why")], two: [(0, 1, ""), (1, 2, "")]}
    python_admin.delete_group_offsets(two, [partition])
    with RawClient(kafka_broker.port) as client:
        assert [committed_offset(client, two, kafka_topic, number) for number in range(2)] == [-1, 2]
    assert set(python_admin.delete_groups([one, two]))
    names = {each["group_id"] for each in python_admin.list_groups()}
    assert not names & {one, two}


@pytest.mark.needs("kafka", "confluent_kafka")
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.kafka_topic(partitions=2)
def test_member_is_described_and_removed_with_kafka_python(
    kafka_topic: str, group: str, open_member: OpenMember, python_admin: Any
) -> None:
    from kafka.admin import MemberToRemove

    first = open_member("confluent", kafka_topic, instance="one", client_id="first")
    second = open_member("confluent", kafka_topic, client_id="second")
    settle(first, second, topic=kafka_topic, partitions=2, to=[1, 1])
    described = python_admin.describe_groups([group])[group]
    assert (described["group_state"], described["protocol_type"]) == ("Stable", "consumer")
    assert {each["client_id"] for each in described["members"]} == {"first", "second"}
    python_admin.remove_group_members(group, [MemberToRemove(group_instance_id="one")])
    until(lambda: len(second.rebalances) > 2 and len(second.owned) > 0, second)
