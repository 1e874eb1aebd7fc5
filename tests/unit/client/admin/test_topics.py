import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.fakes.scripted_broker import Answer
from tests.fakes.scripted_cluster import scripted_cluster

from barnabas.client.admin.reassignments import Reassignment
from barnabas.client.admin.topics import (
    Growth,
    PartitionDescription,
    add_partitions,
    create_topic,
    delete_topics,
    delete_topics_by_id,
    describe_topics,
    describe_topics_by_id,
    layouts,
    list_topics,
)
from barnabas.client.errors import BrokerError, Unsupported

ID = uuid.UUID(int=77)
NOT_CONTROLLER, UNKNOWN_TOPIC, UNKNOWN_ID, CLUSTER_AUTHORIZATION_FAILED = 41, 3, 100, 31
Fields = Mapping[str, object]


def _partition(index: int, *, leader: int = 1, isr: tuple[int, ...] = (1,), **more: object) -> Fields:
    return {
        "partition_index": index,
        "leader_id": leader,
        "replica_nodes": [1],
        "isr_nodes": list(isr),
        **more,
    }


def _topic(name: str | None, *partitions: Fields, **more: object) -> Fields:
    return {"name": name, "topic_id": ID, "partitions": list(partitions), **more}


def _metadata(*topics: Fields) -> Callable[[Any], Fields]:
    """Of a cluster of one broker; its port does not matter, as requests go to any broker."""
    node = {"node_id": 1, "host": "127.0.0.1", "port": 1, "rack": None}
    return lambda request: {"brokers": [node], "controller_id": -1, "topics": list(topics)}


CONFIGS: Callable[[Any], Fields] = lambda request: {  # noqa: E731
    "results": [
        {
            "resource_type": 2,
            "resource_name": each.resource_name,
            "configs": [
                {"name": "min.insync.replicas", "value": "2", "config_source": 4},
                {"name": "retention.ms", "value": "1", "config_source": 5},
            ],
        }
        for each in request.resources
    ]
}


def test_topics_are_listed_by_name() -> None:
    answer = _metadata(_topic("b", _partition(0)), _topic("a", is_internal=True))
    with scripted_cluster({"metadata": answer}) as (cluster, _):
        assert [
            (each.name, each.partitions, each.replicas, each.is_internal) for each in list_topics(cluster)
        ] == [
            ("a", 0, 0, True),
            ("b", 1, 1, False),
        ]


def test_pages_of_a_description_are_put_together() -> None:
    def page(request: Any) -> Fields:
        assert request.response_partition_limit == 2
        start = (request.topics[0].name, 0 if request.cursor is None else request.cursor.partition_index)
        if start == ("a", 0):
            cursor = {"topic_name": "b", "partition_index": 1}
            return {"topics": [_topic("a", _partition(0)), _topic("b", _partition(0))], "next_cursor": cursor}
        assert [each.name for each in request.topics] == ["b"]
        assert start == ("b", 1)
        return {"topics": [_topic("b", _partition(2), _partition(1))]}

    answers: dict[str, Answer] = {"metadata": _metadata(), "describe_topic_partitions": page}
    with scripted_cluster(answers) as (cluster, _):
        found = layouts(cluster, ["b", "a"], partitions_per_answer=2)
    assert [(each.name, [one.index for one in each.partitions]) for each in found] == [
        ("a", [0]),
        ("b", [0, 1, 2]),
    ]


def test_old_broker_describes_through_metadata_without_eligible_leaders() -> None:
    with scripted_cluster({"metadata": _metadata(_topic("a", _partition(0)))}) as (cluster, _):
        (topic,) = layouts(cluster, ["a"])
    assert topic.partitions[0].eligible_leaders is None
    assert topic.partitions[0].last_known_eligible is None


