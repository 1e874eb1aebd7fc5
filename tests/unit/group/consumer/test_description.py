"""ConsumerGroupDescribe: the description of a group, in a form for every version."""

from tests.unit.group.consumer.consumer_shard import Client, ConsumerShard, settle

from barnabas.wire import Reply, encode_response


def _partitions(assignment: Reply) -> dict[str, tuple[int, ...]]:
    return {topic.topic_name: topic.partitions for topic in assignment.topic_partitions}


def test_a_group_in_the_middle_of_a_rebalance() -> None:
    shard = ConsumerShard()
    first, second = Client(shard, "a"), Client(shard, "b", ["orders"], instance_id="i", regex="or.*")
    first.settle()
    second.beat()
    first.beat()
    described = shard.consumer_groups.describe(shard.group)
    assert (described.group_id, described.group_state) == ("g", "Reconciling")
    assert (described.group_epoch, described.assignment_epoch) == (3, 3)
    one, other = described.members
    assert (one.member_id, one.member_epoch, one.member_type) == ("a", 2, 1)
    assert (one.client_id, one.client_host) == ("client", "/127.0.0.1")
    assert one.subscribed_topic_names == ("orders",)
    assert _partitions(one.assignment) == {"orders": (0, 1, 2, 3)}, "what it has to give up is still its own"
    assert len(_partitions(one.target_assignment)["orders"]) == 2
    assert (other.instance_id, other.subscribed_topic_regex) == ("i", "or.*")
    assert _partitions(other.assignment) == {}
    for version in (0, 1):
        assert encode_response(69, version, 1, Reply(groups=[described]))


def test_deleted_topics_are_not_shown() -> None:
    shard = ConsumerShard({"orders": 1, "payments": 1})
    settle([Client(shard, "a", ["orders", "payments"])])
    shard.set_topics({"payments": 1})
    [member] = shard.consumer_groups.describe(shard.group).members
    assert _partitions(member.assignment) == {"payments": (0,)}


def test_the_answers_to_heartbeats_can_be_encoded() -> None:
    shard = ConsumerShard()
    joined = shard.join("a")
    steady = shard.heartbeat("a", 2).result()
    left = shard.heartbeat("a", -1).result()
    for reply in (joined, steady, left):
        for version in (0, 1):
            assert encode_response(68, version, 1, reply)
