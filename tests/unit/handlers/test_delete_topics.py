from typing import Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode


def ask(node: Node, *topics: tuple[str | None, UUID | None]) -> list[Any]:
    wanted = [{"name": name, "topic_id": topic_id} for name, topic_id in topics]
    return list(node.ask("DeleteTopics", 6, topics=wanted).responses)


@pytest.mark.parametrize("version", range(1, 6))
def test_by_name(node: Node, version: int) -> None:
    node.create_topic("t")

    known, unknown = sorted(
        node.ask("DeleteTopics", version, topic_names=["t", "z"]).responses, key=lambda each: str(each.name)
    )

    assert (known.name, known.error_code) == ("t", ErrorCode.none)
    assert (unknown.name, unknown.error_code) == ("z", ErrorCode.unknown_topic_or_partition)
    assert "t" not in node.image.topics
    assert node.partitions.topic("t") is None


def test_by_id(node: Node) -> None:
    node.create_topic("t")
    topic_id = node.image.topics["t"].topic_id

    (result,) = ask(node, (None, topic_id))

    assert (result.name, result.topic_id, result.error_code) == ("t", topic_id, ErrorCode.none)
    assert not node.image.topics


def test_bad_references(node: Node) -> None:
    node.create_topic("t")
    unknown = UUID(int=77)

    results = ask(
        node, (None, None), ("t", node.image.topics["t"].topic_id), (None, unknown), ("x", None), ("x", None)
    )

    assert [(each.name, each.topic_id, each.error_code) for each in results] == [
        (None, None, ErrorCode.invalid_request),
        ("t", node.image.topics["t"].topic_id, ErrorCode.invalid_request),
        ("x", None, ErrorCode.invalid_request),
        (None, unknown, ErrorCode.unknown_topic_id),
    ]
    assert all(each.error_message for each in results)
    assert "t" in node.image.topics


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (2, ErrorCode.invalid_request),
        (3, ErrorCode.topic_deletion_disabled),
        (5, ErrorCode.topic_deletion_disabled),
    ],
)
def test_deletion_can_be_disabled(start_node: StartNode, version: int, error: ErrorCode) -> None:
    node = start_node({"delete.topic.enable": "false"})
    node.create_topic("t")

    (result,) = node.ask("DeleteTopics", version, topic_names=["t"]).responses

    assert (result.name, result.error_code) == ("t", error)
    assert "t" in node.image.topics
