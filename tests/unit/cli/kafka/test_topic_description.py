from uuid import UUID

import pytest

from barnabas.cli.kafka.topic_description import topic_lines
from barnabas.client.admin.configs import ConfigEntry
from barnabas.client.admin.reassignments import Reassignment
from barnabas.client.admin.topics import PartitionDescription, TopicDescription


def _config(name: str, value: str | None, source: str = "DYNAMIC_TOPIC_CONFIG") -> ConfigEntry:
    return ConfigEntry(name, value, source, False, False, ())


def _partition(
    index: int, leader: int | None = 1, isr: tuple[int, ...] = (1, 2), moving: Reassignment | None = None
) -> PartitionDescription:
    return PartitionDescription(index, leader, 0, (1, 2), isr, None, None, (), moving)


HEALTHY = _partition(0)
LEADERLESS = _partition(1, leader=None)
SHRUNK = _partition(2, isr=(1,))
TOPIC = TopicDescription(
    "t",
    UUID(int=1),
    False,
    (HEALTHY, LEADERLESS, SHRUNK),
    (_config("min.insync.replicas", "2", "DEFAULT_CONFIG"), _config("retention.ms", "5")),
)


def test_topic_and_its_partitions_have_a_line_each() -> None:
    assert list(topic_lines(TOPIC)) == [
        (
            "Topic: t\tTopicId: AAAAAAAAAAAAAAAAAAAAAQ\tPartitionCount: 3\tReplicationFactor: 2\t"
            "Configs: retention.ms=5"
        ),
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: N/A\tLastKnownElr: N/A",
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: 1,2\tElr: N/A\tLastKnownElr: N/A",
        "\tTopic: t\tPartition: 2\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: N/A\tLastKnownElr: N/A",
    ]


@pytest.mark.parametrize(
    ("reports", "partitions"),
    [
        (["under-replicated-partitions"], [2]),
        (["unavailable-partitions"], [1]),
        (["under-min-isr-partitions"], [1, 2]),
        (["at-min-isr-partitions"], [0, 1]),
        (["unavailable-partitions", "under-replicated-partitions"], [1, 2]),
    ],
)
def test_reports_show_only_their_partitions(reports: list[str], partitions: list[int]) -> None:
    shown = list(topic_lines(TOPIC, reports))
    assert [line.split("\t")[2] for line in shown] == [f"Partition: {index}" for index in partitions]


def test_overrides_alone_show_no_partitions() -> None:
    assert [line.split("\t")[0] for line in topic_lines(TOPIC, overrides_only=True)] == ["Topic: t"]
    plain = TopicDescription("t", None, False, (HEALTHY,), (_config("x", "1", "DEFAULT_CONFIG"),))
    assert list(topic_lines(plain, overrides_only=True)) == []


def test_reassignment_and_eligible_leaders_are_shown() -> None:
    partition = PartitionDescription(
        0, 1, 0, (1, 2, 3), (1,), (2,), (), (), Reassignment((1, 2, 3), (3,), (1, 2))
    )
    topic = TopicDescription("t", None, False, (partition,), ())
    assert list(topic_lines(topic)) == [
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: ",
        (
            "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\tAdding Replicas: 3\t"
            "Removing Replicas: 1,2\tElr: 2\tLastKnownElr: "
        ),
    ]
