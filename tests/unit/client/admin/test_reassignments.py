from collections.abc import Mapping

import pytest
from tests.fakes.fake_cluster import Answer, FakeCluster, topics_of

from barnabas.client.admin.reassignments import (
    Reassignment,
    ReassignmentState,
    alter_reassignments,
    list_reassignments,
    reassignment_states,
    replicas_of,
    replicas_of_partitions,
)
from barnabas.client.errors import BrokerError, Unsupported

BROKERS = {1: None, 2: None, 3: None}
TOPICS = topics_of({("a", 0): (1, 2), ("a", 1): (2, 3), ("b", 0): (3,)})


def _ongoing(*topics: Mapping[str, object]) -> Answer:
    return lambda to, fields: {"topics": list(topics)}


A0_MOVES = {
    "name": "a",
    "partitions": [
        {"partition_index": 0, "replicas": [1, 2, 3], "adding_replicas": [3], "removing_replicas": [1]}
    ],
}


def test_ongoing_reassignments_come_from_the_controller() -> None:
    cluster = FakeCluster(BROKERS, {"list_partition_reassignments": _ongoing(A0_MOVES)})
    assert list_reassignments(cluster) == {("a", 0): Reassignment((1, 2, 3), (3,), (1,))}
    (requested,) = cluster.requests
    assert requested.to == 1
    assert requested.fields["topics"] is None


def test_only_named_partitions_are_requested() -> None:
    cluster = FakeCluster(BROKERS, {"list_partition_reassignments": _ongoing()})
    assert list_reassignments(cluster, [("a", 0), ("b", 0), ("a", 2)]) == {}
    assert cluster.requests[0].fields["topics"] == [
        {"name": "a", "partition_indexes": [0, 2]},
        {"name": "b", "partition_indexes": [0]},
    ]


def test_error_of_the_whole_listing_is_raised() -> None:
    cluster = FakeCluster(BROKERS, {"list_partition_reassignments": lambda to, fields: {"error_code": 31}})
    with pytest.raises(BrokerError, match="Cluster authorization failed"):
        list_reassignments(cluster)


def test_broker_that_cannot_reassign_says_so() -> None:
    with pytest.raises(Unsupported, match="does not support LIST_PARTITION_REASSIGNMENTS"):
        list_reassignments(FakeCluster(BROKERS, {}))


def test_targets_and_cancellations_are_sent_and_refusals_come_back() -> None:
    def answer(to: int | None, fields: Mapping[str, object]) -> Mapping[str, object]:
        refused = {"partition_index": 1, "error_code": 39, "error_message": "no"}
        return {
            "responses": [{"name": "a", "partitions": [{"partition_index": 0, "error_code": 0}, refused]}]
        }

    cluster = FakeCluster(BROKERS, {"alter_partition_reassignments": answer})
    errors = alter_reassignments(
        cluster, {("a", 0): (2, 3), ("a", 1): None}, allow_replication_factor_change=False
    )
    assert {topic_partition: str(error) for topic_partition, error in errors.items()} == {("a", 1): "no"}
    fields = cluster.requests[0].fields
    assert fields["allow_replication_factor_change"] is False
    assert fields["topics"] == [
        {
            "name": "a",
            "partitions": [
                {"partition_index": 0, "replicas": [2, 3]},
                {"partition_index": 1, "replicas": None},
            ],
        }
    ]


def test_nothing_to_alter_sends_no_request() -> None:
    cluster = FakeCluster(BROKERS, {})
    assert alter_reassignments(cluster, {}) == {}
    assert cluster.requests == []


def test_replicas_of_all_partitions_of_topics() -> None:
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS})
    assert replicas_of(cluster, ["b", "a"]) == {("a", 0): (1, 2), ("a", 1): (2, 3), ("b", 0): (3,)}
    assert replicas_of(cluster, []) == {}


def test_missing_topic_and_missing_partition_are_named() -> None:
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS})
    with pytest.raises(BrokerError, match=r"Topic no not found\."):
        replicas_of_partitions(cluster, [("a", 0), ("no", 0)])
    with pytest.raises(BrokerError, match=r"Unable to find partition: a-7, b-1$"):
        replicas_of_partitions(cluster, [("a", 7), ("a", 0), ("b", 1)])


def test_states_distinguish_moving_reached_and_another_assignment() -> None:
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS, "list_partition_reassignments": _ongoing(A0_MOVES)})
    targets = {("a", 0): (2, 3), ("a", 1): (2, 3), ("b", 0): (1,), ("no", 0): (1,)}
    states, is_ongoing = reassignment_states(cluster, targets)
    assert is_ongoing
    assert states == {
        ("a", 0): ReassignmentState((1, 2, 3), (2, 3), is_done=False),
        ("a", 1): ReassignmentState((2, 3), (2, 3), is_done=True),
        ("b", 0): ReassignmentState((3,), (1,), is_done=True),
        ("no", 0): ReassignmentState((), (1,), is_done=True),
    }
    assert [state.is_reached for state in states.values()] == [False, True, False, False]


def test_foreign_reassignment_counts_as_ongoing() -> None:
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS, "list_partition_reassignments": _ongoing(A0_MOVES)})
    states, is_ongoing = reassignment_states(cluster, {("b", 0): (3,)})
    assert states["b", 0].is_reached
    assert is_ongoing
