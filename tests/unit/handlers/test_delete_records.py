from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node


def ask(
    node: Node, offset: int, version: int = 2, *, topic: str = "t", partition: int = 0
) -> tuple[Any, int]:
    wanted = {"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}
    answer = node.ask("DeleteRecords", version, topics=[wanted]).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


@pytest.fixture
def node(node: Node) -> Node:
    node.create_topic("t")
    node.append("t", 1, 2, 3)
    return node


@pytest.mark.parametrize("version", range(3))
def test_log_starts_at_the_offset_from_now_on(node: Node, version: int) -> None:
    assert ask(node, 2, version) == (ErrorCode.none, 2)
    assert node.partitions.get("t", 0).log.log_start_offset == 2


def test_minus_one_is_the_high_watermark(node: Node) -> None:
    node.partitions.get("t", 0).log.maybe_update_high_watermark(2)

    assert ask(node, -1) == (ErrorCode.none, 2)


def test_offset_before_the_start_changes_nothing(node: Node) -> None:
    ask(node, 2)

    assert ask(node, 1) == (ErrorCode.none, 2)


@pytest.mark.parametrize("offset", [4, -2])
def test_offset_outside_the_log_is_refused(node: Node, offset: int) -> None:
    assert ask(node, offset) == (ErrorCode.offset_out_of_range, -1)


def test_compacted_topics_keep_their_records_unless_they_are_deleted_too(node: Node) -> None:
    node.create_topic("compacted", cleanup_policy="compact")
    node.create_topic("both", cleanup_policy="compact,delete")

    assert ask(node, -1, topic="compacted") == (ErrorCode.policy_violation, -1)
    assert ask(node, -1, topic="both") == (ErrorCode.none, 0)


def test_internal_topics_keep_their_records(node: Node) -> None:
    node.create_topic("__consumer_offsets")

    assert ask(node, -1, topic="__consumer_offsets") == (ErrorCode.invalid_topic_exception, -1)


def test_unknown_partitions_and_those_led_elsewhere(node: Node) -> None:
    assert ask(node, 0, topic="none") == (ErrorCode.unknown_topic_or_partition, -1)
    assert ask(node, 0, partition=1) == (ErrorCode.unknown_topic_or_partition, -1)
    node.elect("t", leader=5)
    assert ask(node, 0) == (ErrorCode.not_leader_or_follower, -1)
