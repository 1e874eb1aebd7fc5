from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node


def ask(node: Node, *topics: dict[str, Any], version: int = 3, **body: Any) -> list[Any]:
    return list(node.ask("CreatePartitions", version, topics=topics, **body).results)


@pytest.mark.parametrize("version", range(4))
def test_topic_grows_to_the_count(node: Node, version: int) -> None:
    node.create_topic("t", 2)

    (result,) = ask(node, {"name": "t", "count": 4}, version=version)

    assert (result.name, result.error_code, result.error_message) == ("t", ErrorCode.none, None)
    assert len(node.image.topics["t"].partitions) == 4
    assert node.partitions.get("t", 3).is_leader


def test_replicas_can_be_chosen(node: Node) -> None:
    node.create_topic("t")

    (result,) = ask(node, {"name": "t", "count": 2, "assignments": [{"broker_ids": [0]}]})

    assert result.error_code is ErrorCode.none


def test_validate_only_makes_nothing(node: Node) -> None:
    node.create_topic("t")

    (result,) = ask(node, {"name": "t", "count": 4}, validate_only=True)

    assert result.error_code is ErrorCode.none
    assert len(node.image.topics["t"].partitions) == 1


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ({"name": "t", "count": 2}, ErrorCode.invalid_partitions),
        ({"name": "t", "count": 1}, ErrorCode.invalid_partitions),
        ({"name": "none", "count": 2}, ErrorCode.unknown_topic_or_partition),
        (
            {"name": "t", "count": 4, "assignments": [{"broker_ids": [0]}]},
            ErrorCode.invalid_replica_assignment,
        ),
    ],
)
def test_what_is_no_growth_is_refused(node: Node, wanted: dict[str, Any], error: ErrorCode) -> None:
    node.create_topic("t", 2)

    (result,) = ask(node, wanted)

    assert result.error_code is error
    assert len(node.image.topics["t"].partitions) == 2


def test_name_given_twice_is_refused(node: Node) -> None:
    node.create_topic("t")

    results = ask(node, {"name": "t", "count": 2}, {"name": "t", "count": 3})

    assert [(each.name, each.error_code) for each in results] == [("t", ErrorCode.invalid_request)]
