from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode

NO_MEMBER = {"generation_id_or_member_epoch": -1, "member_id": ""}


@pytest.fixture
def node(start_node: StartNode) -> Node:
    node = start_node({"offsets.topic.num.partitions": "2", "offset.metadata.max.bytes": "10"})
    node.ask("FindCoordinator", coordinator_keys=["g"])
    node.create_topic("t", 3)
    return node


def topic_of(node: Node, version: int, name: str = "t") -> dict[str, Any]:
    return {"topic_id": node.image.topics[name].topic_id} if version >= 10 else {"name": name}


def commit(node: Node, offsets: dict[int, int], version: int = 9, *, metadata: str = "note") -> list[Any]:
    partitions = [
        {"partition_index": number, "committed_offset": offset, "committed_metadata": metadata}
        for number, offset in offsets.items()
    ]
    topics = [{**topic_of(node, version), "partitions": partitions}]
    answer = node.ask("OffsetCommit", version, group_id="g", topics=topics, **NO_MEMBER)
    return [each.error_code for each in answer.topics[0].partitions]


def fetch(node: Node, version: int, *partitions: int, group_id: str = "g") -> list[Any]:
    topics = [{**topic_of(node, version), "partition_indexes": partitions}]
    if version >= 8:
        answer = node.ask("OffsetFetch", version, groups=[{"group_id": group_id, "topics": topics}]).groups[0]
    else:
        answer = node.ask("OffsetFetch", version, group_id=group_id, topics=topics)
    assert version < 2 or answer.error_code is ErrorCode.none
    return list(answer.topics[0].partitions)


@pytest.mark.parametrize("version", range(2, 11))
def test_offsets_are_committed_at_every_version(node: Node, version: int) -> None:
    assert commit(node, {0: 5, 2: 6}, version) == [ErrorCode.none, ErrorCode.none]
    assert [each.committed_offset for each in fetch(node, 10, 0, 1, 2)] == [5, -1, 6]


@pytest.mark.parametrize("version", range(1, 11))
def test_offsets_are_fetched_at_every_version(node: Node, version: int) -> None:
    commit(node, {1: 42})
    found, missing = fetch(node, version, 1, 0)
    assert (found.committed_offset, found.metadata, found.error_code) == (42, "note", ErrorCode.none)
    assert (missing.committed_offset, missing.metadata, missing.error_code) == (-1, "", ErrorCode.none)


@pytest.mark.parametrize("version", range(2, 11))
def test_no_topics_asks_for_all_that_have_an_offset(node: Node, version: int) -> None:
    commit(node, {0: 1, 2: 3})
    if version >= 8:
        (group,) = node.ask("OffsetFetch", version, groups=[{"group_id": "g", "topics": None}]).groups
    else:
        group = node.ask("OffsetFetch", version, group_id="g", topics=None)
    (topic,) = group.topics
    assert {each.partition_index: each.committed_offset for each in topic.partitions} == {0: 1, 2: 3}


def test_one_request_names_several_groups(node: Node) -> None:
    commit(node, {0: 5})
    groups = [{"group_id": name, "topics": None} for name in ("g", "unknown")]
    known, unknown = node.ask("OffsetFetch", groups=groups).groups
    assert (known.group_id, len(known.topics)) == ("g", 1)
    assert (unknown.group_id, unknown.topics, unknown.error_code) == ("unknown", (), ErrorCode.none)


def test_what_does_not_exist_is_an_error_of_its_partition(node: Node) -> None:
    assert commit(node, {0: 1, 9: 1}) == [ErrorCode.unknown_topic_or_partition, ErrorCode.none]
    assert commit(node, {0: 1}, metadata="x" * 11) == [ErrorCode.offset_metadata_too_large]


@pytest.mark.parametrize("version", range(2, 11))
def test_an_error_of_the_member_is_every_partitions(node: Node, version: int) -> None:
    partitions = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": None}]
    topics = [{**topic_of(node, version), "partitions": partitions}]
    member = {"generation_id_or_member_epoch": 3, "member_id": "m"}
    answer = node.ask("OffsetCommit", version, group_id="g", topics=topics, **member)
    expected = ErrorCode.group_id_not_found if version >= 9 else ErrorCode.illegal_generation
    assert answer.topics[0].partitions[0].error_code is expected


@pytest.mark.parametrize("version", range(1, 11))
def test_without_a_coordinator_every_version_says_so(start_node: StartNode, version: int) -> None:
    node = start_node()
    node.create_topic("t")
    topics = [{**topic_of(node, version), "partition_indexes": (0,)}]
    if version >= 8:
        (answer,) = node.ask("OffsetFetch", version, groups=[{"group_id": "g", "topics": topics}]).groups
    else:
        answer = node.ask("OffsetFetch", version, group_id="g", topics=topics)
    if version == 1:
        answer = answer.topics[0].partitions[0]
    assert answer.error_code is ErrorCode.not_coordinator


def test_offsets_are_deleted(node: Node) -> None:
    commit(node, {0: 5, 1: 6})
    topics = [{"name": "t", "partitions": [{"partition_index": 0}, {"partition_index": 9}]}]
    answer = node.ask("OffsetDelete", group_id="g", topics=topics)
    codes = {each.partition_index: each.error_code for each in answer.topics[0].partitions}
    assert codes == {0: ErrorCode.none, 9: ErrorCode.unknown_topic_or_partition}
    assert [each.committed_offset for each in fetch(node, 9, 0, 1)] == [-1, 6]
    assert node.ask("OffsetDelete", group_id="unknown").error_code is ErrorCode.group_id_not_found
