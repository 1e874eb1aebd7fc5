"""Where reading begins: at a committed offset, at one that is chosen, or where `auto.offset.reset` says."""

import time
from collections.abc import Callable

import pytest
from tests.integration.clients.clients import every_member, some_members
from tests.integration.clients.drivers.group_client import Committed, GroupClient, NoOffset, Partition
from tests.integration.clients.drivers.member import Member, until
from tests.integration.clients.group_records import fill
from tests.integration.clients.group_requests import commit_offset
from tests.integration.clients.messages import now_ms
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce

from barnabas.testing import Broker

OpenMember = Callable[..., Member]


@every_member
def test_seek_to_beginning_end_and_an_offset(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    sent = fill(kafka_broker, kafka_topic, partitions=1, each=10)
    partition = Partition(kafka_topic, 0)
    member = open_member(client, kafka_topic)
    until(lambda: member.values == sent, member)

    def begin_again() -> None:
        member.received.clear()

    begin_again()
    member.do(lambda each: each.seek_to_beginning(partition))
    until(lambda: member.values == sent, member)
    begin_again()
    member.do(lambda each: each.seek(partition, 7))
    until(lambda: member.values == sent[7:], member)
    begin_again()

    def jump(each: GroupClient) -> None:
        each.seek(partition, 2)
        each.seek_to_end(partition)

    member.do(jump)
    new: list[bytes] = []
    while not member.received:  # no client tells when it has learnt where the end is
        new += fill(kafka_broker, kafka_topic, partitions=1, each=1, first=10 + len(new))
        time.sleep(0.05)
    until(lambda: member.values[-1] == new[-1], member)
    assert member.values == new[-len(member.values) :]


@every_member
def test_seek_to_a_time(kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, client: str) -> None:
    begin = now_ms() - 60_000
    with RawClient(kafka_broker.port) as raw:
        for number in range(10):
            produce(raw, kafka_topic, batch(b"%d" % number, timestamp=begin + 1000 * number))
    partition = Partition(kafka_topic, 0)
    member = open_member(client, kafka_topic)
    until(lambda: len(member.received) == 10, member)
    found = member.do(lambda each: each.offset_for_time(partition, begin + 5500))
    assert found == 6
    assert member.do(lambda each: each.offset_for_time(partition, begin + 9001)) is None
    member.received.clear()
    member.do(lambda each: each.seek(partition, found))
    until(lambda: member.values == [b"6", b"7", b"8", b"9"], member)


@every_member
def test_without_a_committed_offset_earliest_reads_all_and_latest_what_is_new(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    old = fill(kafka_broker, kafka_topic, partitions=1, each=5)
    partition = Partition(kafka_topic, 0)
    earliest = open_member(client, kafka_topic, group=f"{group}-earliest")
    latest = open_member(client, kafka_topic, group=f"{group}-latest", reset="latest")
    until(lambda: earliest.values == old and partition in latest.owned, earliest, latest)
    new: list[bytes] = []
    while not latest.received:  # no client tells when it has learnt where the end is
        new += fill(kafka_broker, kafka_topic, partitions=1, each=1, first=5 + len(new))
        time.sleep(0.05)
    until(lambda: earliest.values == old + new and latest.values[-1] == new[-1], earliest, latest)
    assert latest.values == new[-len(latest.values) :]


@every_member
def test_without_a_committed_offset_none_is_an_error_and_with_one_it_is_not(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    sent = fill(kafka_broker, kafka_topic, partitions=1, each=5)
    lost = open_member(client, kafka_topic, reset="none")
    until(lambda: lost.failure is not None)
    assert isinstance(lost.failure, NoOffset)
    lost.close()
    with RawClient(kafka_broker.port) as raw:
        assert commit_offset(raw, f"{group}-found", kafka_topic, 2) == 0
    found = open_member(client, kafka_topic, reset="none", group=f"{group}-found")
    until(lambda: found.values == sent[2:], found)


@some_members("confluent", "confluent-new", "java", "java-new", "aiokafka", "kafka-python")
def test_committed_offset_that_is_out_of_range_is_reset(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    sent = fill(kafka_broker, kafka_topic, partitions=1, each=5)
    with RawClient(kafka_broker.port) as raw:
        assert commit_offset(raw, group, kafka_topic, 1000) == 0
    member = open_member(client, kafka_topic)
    until(lambda: member.values == sent, member)
    partition = Partition(kafka_topic, 0)
    member.do(lambda each: each.commit({partition: Committed(5)}))
    assert member.do(lambda each: each.committed([partition])) == {partition: Committed(5)}


@every_member
@pytest.mark.kafka_topic(partitions=2)
def test_paused_partition_brings_nothing_until_it_is_resumed(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    member = open_member(client, kafka_topic)
    until(lambda: len(member.owned) == 2, member)
    paused = [Partition(kafka_topic, 0)]
    member.do(lambda each: each.pause(paused))
    first, second = fill(kafka_broker, kafka_topic, partitions=2, each=1)
    until(lambda: second in member.values, member)
    time.sleep(0.2)
    assert member.values == [second]
    assert len(member.owned) == 2
    member.do(lambda each: each.resume(paused))
    until(lambda: member.values == [second, first], member)
