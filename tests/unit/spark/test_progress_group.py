"""Against a broker in this process: the group is real, only Spark is missing."""

import logging

import pytest

from barnabas.client.address import Address
from barnabas.client.admin.group_offsets import committed_offsets
from barnabas.client.admin.groups import list_consumer_groups
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.spark.progress_group import ProgressGroup, announce
from barnabas.spark.wire.connections import drop
from barnabas.testing import Broker

QUERY = "5a0f3a52-0000-4000-8000-000000000000"


@pytest.fixture
def settings(kafka_broker: Broker) -> ClientSettings:
    return ClientSettings((Address("127.0.0.1", kafka_broker.port),))


def _committed(settings: ClientSettings, group: str) -> dict[tuple[str, int], int]:
    with Cluster(settings) as cluster:
        return {
            topic_partition: each.offset
            for topic_partition, each in committed_offsets(cluster, group).items()
        }


def test_a_named_group_needs_no_meeting(settings: ClientSettings, kafka_topic: str) -> None:
    group = ProgressGroup(settings, "prefix", "reports")
    assert group.meeting_group is None
    group.commit({(kafka_topic, 0): 5})
    assert _committed(settings, "reports") == {(kafka_topic, 0): 5}


def test_the_driver_learns_the_query_from_a_task(settings: ClientSettings, kafka_topic: str) -> None:
    group = ProgressGroup(settings, "prefix", None)
    group.commit({(kafka_topic, 0): 0})
    meeting = group.meeting_group
    assert meeting is not None
    group.commit({(kafka_topic, 0): 1})  # no task has announced the query's id yet
    announce(settings, meeting, (kafka_topic, 0), QUERY)
    group.commit({(kafka_topic, 0): 2})
    assert group.meeting_group is None
    assert _committed(settings, f"prefix-{QUERY}") == {(kafka_topic, 0): 2}
    with Cluster(settings) as cluster:
        assert meeting not in {each.id for each in list_consumer_groups(cluster)}


def test_a_group_that_cannot_be_reached_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    unreachable = ClientSettings((Address("127.0.0.1", 1),), patience=0.0)
    group = ProgressGroup(unreachable, "prefix", "reports")
    with caplog.at_level(logging.WARNING, "barnabas.spark"):
        group.commit({("t", 0): 1})
        group.commit({("t", 0): 2})  # and it is left alone for a while
        announce(unreachable, "meeting", ("t", 0), QUERY)
    assert len(caplog.records) == 2
    assert "Progress is not shown in group reports" in caplog.text
    assert "The driver does not receive the query's id" in caplog.text
    drop(unreachable)