def test_description_has_settings_and_what_is_moving() -> None:
    move = {"partition_index": 0, "replicas": [1, 2], "adding_replicas": [2], "removing_replicas": [1]}
    answers: dict[str, Answer] = {
        "describe_topic_partitions": {"topics": [_topic("a", _partition(0, eligible_leader_replicas=[]))]},
        "describe_configs": CONFIGS,
        "list_partition_reassignments": {"topics": [{"name": "a", "partitions": [move]}]},
    }
    with scripted_cluster(answers) as (cluster, _):
        (topic,) = describe_topics(cluster, ["a"])
    assert topic.min_isr == 2
    assert [each.name for each in topic.overrides] == ["min.insync.replicas"]
    assert topic.partitions[0].reassignment == Reassignment((1, 2), (2,), (1,))
    assert topic.partitions[0].eligible_leaders == ()


@pytest.mark.parametrize(
    "reassignments", [{}, {"list_partition_reassignments": {"error_code": CLUSTER_AUTHORIZATION_FAILED}}]
)
def test_reassignments_that_cannot_be_seen_are_no_error(reassignments: dict[str, Answer]) -> None:
    answers: dict[str, Answer] = {
        "describe_topic_partitions": {"topics": [_topic("a", _partition(0))]},
        "describe_configs": CONFIGS,
        **reassignments,
    }
    with scripted_cluster(answers) as (cluster, _):
        (topic,) = describe_topics(cluster, ["a"])
    assert topic.partitions[0].reassignment is None


def test_missing_topic_is_reported_at_once_and_by_name() -> None:
    page: Answer = {"topics": [_topic("nope", error_code=UNKNOWN_TOPIC)]}
    answers: dict[str, Answer] = {"metadata": _metadata(), "describe_topic_partitions": page}
    with scripted_cluster(answers) as (cluster, broker):
        with pytest.raises(BrokerError, match=r"^Topic 'nope' does not exist$"):
            layouts(cluster, ["nope"])
        assert len(broker.requests) == 2


def test_leader_that_is_no_live_broker_is_none() -> None:
    answer = _metadata(_topic("a", _partition(0, leader=9), _partition(1, leader=-1), _partition(2)))
    with scripted_cluster({"metadata": answer}) as (cluster, _):
        (topic,) = layouts(cluster, ["a"])
    assert [each.leader for each in topic.partitions] == [None, None, 1]


def test_topic_is_found_by_its_id() -> None:
    answers: dict[str, Answer] = {
        "metadata": _metadata(_topic("a", _partition(0))),
        "describe_configs": CONFIGS,
    }
    with scripted_cluster(answers) as (cluster, broker):
        assert [each.name for each in describe_topics_by_id(cluster, [ID])] == ["a"]
        assert broker.requests[0].topics[0].topic_id == ID
        assert broker.requests[0].topics[0].name is None


def test_broker_without_ids_says_so() -> None:
    with (
        scripted_cluster({}, {"metadata": 9}) as (cluster, _),
        pytest.raises(Unsupported, match="by topic id"),
    ):
        describe_topics_by_id(cluster, [ID])


# --- replicas ----------------------------------------------------------------------------------------


def _described(
    replicas: tuple[int, ...], isr: tuple[int, ...], moving: Reassignment | None
) -> PartitionDescription:
    return PartitionDescription(0, 1, 0, replicas, isr, (), (), (), moving)


@pytest.mark.parametrize(
    ("replicas", "isr", "moving", "factor", "is_under_replicated"),
    [
        ((1, 2), (1, 2), None, 2, False),
        ((1, 2), (1,), None, 2, True),
        ((1, 2, 3), (1, 2), Reassignment((1, 2, 3), (3,), (1,)), 2, False),
        ((1, 2, 3), (1,), Reassignment((1, 2, 3), (3,), (1,)), 2, True),
        ((2, 4), (2,), Reassignment((1, 2, 3), (3,), (1,)), 2, True),  # it has just ended
    ],
)
def test_replicas_that_move_do_not_count_as_missing(
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    moving: Reassignment | None,
    factor: int,
    is_under_replicated: bool,
) -> None:
    partition = _described(replicas, isr, moving)
    assert partition.replication_factor == factor
    assert partition.is_under_replicated is is_under_replicated


