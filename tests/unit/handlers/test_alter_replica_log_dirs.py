from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode


@pytest.fixture
def node(start_node: StartNode, tmp_path: Path) -> Node:
    node = start_node({"log.dirs": f"{tmp_path}/one,{tmp_path}/two"})
    node.create_topic("t")
    node.append("t", 1, 2, 3)
    return node


def alter(node: Node, path: Path, topic: str = "t", version: int = 2) -> Any:
    dirs = [{"path": str(path), "topics": [{"name": topic, "partitions": [0]}]}]
    (result,) = node.ask("AlterReplicaLogDirs", version, dirs=dirs).results
    return result.partitions[0].error_code


def shown(node: Node) -> dict[str, list[tuple[int, bool]]]:
    """Lag and whether it is a future one, of each log by directory."""
    results = node.ask("DescribeLogDirs", topics=None).results
    return {
        Path(each.log_dir).name: [
            (partition.offset_lag, partition.is_future_key)
            for topic in each.topics
            for partition in topic.partitions
        ]
        for each in results
    }


@pytest.mark.parametrize("version", [1, 2])
def test_log_moves_to_the_other_directory(node: Node, tmp_path: Path, version: int) -> None:
    assert shown(node) == {"one": [(0, False)], "two": []}
    assert alter(node, tmp_path / "two", version=version) is ErrorCode.none
    assert shown(node) == {"one": [(0, False)], "two": [(3, True)]}
    assert alter(node, tmp_path / "two", version=version) is ErrorCode.none
    moves = node.contexts.log_dirs.moves
    (task,) = moves._tasks.values()
    node.loop.run_until_complete(task)
    assert shown(node) == {"one": [], "two": [(0, False)]}
    assert node.append("t", 4).log.log_end_offset == 4


def test_directory_it_is_in_ends_a_move(node: Node, tmp_path: Path) -> None:
    assert alter(node, tmp_path / "one") is ErrorCode.none
    alter(node, tmp_path / "two")
    assert alter(node, tmp_path / "one") is ErrorCode.none
    assert shown(node) == {"one": [(0, False)], "two": []}


def test_refusals(node: Node, tmp_path: Path) -> None:
    assert alter(node, tmp_path / "three") is ErrorCode.log_dir_not_found
    assert alter(node, tmp_path / "two", "unknown") is ErrorCode.replica_not_available
    node.logs.directories[1].fail(OSError("failed"))
    assert alter(node, tmp_path / "two") is ErrorCode.kafka_storage_error


def test_new_replica_is_created_in_the_directory_that_was_named_for_it(node: Node, tmp_path: Path) -> None:
    node.create_topic("u")  # the second directory has fewer logs
    assert alter(node, tmp_path / "two", "v") is ErrorCode.replica_not_available
    node.create_topic("v")
    assert [len(each) for each in shown(node).values()] == [1, 2]
