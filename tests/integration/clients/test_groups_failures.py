"""Members that die, stop polling, come back, or pretend to be somebody else."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from tests.integration.clients.clients import every_member, some_members
from tests.integration.clients.drivers.child import ChildMember
from tests.integration.clients.drivers.group_client import Committed, Fenced, GroupSettings, Partition
from tests.integration.clients.drivers.member import Member, settle, until
from tests.integration.clients.group_records import fill
from tests.integration.clients.raw import RawClient

from barnabas.testing import Broker

OpenMember = Callable[..., Member]
OpenChild = Callable[..., ChildMember]
_NEW_SESSION_SECONDS = 2.0
"""Of the new protocol it is the broker's setting: `QUICK_GROUPS` in conftest.py."""
_LONG_SESSION_MS = 60_000
"""As long as the broker allows: longer than a client takes to start on a busy machine."""
_GROUP = 32
"""The type of a group's configuration."""


@pytest.fixture
def open_child(kafka_broker: Broker, group: str) -> Iterator[OpenChild]:
    with ExitStack() as children:

        def new(name: str, topic: str, **settings: object) -> ChildMember:
            chosen = GroupSettings(group=group, is_new=name.endswith("-new"), **settings)  # type: ignore[arg-type]
            child = ChildMember(name, kafka_broker.bootstrap_servers, chosen, topic)
            return children.enter_context(child)

        yield new


@some_members("confluent", "confluent-new", "kafka-python", "aiokafka")
@pytest.mark.kafka_topic(partitions=2)
def test_partitions_of_a_killed_member_are_taken_over_after_its_session(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, open_child: OpenChild, client: str
) -> None:
    session_ms = 1500
    fill(kafka_broker, kafka_topic, partitions=2, each=5)
    child = open_child(client, kafka_topic, session_ms=session_ms)
    member = open_member(client, kafka_topic, session_ms=session_ms)
    until(lambda: len(child.owned) == len(member.owned) == 1 and len(child.values) >= 5, member)
    lost = child.owned
    child.kill()
    killed = time.monotonic()
    until(lambda: lost <= member.owned, member)
    waited = time.monotonic() - killed
    session = _NEW_SESSION_SECONDS if client.endswith("-new") else session_ms / 1000
    # Not when its connection was closed; the last heartbeat came some time before the kill.
    assert session * 0.3 < waited
    # It committed nothing: what it had received comes again.
    (partition,) = lost
    until(lambda: _count(member, partition) >= 5, member)


def _count(member: Member, partition: Partition) -> int:
    return sum(message.partition == partition.partition for message in member.received)


@some_members("confluent", "confluent-new")
@pytest.mark.kafka_topic(partitions=2)
def test_frozen_member_loses_its_partitions_and_joins_again_when_it_thaws(
    kafka_topic: str, open_member: OpenMember, open_child: OpenChild, client: str
) -> None:
    child = open_child(client, kafka_topic, session_ms=1000)
    member = open_member(client, kafka_topic, session_ms=1000)
    until(lambda: len(child.owned) == len(member.owned) == 1, member)
    child.freeze()
    until(lambda: len(member.owned) == 2, member)
    child.thaw()
    until(lambda: len(child.owned) == len(member.owned) == 1 and child.owned != member.owned, member)


@some_members("confluent", "kafka-python", "java", "java-new", "confluent-new")
@pytest.mark.kafka_topic(partitions=2)
def test_member_that_does_not_poll_for_too_long_is_out(
    kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    busy = open_member(client, kafka_topic, max_poll_ms=1200, session_ms=1000)
    other = open_member(client, kafka_topic, session_ms=1000)
    settle(busy, other, topic=kafka_topic, partitions=2, to=[1, 1])
    begun = time.monotonic()
    done: list[float] = []

    def work(_: object) -> None:
        until(lambda: len(other.owned) == 2, other)
        done.append(time.monotonic() - begun)

    busy.do(work)
    assert done[0] > 1.0
    settle(busy, other, topic=kafka_topic, partitions=2, to=[1, 1])


def _set_session_of_the_new_protocol(broker: Broker, group: str, session_ms: int) -> None:
    change = {"name": "consumer.session.timeout.ms", "config_operation": 0, "value": str(session_ms)}
    resource = {"resource_type": _GROUP, "resource_name": group, "configs": [change]}
    with RawClient(broker.port) as client:
        answer = client.call("incremental_alter_configs", 1, resources=[resource], validate_only=False)
    assert [each.error_code for each in answer.responses] == [0], answer


@every_member
@pytest.mark.kafka_topic(partitions=2)
def test_static_member_comes_back_within_its_session_without_a_rebalance(
    kafka_broker: Broker, kafka_topic: str, group: str, open_member: OpenMember, client: str
) -> None:
    _set_session_of_the_new_protocol(kafka_broker, group, _LONG_SESSION_MS)
    first, second = (
        open_member(client, kafka_topic, instance=name, session_ms=_LONG_SESSION_MS)
        for name in ("one", "two")
    )
    settle(first, second, topic=kafka_topic, partitions=2, to=[1, 1])
    owned = first.owned
    rebalances = len(second.rebalances)
    first.close()
    again = open_member(client, kafka_topic, instance="one", session_ms=_LONG_SESSION_MS)
    until(lambda: again.owned == owned, again, second)
    # A classic leader that comes back may be given a new generation, but everybody keeps what he has.
    assert {
        partition for each in second.rebalances[rebalances:] for partition in each.partitions
    } <= second.owned
    settle(again, second, topic=kafka_topic, partitions=2, to=[1, 1])


@some_members("confluent", "java")
def test_second_instance_with_the_same_id_fences_the_first(
    kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    first = open_member(client, kafka_topic, instance="one")
    until(lambda: len(first.owned) == 1, first)
    second = open_member(client, kafka_topic, instance="one")
    until(lambda: first.failure is not None)
    assert isinstance(first.failure, Fenced)
    until(lambda: len(second.owned) == 1, second)


@some_members("confluent-new", "java-new")
def test_second_instance_with_the_same_id_is_refused_by_the_new_protocol(
    kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    first = open_member(client, kafka_topic, instance="one")
    until(lambda: len(first.owned) == 1, first)
    second = open_member(client, kafka_topic, instance="one")
    until(lambda: second.failure is not None, first)
    assert isinstance(second.failure, Fenced)
    assert len(first.owned) == 1


@some_members("confluent", "confluent-new", "java", "java-new", "kafka-python", "aiokafka")
@pytest.mark.kafka_topic(partitions=2)
def test_commit_of_a_member_that_was_put_out_is_refused(
    kafka_broker: Broker, kafka_topic: str, open_member: OpenMember, client: str
) -> None:
    """Its partition has another owner by then, whose commit counts."""
    fill(kafka_broker, kafka_topic, partitions=2, each=5)
    slow = open_member(client, kafka_topic, max_poll_ms=1200, session_ms=1000)
    other = open_member(client, kafka_topic, session_ms=1000)
    settle(slow, other, topic=kafka_topic, partitions=2, to=[1, 1])
    until(lambda: len(slow.received) >= 5, slow)
    (partition,) = slow.owned

    def work(late: object) -> None:
        if client == "aiokafka":
            time.sleep(1.2)  # its heartbeats stand still with its loop
        until(lambda: len(other.owned) == 2, other)
        other.do(lambda each: each.commit({partition: Committed(4)}))
        with pytest.raises(Fenced):
            late.commit({partition: Committed(1)})  # type: ignore[attr-defined]

    slow.do(work)
    assert other.do(lambda each: each.committed([partition])) == {partition: Committed(4)}
