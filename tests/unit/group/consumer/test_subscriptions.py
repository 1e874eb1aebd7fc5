"""Changes of subscriptions and topics bump the epoch and move partitions."""

import pytest
from tests.unit.group.consumer.consumer_shard import Client, ConsumerShard, partitions_of, settle

from barnabas.base.errors import CoordinatorNotAvailable
from barnabas.group.consumer.member import MemberState
from barnabas.group.records import ConsumerGroupPartitionMetadata


def test_a_new_subscription_is_followed() -> None:
    shard = ConsumerShard({"orders": 2, "payments": 2})
    client = Client(shard, "a")
    client.settle()
    client.subscribe(["payments"])
    client.beat()
    assert shard.group.epoch == 3
    settle([client], rounds=2)
    assert client.holds == partitions_of("payments", 0, 1)
    assert shard.groups.subscribed_to("orders") == frozenset()
    assert not shard.group.is_subscribed_to("orders")


def test_what_is_not_subscribed_any_more_has_to_go_even_before_there_is_a_new_target() -> None:
    shard = ConsumerShard({"orders": 2, "payments": 2}, consumer_assignment_interval_ms=1_000)
    client = Client(shard, "a", ["orders", "payments"])
    client.settle()
    client.subscribe(["payments"])
    client.beat()
    assert shard.group.assignment_epoch == 2
    assert shard.group.members["a"].state == MemberState.UNREVOKED_PARTITIONS
    assert client.assigned == partitions_of("payments", 0, 1)
    client.reconcile()
    client.beat()
    assert shard.group.members["a"].state == MemberState.STABLE
    assert client.epoch == 2


def test_what_the_member_let_go_of_already_goes_without_a_round() -> None:
    shard = ConsumerShard({"orders": 2, "payments": 2}, consumer_assignment_interval_ms=1_000)
    client = Client(shard, "a", ["orders", "payments"])
    client.settle()
    shard.heartbeat("a", 2, topics=["payments"], owned=partitions_of("payments", 0, 1)).result()
    member = shard.group.members["a"]
    assert member.state == MemberState.STABLE
    assert len(member.assigned) == 1
    assert not member.pending_revocation


def test_more_to_give_up_while_giving_up() -> None:
    shard = ConsumerShard({"orders": 4, "payments": 2})
    first, second = Client(shard, "a", ["orders", "payments"]), Client(shard, "b", ["orders"])
    first.settle()
    second.beat()
    first.beat()
    pending = shard.group.members["a"].pending_revocation
    assert pending
    first.subscribe(["payments"])
    first.beat()
    member = shard.group.members["a"]
    assert member.state == MemberState.UNREVOKED_PARTITIONS
    assert sum(map(len, member.pending_revocation.values())) == 4
    settle([first, second])
    assert first.holds == partitions_of("payments", 0, 1)
    assert second.holds == partitions_of("orders", 0, 1, 2, 3)


@pytest.mark.parametrize("topics", [{"orders": 6}, {"orders": 4, "new": 2}, {}])
def test_topics_that_change_bump_the_epoch_with_the_next_heartbeat(topics: dict[str, int]) -> None:
    shard = ConsumerShard({"orders": 4})
    client = Client(shard, "a", ["orders", "new"])
    client.settle()
    shard.set_topics(topics)
    assert shard.group.epoch == 2
    client.beat()
    assert shard.group.epoch == 3
    settle([client], rounds=2)
    assert client.holds == {(name, each) for name, count in topics.items() for each in range(count)}
    assert shard.group.state_name == "Stable"


def test_topics_that_the_group_does_not_want_change_nothing() -> None:
    shard = ConsumerShard()
    client = Client(shard, "a")
    client.settle()
    shard.set_topics({"orders": 4, "other": 1})
    client.settle()
    assert shard.group.epoch == 2


def test_a_topic_made_anew_is_another_topic() -> None:
    shard = ConsumerShard({"orders": 2})
    client = Client(shard, "a")
    client.settle()
    shard.set_topics({"orders": 2}, {"orders": 1})
    settle([client], rounds=3)
    assert shard.group.epoch == 3
    assert client.holds == partitions_of("orders", 0, 1)
    assert list(shard.group.members["a"].assigned) == [shard.environment.image.topics["orders"].topic_id]


def test_a_change_of_topics_that_could_not_be_written_is_seen_again() -> None:
    shard = ConsumerShard()
    client = Client(shard, "a")
    client.settle()
    shard.set_topics({"orders": 5})
    shard.driver.fail_next(CoordinatorNotAvailable())
    client.try_beat()
    assert shard.group.epoch == 2
    client.settle()
    assert shard.group.epoch == 3
    assert len(client.holds) == 5


def test_topics_that_changed_meanwhile_are_seen_after_a_reload() -> None:
    shard = ConsumerShard()
    client = Client(shard, "a")
    client.settle()
    other = shard.reloaded()
    other.environment.image = ConsumerShard({"orders": 7}).environment.image
    client.shard = other
    client.settle()
    assert len(client.holds) == 7


def test_members_of_different_topics_get_only_their_own() -> None:
    shard = ConsumerShard({"orders": 3, "payments": 3})
    one = Client(shard, "a", ["orders"])
    other = Client(shard, "b", ["payments"])
    both = Client(shard, "c", ["orders", "payments"])
    settle([one, other, both])
    assert {topic for topic, _ in one.holds} == {"orders"}
    assert {topic for topic, _ in other.holds} == {"payments"}
    assert len(one.holds | other.holds | both.holds) == 6


def test_a_record_of_an_older_kafka_is_deleted() -> None:
    shard = ConsumerShard()
    client = Client(shard, "a")
    client.settle()
    shard.consumer_groups.replay(ConsumerGroupPartitionMetadata("g", b"old"))
    shard.set_topics({"orders": 5})
    client.beat()
    assert ConsumerGroupPartitionMetadata("g", None) in shard.driver.records
    assert not shard.group.has_partition_metadata_record
