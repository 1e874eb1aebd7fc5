from typing import Any

from kio.schema.errors import ErrorCode
from tests.fakes.node import Node


def ask(node: Node, topic: str, partition: int = 0) -> Any:
    response = node.ask("DescribeProducers", topics=[{"name": topic, "partition_indexes": [partition]}])
    return response.topics[0].partitions[0]


def test_producers_with_their_last_sequence_and_open_transaction(node: Node) -> None:
    node.create_topic("t")
    node.append("t", 10, 20, producer_id=7, producer_epoch=1, base_sequence=0)
    node.append("t", 30, producer_id=8, producer_epoch=0, base_sequence=4, transactional=True)
    node.append("t", 40)

    first, second = ask(node, "t").active_producers

    assert (first.producer_id, first.producer_epoch, first.last_sequence) == (7, 1, 1)
    assert (first.last_timestamp, first.coordinator_epoch, first.current_txn_start_offset) == (20, -1, -1)
    assert (second.producer_id, second.last_sequence, second.current_txn_start_offset) == (8, 4, 2)


def test_partition_without_producers(node: Node) -> None:
    node.create_topic("t")

    answer = ask(node, "t")

    assert (answer.error_code, answer.active_producers) == (ErrorCode.none, ())


def test_errors(node: Node) -> None:
    node.create_topic("t")

    assert ask(node, "none").error_code is ErrorCode.unknown_topic_or_partition
    assert ask(node, "t", 1).error_code is ErrorCode.unknown_topic_or_partition
    illegal = ask(node, "bad name")
    assert illegal.error_code is ErrorCode.invalid_topic_exception
    assert "bad name" in illegal.error_message
