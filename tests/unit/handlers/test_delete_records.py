import asyncio
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.fakes.virtual_time import elapse, run_virtually

from barnabas.handlers import delete_records
from barnabas.replication.partition import Partition


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


FOLLOWER = 77


def replicated(node: Node) -> Partition:
    """The partition with a follower that has all records."""
    partition = node.partitions.get("t", 0)
    image, own = node.image.topics["t"].partitions[0], node.config.broker_id
    partition.follow(
        image._replace(replicas=(own, FOLLOWER), isr=(own, FOLLOWER), state_version=image.state_version + 1)
    )
    partition.on_follower_fetch(FOLLOWER, 3, 0, 1)
    return partition


async def deletion(node: Node, offset: int) -> tuple[Any, int]:
    """The answer to a request that waits at most ten seconds."""
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "offset": offset}]}]
    request = node.request("DeleteRecords", topics=topics, timeout=timedelta(seconds=10))
    reply: Any = delete_records.handle(node.contexts.records, request)
    answer = (reply if not asyncio.iscoroutine(reply) else await reply).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


def test_answer_waits_until_live_replicas_have_deleted_the_records(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = replicated(node)
    monkeypatch.setattr(partition._environment, "epoch_of", lambda _: 1)

    async def scenario() -> None:
        answer = asyncio.ensure_future(deletion(node, 2))
        await elapse(1)
        partition.on_follower_fetch(FOLLOWER, 3, 1, 1)
        await elapse(1)
        assert (answer.done(), partition.log.log_start_offset) == (False, 2)
        partition.on_follower_fetch(FOLLOWER, 3, 2, 1)
        assert await answer == (ErrorCode.none, 2)
        assert await deletion(node, 1) == (ErrorCode.none, 2)

    run_virtually(scenario())


def test_answer_does_not_wait_for_replicas_without_a_session(node: Node) -> None:
    replicated(node)

    assert ask(node, 2) == (ErrorCode.none, 2)


def test_answer_comes_after_the_timeout_or_when_leadership_moves(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = replicated(node)
    monkeypatch.setattr(partition._environment, "epoch_of", lambda _: 1)

    async def scenario() -> None:
        timed_out = asyncio.ensure_future(deletion(node, 1))
        await elapse(9.9)
        assert not timed_out.done()
        await elapse(0.2)
        assert await timed_out == (ErrorCode.request_timed_out, 0)
        moved = asyncio.ensure_future(deletion(node, 2))
        await elapse(1)
        image = node.image.topics["t"].partitions[0]
        partition.follow(image._replace(leader=5, leader_epoch=9, state_version=image.state_version + 2))
        assert await moved == (ErrorCode.not_leader_or_follower, -1)

    run_virtually(scenario())