def test_partition_without_leader_is_under_its_minimum() -> None:
    partition = PartitionDescription(0, None, 0, (1,), (1,), (), (), ())
    assert partition.is_under_min_isr(1)
    assert not _described((1,), (1,), None).is_under_min_isr(1)
    assert _described((1,), (1,), None).is_under_min_isr(2)


# --- changing ----------------------------------------------------------------------------------------


def test_topic_is_created_with_what_was_said() -> None:
    with scripted_cluster({"create_topics": {"topics": [{"name": "t"}]}}) as (cluster, broker):
        create_topic(cluster, "t", partitions=3, replicas=2, configs={"retention.ms": "1"})
        (topic,) = broker.requests[-1].topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", 3, 2)
    assert [(each.name, each.value) for each in topic.configs] == [("retention.ms", "1")]


def test_assignment_replaces_the_numbers() -> None:
    with scripted_cluster({"create_topics": {"topics": [{"name": "t"}]}}) as (cluster, broker):
        create_topic(cluster, "t", assignment=[[1, 2], [2, 1]])
        (topic,) = broker.requests[-1].topics
    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert [(each.partition_index, each.broker_ids) for each in topic.assignments] == [
        (0, (1, 2)),
        (1, (2, 1)),
    ]


def test_moved_controller_is_requested_again() -> None:
    codes = iter([NOT_CONTROLLER, 0])

    def answer(request: Any) -> Fields:
        return {"topics": [{"name": "t", "error_code": next(codes)}]}

    with scripted_cluster({"create_topics": answer}) as (cluster, _):
        create_topic(cluster, "t")
    assert list(codes) == []


def test_broker_that_cannot_choose_numbers_says_so() -> None:
    with (
        scripted_cluster({"create_topics": {}}, {"create_topics": 3}) as (cluster, _),
        pytest.raises(Unsupported, match="name both numbers"),
    ):
        create_topic(cluster, "t", partitions=1)


@pytest.mark.parametrize("version", [1, 5, 6])
def test_topics_are_deleted_in_every_version(version: int) -> None:
    refused = {"responses": [{"name": "a"}, {"name": "b", "error_code": UNKNOWN_TOPIC}]}
    with scripted_cluster({"delete_topics": refused}, {"delete_topics": version}) as (cluster, broker):
        assert {name: error.name for name, error in delete_topics(cluster, ["a", "b"]).items()} == {
            "b": "unknown_topic_or_partition"
        }
        request = broker.requests[-1]
    requested = request.topic_names if version < 6 else tuple(each.name for each in request.topics)
    assert requested == ("a", "b")


def test_topics_are_deleted_by_id() -> None:
    refused = {"responses": [{"name": None, "topic_id": ID, "error_code": UNKNOWN_ID}]}
    with scripted_cluster({"delete_topics": refused}) as (cluster, _):
        assert [error.name for error in delete_topics_by_id(cluster, [ID]).values()] == ["unknown_topic_id"]


def test_old_broker_cannot_delete_by_id() -> None:
    with (
        scripted_cluster({"delete_topics": {}}, {"delete_topics": 5}) as (cluster, _),
        pytest.raises(Unsupported, match="by topic id"),
    ):
        delete_topics_by_id(cluster, [ID])


def test_nothing_to_delete_sends_no_request() -> None:
    with scripted_cluster({}) as (cluster, broker):
        assert delete_topics(cluster, []) == {}
        assert delete_topics_by_id(cluster, []) == {}
        assert broker.connections == 0


@pytest.mark.parametrize(
    ("growth", "assignments"), [(Growth(3), None), (Growth(3, [[1], [2]]), [(1,), (2,)]), (Growth(3, []), [])]
)
def test_partitions_are_added(growth: Growth, assignments: list[tuple[int, ...]] | None) -> None:
    with scripted_cluster({"create_partitions": {"results": [{"name": "t"}]}}) as (cluster, broker):
        add_partitions(cluster, {"t": growth})
        (topic,) = broker.requests[-1].topics
    assert topic.count == 3
    found = None if topic.assignments is None else [each.broker_ids for each in topic.assignments]
    assert found == assignments
