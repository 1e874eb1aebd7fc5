"""Topics and configurations are written by the controller only: a deposed one writes nothing."""

import random

import pytest
from tests.unit.controller.members import Member, Members

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import NotController
from barnabas.base.ids import ZERO_UUID
from barnabas.controller.configs import ConfigAdmin
from barnabas.controller.requests import ConfigReplacement, NewPartitions, NewTopic, ResourceType, TopicRef
from barnabas.controller.topics import TopicAdmin
from barnabas.controller.writer import ControllerWriter
from barnabas.metadata import nodes, paths
from barnabas.metadata.nodes import TopicNode
from barnabas.metadata.sqlite_store import SqliteStore


def topics_of(member: Member, settings: BrokerConfig) -> TopicAdmin:
    return TopicAdmin(ControllerWriter(member.controller), settings, random.Random(1))


def depose(member: Member) -> None:
    """Another broker takes the role, and this one does not notice."""
    member.cluster.close()
    member.cluster.store.delete(paths.CONTROLLER)


def test_deposed_controller_writes_no_topics_and_no_configurations(
    members: Members, settings: BrokerConfig
) -> None:
    first, second = members.all[0], members.all[1]
    members.create(0, 1, 2)
    topics, configs = topics_of(first, settings), ConfigAdmin(ControllerWriter(first.controller), settings)
    change = ConfigReplacement(ResourceType.TOPIC, "t", (("retention.ms", "1"),))
    depose(first)
    second.react()
    assert second.controller.is_active
    term = first.membership.term
    for write in (
        lambda: topics.create_topics([NewTopic("u", 1, 1)]),
        lambda: topics.create_partitions([NewPartitions("t", 3)]),
        lambda: topics.delete_topics([TopicRef("t")]),
        lambda: configs.alter([change]),
    ):
        first.membership.term = term  # Every one of them meets the check.
        with pytest.raises(NotController):
            write()
    second.cluster.refresh(["/"])
    assert list(second.cluster.image.topics) == ["t"]
    assert len(second.cluster.image.topics["t"].partitions) == 1
    assert second.cluster.image.topic_configs == {}


def test_controller_without_a_session_is_none(members: Members, settings: BrokerConfig) -> None:
    first = members.all[0]
    first.react()
    first.cluster.close()  # It does not notice yet.
    store = first.cluster.store
    assert isinstance(store, SqliteStore)
    with SqliteStore(store.path) as other:
        other.expire(store.session_id)
    with pytest.raises(NotController, match="lost its session"):
        topics_of(first, settings).create_topics([NewTopic("u", 1, 1)])


def test_controller_gives_topics_without_an_id_one(members: Members, settings: BrokerConfig) -> None:
    """A tool of the ZooKeeper era has written the node."""
    first = members.all[0]
    first.react()
    first.controller.duties.append(topics_of(first, settings).assign_missing_ids)
    first.cluster.store.create(paths.topic("old"), nodes.encode_topic(TopicNode(ZERO_UUID, {0: (1, 2)})))
    first.react()
    topic = first.cluster.image.topics["old"]
    assert topic.topic_id != ZERO_UUID
    assert topic.partitions[0].leader == 1
