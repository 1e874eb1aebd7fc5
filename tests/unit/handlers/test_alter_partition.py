from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node


def ask(node: Node, version: int = 3, *, broker_epoch: int | None = None, **changes: Any) -> Any:
    """The one broker proposes the ISR that is in force. `changes` replace fields of it."""
    registered = node.image.brokers[0].epoch
    topic = node.image.topics["t"]
    state = topic.partitions[0]
    isr = changes.pop("isr", [(0, registered)])
    members: dict[str, Any] = {"new_isr": [number for number, _ in isr]}
    if version >= 3:
        each = [{"broker_id": number, "broker_epoch": epoch} for number, epoch in isr]
        members = {"new_isr_with_epochs": each}
    topic_id = changes.pop("topic_id", topic.topic_id)
    partition = {
        "partition_index": 0,
        "leader_epoch": state.leader_epoch,
        "partition_epoch": state.state_version,
    }
    return node.ask(
        "AlterPartition",
        version,
        broker_id=0,
        broker_epoch=registered if broker_epoch is None else broker_epoch,
        topics=[{"topic_id": topic_id, "partitions": [partition | members | changes]}],
    )


@pytest.mark.parametrize("version", [2, 3])
def test_isr_that_is_in_force_is_a_success_with_its_state(node: Node, version: int) -> None:
    node.create_topic("t")
    before = node.image.topics["t"].partitions[0]

    response = ask(node, version)

    assert response.error_code is ErrorCode.none
    ((topic_id, (partition,)),) = ((each.topic_id, each.partitions) for each in response.topics)
    assert topic_id == node.image.topics["t"].topic_id
    assert (partition.partition_index, partition.error_code) == (0, ErrorCode.none)
    assert (partition.leader_id, partition.leader_epoch) == (0, before.leader_epoch)
    assert (partition.isr, partition.partition_epoch) == ((0,), before.state_version)
    assert partition.leader_recovery_state == 0
    assert node.image.topics["t"].partitions[0] == before


def test_broker_with_another_epoch_than_registered_is_refused_as_a_whole(node: Node) -> None:
    node.create_topic("t")

    response = ask(node, broker_epoch=node.image.brokers[0].epoch - 1)

    assert (response.error_code, response.topics) == (ErrorCode.stale_broker_epoch, ())


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"topic_id": UUID(int=5)}, ErrorCode.unknown_topic_id),
        ({"partition_index": 1}, ErrorCode.unknown_topic_or_partition),
        ({"leader_epoch": -1}, ErrorCode.fenced_leader_epoch),
        ({"isr": [(0, -1), (7, -1)]}, ErrorCode.invalid_request),
    ],
)
def test_refused_proposal_has_an_error_and_no_state(
    node: Node, version: int, changes: dict[str, Any], error: ErrorCode
) -> None:
    node.create_topic("t")

    response = ask(node, version, **changes)

    assert response.error_code is ErrorCode.none
    ((partition,),) = (each.partitions for each in response.topics)
    assert (partition.error_code, partition.isr) == (error, ())
