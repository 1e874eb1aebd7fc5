from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node


@pytest.fixture
def node(node: Node) -> Node:
    """Epoch 0 wrote offsets 0 and 1, epoch 3 wrote 2."""
    node.create_topic("t")
    node.append("t", 1, 2)
    node.elect("t", epoch=3)
    node.append("t", 3)
    return node


def ask(node: Node, epoch: int, version: int = 4, *, current: int = -1, topic: str = "t") -> Any:
    wanted = {"partition": 0, "leader_epoch": epoch, "current_leader_epoch": current}
    topics = [{"topic": topic, "partitions": [wanted]}]
    return node.ask("OffsetForLeaderEpoch", version, topics=topics).topics[0].partitions[0]


@pytest.mark.parametrize(
    ("epoch", "expected"), [(0, (0, 2)), (1, (0, 2)), (2, (0, 2)), (3, (3, 3)), (4, (-1, -1)), (-1, (-1, -1))]
)
@pytest.mark.parametrize("version", [2, 3, 4])
def test_largest_epoch_up_to_the_requested_one_and_its_end(
    node: Node, version: int, epoch: int, expected: tuple[int, int]
) -> None:
    answer = ask(node, epoch, version)

    assert answer.error_code is ErrorCode.none
    assert (answer.leader_epoch, answer.end_offset) == expected


@pytest.mark.parametrize(
    ("current", "error"),
    [(2, ErrorCode.fenced_leader_epoch), (3, ErrorCode.none), (4, ErrorCode.unknown_leader_epoch)],
)
def test_current_leader_epoch_is_checked(node: Node, current: int, error: ErrorCode) -> None:
    assert ask(node, 0, current=current).error_code is error


def test_errors_of_partitions_that_are_not_led_here(node: Node) -> None:
    assert ask(node, 0, topic="none").error_code is ErrorCode.unknown_topic_or_partition
    node.elect("t", leader=5)
    answer = ask(node, 0)
    assert answer.error_code is ErrorCode.not_leader_or_follower
    assert (answer.leader_epoch, answer.end_offset) == (-1, -1)


def test_partition_on_other_brokers_only_is_not_led_here(node: Node) -> None:
    topic = node.partitions.topic("t")
    assert topic is not None
    topic.partitions.clear()

    assert ask(node, 0).error_code is ErrorCode.not_leader_or_follower
