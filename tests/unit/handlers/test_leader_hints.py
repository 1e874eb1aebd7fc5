"""A broker that is not the leader names the leader and its address (KIP-951)."""

from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.integration.clients.raw import decode
from tests.unit.handlers.producing import NEWEST, Producing, txn_batch


@pytest.fixture
def producing(node: Node) -> Iterator[Producing]:
    node.create_topic("t")
    producing = Producing(node)
    yield producing
    producing.close()


@pytest.mark.parametrize("version", [9, NEWEST])
def test_produce_to_a_partition_on_other_brokers_only(producing: Producing, version: int) -> None:
    node = producing.node
    hosted = node.partitions.topic("t")
    assert hosted is not None
    hosted.partitions.clear()
    frame = producing.frame(
        {0: txn_batch(transactional=False), 7: txn_batch(transactional=False)},
        version=version,
        transactional_id=None,
    )
    parts = producing.send(frame)
    assert isinstance(parts, list)
    answer = decode("produce", version, b"".join(map(bytes, parts))[4:])  # type: ignore[arg-type]
    elsewhere, unknown = answer.responses[0].partition_responses
    assert elsewhere.error_code == ErrorCode.not_leader_or_follower
    assert unknown.error_code == ErrorCode.unknown_topic_or_partition
    if version < 10:
        return
    leader = node.image.topics["t"].partitions[0].leader
    assert (elsewhere.current_leader.leader_id, elsewhere.current_leader.leader_epoch) == (leader, 0)
    assert [(each.node_id, each.port) for each in answer.node_endpoints] == [(leader, 9092)]
