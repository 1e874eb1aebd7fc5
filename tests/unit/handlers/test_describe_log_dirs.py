from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode


def shown(result: Any) -> dict[tuple[str, int], tuple[int, int, bool]]:
    return {
        (topic.name, each.partition_index): (each.partition_size, each.offset_lag, each.is_future_key)
        for topic in result.topics
        for each in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 6))
def test_sizes_of_all_partitions(node: Node, version: int, tmp_path: Path) -> None:
    node.create_topic("a", 2)
    node.create_topic("b")
    size = node.append("a", 1, 2, partition=1).log.size

    (result,) = node.ask("DescribeLogDirs", version, topics=None).results

    assert (result.error_code, result.log_dir) == (ErrorCode.none, str(tmp_path / "data"))
    assert size > 0
    assert shown(result) == {("a", 0): (0, 0, False), ("a", 1): (size, 0, False), ("b", 0): (0, 0, False)}


def test_only_requested_partitions(node: Node) -> None:
    node.create_topic("a", 2)

    (result,) = node.ask("DescribeLogDirs", topics=[{"topic": "a", "partitions": [1, 7]}]).results
    (nothing,) = node.ask("DescribeLogDirs", topics=[]).results

    assert shown(result).keys() == {("a", 1)}
    assert nothing.topics == ()


def test_room_on_the_disk(node: Node) -> None:
    (result,) = node.ask("DescribeLogDirs", 5, topics=None).results

    assert 0 < result.usable_bytes <= result.total_bytes
    assert not result.is_cordoned


def test_every_directory_answers_for_itself(start_node: StartNode, tmp_path: Path) -> None:
    node = start_node({"log.dirs": f"{tmp_path}/one,{tmp_path}/two"})
    node.create_topic("a", 2)
    node.logs.directories[0].fail(OSError("failed"))

    first, second = node.ask("DescribeLogDirs", topics=None).results

    assert (first.error_code, first.topics, first.total_bytes) == (ErrorCode.kafka_storage_error, (), -1)
    assert (second.error_code, len(shown(second))) == (ErrorCode.none, 1)


def test_log_that_no_partition_uses_has_no_lag(node: Node) -> None:
    node.create_topic("a")
    hosted = node.partitions.topic("a")
    assert hosted is not None
    hosted.partitions.clear()

    (result,) = node.ask("DescribeLogDirs", topics=None).results

    assert shown(result) == {("a", 0): (0, -1, False)}
