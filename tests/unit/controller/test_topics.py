import json
from uuid import UUID

import pytest
from tests.unit.controller.members import Connect

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import ErrorCode
from barnabas.base.ids import ZERO_UUID, encode_uuid
from barnabas.controller.requests import (
    AdoptedTopic,
    CreatedTopic,
    DeletedTopic,
    NewPartitions,
    NewTopic,
    PartitionsResult,
    TopicRef,
)
from barnabas.controller.topics import TopicAdmin
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.store import Create, StoreError


def create(admin: TopicAdmin, topic: NewTopic) -> CreatedTopic:
    (result,) = admin.create_topics([topic])
    return result


# Creation


def test_created_topic_is_written_as_kafka_does_it(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    result = create(admin, NewTopic("t", 2, 1, configs={"retention.ms": "7"}))
    assert (result.error, result.message) == (ErrorCode.none, None)
    assert (result.num_partitions, result.replication_factor) == (2, 1)
    assert result.configs == {"retention.ms": "7"}
    tree = cluster.store.subtree("/brokers/topics")
    assert json.loads(tree["/brokers/topics/t"][0]) == {
        "removing_replicas": {},
        "partitions": {"0": [0], "1": [0]},
        "topic_id": encode_uuid(result.topic_id),
        "adding_replicas": {},
        "version": 3,
    }
    state = {"controller_epoch": 1, "leader": 0, "version": 1, "leader_epoch": 0, "isr": [0]}
    assert json.loads(tree["/brokers/topics/t/partitions/1/state"][0]) == state
    config = cluster.store.get("/config/topics/t")[0]
    assert json.loads(config) == {"version": 1, "config": {"retention.ms": "7"}}
    image = cluster.image.topics["t"]
    assert image.topic_id == result.topic_id != ZERO_UUID
    assert cluster.image.topic_configs["t"] == {"retention.ms": "7"}


def test_defaults_come_from_the_broker(admin: TopicAdmin) -> None:
    result = create(admin, NewTopic("t"))
    assert (result.num_partitions, result.replication_factor) == (3, 1)


def test_manual_assignment(admin: TopicAdmin, three_brokers: ClusterMetadata) -> None:
    result = create(admin, NewTopic("t", assignments=((1, (2, 0)), (0, (1, 2)))))
    assert (result.error, result.num_partitions, result.replication_factor) == (ErrorCode.none, 2, 2)
    first, second = three_brokers.image.topics["t"].partitions.values()
    assert (first.replicas, first.leader, first.isr) == ((1, 2), 1, (1, 2))
    assert (second.replicas, second.leader) == ((2, 0), 2)


@pytest.mark.parametrize(
    ("topic", "error", "message"),
    [
        (NewTopic("a b"), "invalid_topic_exception", "Topic name is invalid: 'a b' contains one or more"),
        (NewTopic(""), "invalid_topic_exception", "the empty string is not allowed"),
        (NewTopic("../x"), "invalid_topic_exception", "contains one or more"),
        (NewTopic("existing"), "topic_already_exists", "Topic 'existing' already exists."),
        (NewTopic("with_mark"), "invalid_topic_exception", "collides with existing topic: with.mark"),
        (NewTopic("t", 0), "invalid_partitions", "non-positive"),
        (NewTopic("t", -2), "invalid_partitions", "non-positive"),
        (NewTopic("t", 1, 0), "invalid_replication_factor", "larger than 0, or -1"),
        (NewTopic("t", 1, 4), "invalid_replication_factor", "Unable to replicate the partition 4 time(s)"),
        (NewTopic("t", 10_001), "policy_violation", "Excessively large number"),
        (NewTopic("t", 1, -1, ((0, (0,)),)), "invalid_request", "numPartitions was not set to -1"),
        (NewTopic("t", -1, 1, ((0, (0,)),)), "invalid_request", "replication factor was not set to -1"),
        (NewTopic("t", assignments=((0, ()),)), "invalid_replica_assignment", "an empty replica list"),
        (NewTopic("t", assignments=((0, (7,)),)), "invalid_replica_assignment", "includes broker 7, but no"),
        (NewTopic("t", assignments=((0, (0, 0)),)), "invalid_replica_assignment", "broker 0 more than once"),
        (
            NewTopic("t", assignments=((0, (0, 1)), (1, (0,)))),
            "invalid_replica_assignment",
            "a partition with 1 replica(s), but this is not consistent",
        ),
        (
            NewTopic("t", assignments=((0, (0,)), (0, (1,)))),
            "invalid_replica_assignment",
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            NewTopic("t", assignments=((0, (0,)), (2, (1,)))),
            "invalid_replica_assignment",
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (NewTopic("t", configs={"retention.ms": "soon"}), "invalid_config", "retention.ms"),
        (NewTopic("t", configs={"nonsense": "1"}), "invalid_config", "Unknown topic config name: nonsense"),
        (NewTopic("t", configs={"retention.ms": None}), "invalid_config", "Null value not supported"),
        (NewTopic("__cluster_metadata"), "invalid_request", "Creation of internal topic"),
    ],
)
def test_refused_topics(
    admin: TopicAdmin, three_brokers: ClusterMetadata, topic: NewTopic, error: str, message: str
) -> None:
    admin.create_topics([NewTopic("existing"), NewTopic("with.mark")])
    before = three_brokers.image
    result = create(admin, topic)
    assert result.name == topic.name
    assert result.error.name == error
    assert message in (result.message or "")
    assert three_brokers.image == before


def test_one_bad_topic_does_not_spoil_the_others(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    results = admin.create_topics([NewTopic("good"), NewTopic("bad!"), NewTopic("also-good")])
    assert [(result.name, result.error) for result in results] == [
        ("good", ErrorCode.none),
        ("bad!", ErrorCode.invalid_topic_exception),
        ("also-good", ErrorCode.none),
    ]
    assert set(cluster.image.topics) == {"good", "also-good"}


def test_duplicates_in_one_request_are_refused_once(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    results = admin.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("a")])
    assert [(result.name, result.error) for result in results] == [
        ("b", ErrorCode.none),
        ("a", ErrorCode.invalid_request),
    ]
    assert results[1].message == "Duplicate topic name."
    assert set(cluster.image.topics) == {"b"}


def test_validate_only_writes_nothing(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    good, bad = admin.create_topics([NewTopic("t", 5), NewTopic("u", 0)], validate_only=True)
    assert (good.error, good.num_partitions) == (ErrorCode.none, 5)
    assert bad.error is ErrorCode.invalid_partitions
    assert cluster.image.topics == {}
    assert cluster.store.children("/config/topics") == []


def test_topic_created_by_another_broker_a_moment_ago_exists(
    connect: Connect, admin: TopicAdmin, settings: BrokerConfig
) -> None:
    other = connect()
    other_admin = TopicAdmin(other, settings)
    other.close()  # It no longer receives changes.
    create(admin, NewTopic("t"))
    (one, two) = other_admin.create_topics([NewTopic("t"), NewTopic("u")])
    assert (one.error, two.error) == (ErrorCode.topic_already_exists, ErrorCode.none)


def test_lost_race_for_a_topic_is_an_error_in_the_result(
    cluster: ClusterMetadata, admin: TopicAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = cluster.transaction
    raced: list[bool] = []

    def lose_the_race(operations: list[Create]) -> object:
        if not raced:
            raced.append(True)
            cluster.store.create("/brokers/topics/a", b'{"version":1,"partitions":{"0":[0]}}')
        return write(operations)

    monkeypatch.setattr(cluster, "transaction", lose_the_race)
    first, second = admin.create_topics([NewTopic("a"), NewTopic("b")])
    assert (first.error, second.error) == (ErrorCode.topic_already_exists, ErrorCode.none)
    assert set(cluster.image.topics) == {"a", "b"}


def test_failing_store_is_an_error_in_the_result(
    cluster: ClusterMetadata, admin: TopicAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(admin, NewTopic("old"))

    def fail(_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(cluster.store, "transaction", fail)
    assert create(admin, NewTopic("t")) == CreatedTopic(
        "t", ErrorCode.kafka_storage_error, "the disk is full"
    )
    (deleted,) = admin.delete_topics([TopicRef("old")])
    (grown,) = admin.create_partitions([NewPartitions("old", 9)])
    assert deleted.error is grown.error is ErrorCode.kafka_storage_error


def test_left_over_config_is_replaced(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    cluster.store.create("/config/topics/t", b'{"version":1,"config":{"retention.ms":"1"}}')
    create(admin, NewTopic("t"))
    assert cluster.image.topic_configs == {}


# Partitions


def test_partitions_are_added(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    created = create(admin, NewTopic("t", 1, configs={"retention.ms": "7"}))
    (result,) = admin.create_partitions([NewPartitions("t", 4)])
    assert result == PartitionsResult("t")
    topic = cluster.image.topics["t"]
    assert list(topic.partitions) == [0, 1, 2, 3]
    assert topic.topic_id == created.topic_id
    assert all(p.leader == 0 and p.leader_epoch == 0 for p in topic.partitions.values())
    assert cluster.image.topic_configs["t"] == {"retention.ms": "7"}


def test_partitions_are_added_on_the_given_brokers(admin: TopicAdmin, three_brokers: ClusterMetadata) -> None:
    create(admin, NewTopic("t", assignments=((0, (0, 1)),)))
    (result,) = admin.create_partitions([NewPartitions("t", 3, ((2, 1), (1, 0)))])
    assert result.error is ErrorCode.none
    replicas = [p.replicas for p in three_brokers.image.topics["t"].partitions.values()]
    assert replicas == [(0, 1), (2, 1), (1, 0)]


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        (NewPartitions("t", 2), "invalid_partitions", "Topic already has 2 partition(s)."),
        (
            NewPartitions("t", 1),
            "invalid_partitions",
            "The topic t currently has 2 partition(s); 1 would not be an increase.",
        ),
        (NewPartitions("unknown", 3), "unknown_topic_or_partition", ""),
        (NewPartitions("no/such", 3), "unknown_topic_or_partition", ""),
        (
            NewPartitions("t", 3, ()),
            "invalid_replica_assignment",
            "Attempted to add 1 additional partition(s)",
        ),
        (NewPartitions("t", 3, ((0, 1),)), "invalid_replica_assignment", "not consistent"),
        (NewPartitions("t", 3, ((9,),)), "invalid_replica_assignment", "no such broker"),
        (NewPartitions("t", 20_000), "policy_violation", "Excessively"),
    ],
)
def test_refused_partitions(
    admin: TopicAdmin, three_brokers: ClusterMetadata, request_: NewPartitions, error: str, message: str
) -> None:
    create(admin, NewTopic("t", 2, 1))
    before = three_brokers.image
    (result,) = admin.create_partitions([request_])
    assert result.error.name == error
    assert message in (result.message or "")
    assert three_brokers.image == before


def test_partitions_validate_only_and_duplicates(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    create(admin, NewTopic("t", 2))
    assert admin.create_partitions([NewPartitions("t", 3)], validate_only=True) == [PartitionsResult("t")]
    results = admin.create_partitions([NewPartitions("t", 3), NewPartitions("t", 4)])
    assert results == [PartitionsResult("t", ErrorCode.invalid_request, "Duplicate topic name.")]
    assert len(cluster.image.topics["t"].partitions) == 2


def test_partitions_added_by_another_broker_meanwhile_are_counted(
    connect: Connect, admin: TopicAdmin, settings: BrokerConfig, cluster: ClusterMetadata
) -> None:
    create(admin, NewTopic("t", 1))
    other = connect()
    other.close()
    admin.create_partitions([NewPartitions("t", 3)])
    (refused,) = TopicAdmin(other, settings).create_partitions([NewPartitions("t", 2)])
    assert refused.error is ErrorCode.invalid_partitions
    assert len(cluster.image.topics["t"].partitions) == 3


# Deletion


def test_topics_are_deleted_by_name_and_by_id(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    first, second, _ = admin.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("c")])
    results = admin.delete_topics([TopicRef("a"), TopicRef(topic_id=second.topic_id)])
    assert {(result.name, result.topic_id, result.error) for result in results} == {
        ("a", first.topic_id, ErrorCode.none),
        ("b", second.topic_id, ErrorCode.none),
    }
    assert set(cluster.image.topics) == {"c"}
    assert cluster.store.children("/brokers/topics") == ["c"]
    assert cluster.store.children("/config/topics") == ["c"]


def test_bad_references_for_deletion(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    created = create(admin, NewTopic("t"))
    unknown = UUID(int=77)
    results = admin.delete_topics(
        [
            TopicRef(),
            TopicRef("t", created.topic_id),
            TopicRef("twice"),
            TopicRef("twice"),
            TopicRef(topic_id=unknown),
            TopicRef("missing"),
        ]
    )
    assert results == [
        DeletedTopic(None, ZERO_UUID, ErrorCode.invalid_request, "Neither topic name nor id were specified."),
        DeletedTopic(
            "t",
            created.topic_id,
            ErrorCode.invalid_request,
            "You may not specify both topic name and topic id.",
        ),
        DeletedTopic("twice", ZERO_UUID, ErrorCode.invalid_request, "Duplicate topic name."),
        DeletedTopic(None, unknown, ErrorCode.unknown_topic_id, "This server does not host this topic ID."),
        DeletedTopic(
            "missing",
            ZERO_UUID,
            ErrorCode.unknown_topic_or_partition,
            "This server does not host this topic-partition.",
        ),
    ]
    assert "t" in cluster.image.topics


def test_topic_given_by_name_and_by_id_is_kept(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    created = create(admin, NewTopic("t"))
    (result,) = admin.delete_topics([TopicRef("t"), TopicRef(topic_id=created.topic_id)])
    assert result.error is ErrorCode.invalid_request
    assert "t" in cluster.image.topics


def test_deletion_can_be_disabled(cluster: ClusterMetadata) -> None:
    settings = BrokerConfig.from_properties({"delete.topic.enable": "false", "log.dirs": "/nowhere"})
    admin = TopicAdmin(cluster, settings)
    admin.create_topics([NewTopic("t")])
    (result,) = admin.delete_topics([TopicRef("t")])
    assert result.error is ErrorCode.topic_deletion_disabled
    assert "t" in cluster.image.topics


def test_topic_deleted_by_another_broker_meanwhile_is_unknown(
    connect: Connect, admin: TopicAdmin, settings: BrokerConfig
) -> None:
    admin.create_topics([NewTopic("a"), NewTopic("b")])
    other = connect()
    other.close()
    admin.delete_topics([TopicRef("a")])
    results = TopicAdmin(other, settings).delete_topics([TopicRef("a"), TopicRef("b")])
    assert {result.name: result.error for result in results} == {
        "a": ErrorCode.unknown_topic_or_partition,
        "b": ErrorCode.none,
    }


# Adoption


def test_adopted_topic_keeps_its_id_and_starts_above_its_epochs(
    admin: TopicAdmin, cluster: ClusterMetadata
) -> None:
    topic = AdoptedTopic("old", UUID(int=55), 2, {"cleanup.policy": "compact"}, leader_epochs={1: 4})
    (result,) = admin.adopt([topic], broker_id=0)
    assert (result.error, result.topic_id) == (ErrorCode.none, UUID(int=55))
    partitions = cluster.image.topic_by_id[UUID(int=55)].partitions
    assert [(p.leader, p.leader_epoch, p.isr) for p in partitions.values()] == [(0, 0, (0,)), (0, 5, (0,))]
    assert cluster.image.topic_configs["old"] == {"cleanup.policy": "compact"}
    (again,) = admin.adopt([topic], broker_id=0)
    assert again.error is ErrorCode.none


def test_adoption_that_contradicts_the_store_is_refused(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    admin.adopt([AdoptedTopic("t", UUID(int=55), 1)], broker_id=0)
    results = admin.adopt(
        [
            AdoptedTopic("t", UUID(int=56), 1),
            AdoptedTopic("t", UUID(int=55), 2),
            AdoptedTopic("u", UUID(int=55), 1),
            AdoptedTopic("bad name", UUID(int=57), 1),
            AdoptedTopic("none", UUID(int=58), 0),
        ],
        broker_id=0,
    )
    assert [result.error.name for result in results] == [
        "inconsistent_topic_id",
        "invalid_partitions",
        "inconsistent_topic_id",
        "invalid_topic_exception",
        "invalid_partitions",
    ]
    assert set(cluster.image.topics) == {"t"}


def test_topics_from_before_ids_get_one(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    cluster.transaction([Create("/brokers/topics/old", b'{"version":1,"partitions":{"0":[0],"1":[0]}}')])
    assert admin.assign_missing_ids() == ["old"]
    topic = cluster.image.topics["old"]
    assert topic.topic_id != ZERO_UUID
    assert cluster.image.topic_by_id[topic.topic_id] == topic
    assert [p.replicas for p in topic.partitions.values()] == [(0,), (0,)]
    assert admin.assign_missing_ids() == []
