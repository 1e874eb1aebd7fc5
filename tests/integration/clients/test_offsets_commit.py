"""Committing: by itself, by hand, in the background, chosen offsets, when partitions are taken away."""

from collections.abc import Callable

import pytest
from tests.integration.clients.clients import MEMBERS, every_member, some_members
from tests.integration.clients.drivers.group_client import Committed, Partition
from tests.integration.clients.drivers.member import Member, settle, until
from tests.integration.clients.group_records import fill
from tests.integration.clients.group_requests import commit_offset, committed_offset, wait_for_coordinator
from tests.integration.clients.raw import RawClient
from tests.patience import NEVER_MS

from barnabas.testing import Broker

OpenMember = Callable[..., Member]


def _committed(broker: Broker, group: str, topic: str, partition: int = 0) -> int:
    with RawClient(broker.port) as client:
        return committed_offset(client, group, topic, partition)


@every_member
def test_auto_commit_in_the_background_and_at_close(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    member = open_member(client, kafka_topic, auto_commit_ms=200)
    fill(kafka_broker, kafka_topic, partitions=1, each=7)
    until(lambda: _committed(kafka_broker, group, kafka_topic) == 7, member)
    fill(kafka_broker, kafka_topic, partitions=1, each=3)
    until(lambda: len(member.received) == 10, member)
    member.close()
    assert _committed(kafka_broker, group, kafka_topic) == 10


@every_member
def test_next_member_goes_on_where_the_last_one_committed(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    sent = fill(kafka_broker, kafka_topic, partitions=1, each=6)
    member = open_member(client, kafka_topic)
    until(lambda: len(member.received) == 6, member)
    member.do(lambda each: each.commit())
    sent += fill(kafka_broker, kafka_topic, partitions=1, each=4, first=6)
    until(lambda: len(member.received) == 10, member)
    member.close()  # the last four are not committed: they come again
    again = open_member(client, kafka_topic)
    until(lambda: len(again.received) >= 4, again)
    assert again.values == sent[6:]


@every_member
def test_async_commit_in_the_loop_and_sync_commit_at_the_end(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    member = open_member(client, kafka_topic)
    outcomes: list[BaseException | None] = []
    for number in range(5):
        fill(kafka_broker, kafka_topic, partitions=1, each=2, first=2 * number)
        until(lambda number=number: len(member.received) == 2 * number + 2, member)  # type: ignore[misc]
        member.do(lambda each: each.commit_async(outcomes.append))
        until(lambda number=number: len(outcomes) == number + 1, member)  # type: ignore[misc]
    until(lambda: _committed(kafka_broker, group, kafka_topic) == 10, member)
    assert outcomes == [None] * 5
    fill(kafka_broker, kafka_topic, partitions=1, each=1)
    until(lambda: len(member.received) == 11, member)
    member.do(lambda each: each.commit())
    assert _committed(kafka_broker, group, kafka_topic) == 11
    member.close()


@every_member
@pytest.mark.kafka_topic(partitions=2)
def test_chosen_offsets_are_committed_with_metadata(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    fill(kafka_broker, kafka_topic, partitions=2, each=5)
    first, second = Partition(kafka_topic, 0), Partition(kafka_topic, 1)
    member = open_member(client, kafka_topic)
    until(lambda: len(member.received) == 10, member)
    chosen = {first: Committed(3, "half-way, größer"), second: Committed(0, "")}
    member.do(lambda each: each.commit(chosen))
    found = member.do(lambda each: each.committed([first, second]))
    if client == "aiokafka":  # it does not tell the metadata
        chosen = {partition: Committed(each.offset) for partition, each in chosen.items()}
    assert found == chosen
    back = {first: Committed(1)}
    member.do(lambda each: each.commit(back))
    assert member.do(lambda each: each.committed([first])) == back


@every_member
def test_nothing_committed_is_returned_as_nothing(
    kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    member = open_member(client, kafka_topic)
    partition = Partition(kafka_topic, 0)
    assert member.do(lambda each: each.committed([partition])) == {partition: None}


# The listener of kafka-python runs on the loop that would have to send the commit.
@some_members(*(name for name in MEMBERS if name != "kafka-python"))
@pytest.mark.kafka_topic(partitions=2)
def test_listener_commits_when_partitions_are_revoked(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    sent = fill(kafka_broker, kafka_topic, partitions=2, each=10)
    first = open_member(client, kafka_topic, commits_when_revoked=True)
    until(lambda: len(first.received) == 20, first)
    second = open_member(client, kafka_topic)
    settle(first, second, topic=kafka_topic, partitions=2, to=[1, 1])
    assert "revoked" in first.happenings
    sent += fill(kafka_broker, kafka_topic, partitions=2, each=10, first=10)
    until(lambda: len(first.received) + len(second.received) >= 40, first, second)
    assert sorted(first.values + second.values) == sorted(sent)


@every_member
def test_assigned_consumer_commits_without_being_a_member(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    fill(kafka_broker, kafka_topic, partitions=1, each=5)
    partition = Partition(kafka_topic, 0)
    alone = open_member(client)
    alone.do(lambda each: each.assign([partition]))
    until(lambda: len(alone.received) == 5, alone)
    alone.do(lambda each: each.commit())
    assert _committed(kafka_broker, group, kafka_topic) == 5
    assert alone.rebalances == []
    alone.close()
    again = open_member(client)
    again.do(lambda each: each.assign([partition]))
    fill(kafka_broker, kafka_topic, partitions=1, each=1, first=5)
    until(lambda: again.values == [b"0:5"], again)


@every_member
def test_consumer_polls_before_it_has_partitions(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    sent = fill(kafka_broker, kafka_topic, partitions=1, each=5)
    member = open_member(client)
    assert member.do(lambda each: each.poll(0.01)) == []
    member.do(lambda each: each.assign([Partition(kafka_topic, 0)]))
    until(lambda: member.values == sent, member)


@some_members("confluent", "kafka-python", "aiokafka", "java")
def test_assigned_consumer_with_auto_commit_closes_at_once(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    fill(kafka_broker, kafka_topic, partitions=1, each=5)
    alone = open_member(client, auto_commit_ms=NEVER_MS)
    alone.do(lambda each: each.assign([Partition(kafka_topic, 0)]))
    until(lambda: len(alone.received) == 5, alone)
    alone.close()
    assert _committed(kafka_broker, group, kafka_topic) == 5


@some_members("confluent", "confluent-new", "java", "java-new", "kafka-python", "aiokafka")
def test_offsets_outlive_the_broker(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    """And a member that lives through the restart goes on, in the same group."""
    sent = fill(kafka_broker, kafka_topic, partitions=1, each=5)
    member = open_member(client, kafka_topic)
    until(lambda: len(member.received) == 5, member)
    member.do(lambda each: each.commit())
    kafka_broker.restart()
    wait_for_coordinator(kafka_broker.port, group)  # it loads
    assert _committed(kafka_broker, group, kafka_topic) == 5
    sent += fill(kafka_broker, kafka_topic, partitions=1, each=5, first=5)
    until(lambda: len(member.received) >= 10, member)
    assert member.values == sent
    member.do(lambda each: each.commit())
    assert _committed(kafka_broker, group, kafka_topic) == 10


@pytest.mark.kafka_topic(partitions=1)
def test_offset_beyond_the_end_is_kept_as_it_was_given(
    kafka_broker: Broker, kafka_topic: str, group: str
) -> None:
    with RawClient(kafka_broker.port) as client:
        assert commit_offset(client, group, kafka_topic, 1 << 40) == 0
        assert committed_offset(client, group, kafka_topic) == 1 << 40
