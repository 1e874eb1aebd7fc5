from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node

T0 = 1_600_000_000_000
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)


@pytest.fixture
def node(node: Node) -> Node:
    node.create_topic("t")
    node.append("t", T0, T0 + 10, T0 + 5)
    node.append("t", T0 + 20, T0 + 30)
    node.append("t", T0 + 15)
    return node


def ask(
    node: Node, timestamp: int, version: int = 11, *, epoch: int = -1, topic: str = "t", **body: Any
) -> Any:
    partition = {"partition_index": 0, "timestamp": timestamp}
    if version >= 4:
        partition["current_leader_epoch"] = epoch
    wanted = {"name": topic, "partitions": [partition]}
    response = node.ask("ListOffsets", version, **({"replica_id": -1, "topics": [wanted]} | body))
    return response.topics[0].partitions[0]


def found(answer: Any) -> tuple[int, int]:
    assert answer.error_code is ErrorCode.none
    return answer.offset, answer.timestamp


@pytest.mark.parametrize("version", range(1, 12))
def test_earliest_and_latest(node: Node, version: int) -> None:
    assert found(ask(node, EARLIEST, version)) == (0, -1)
    assert found(ask(node, LATEST, version)) == (6, -1)


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (0, (0, T0)),
        (T0 + 1, (1, T0 + 10)),
        (T0 + 10, (1, T0 + 10)),
        (T0 + 11, (3, T0 + 20)),
        (T0 + 30, (4, T0 + 30)),
        (T0 + 31, (-1, -1)),
    ],
)
def test_time_is_exact_to_the_record(node: Node, timestamp: int, expected: tuple[int, int]) -> None:
    assert found(ask(node, timestamp)) == expected


def test_largest_timestamp(node: Node) -> None:
    assert found(ask(node, MAX_TIMESTAMP)) == (4, T0 + 30)


def test_empty_log_has_no_largest_timestamp(node: Node) -> None:
    node.create_topic("empty")

    assert found(ask(node, MAX_TIMESTAMP, topic="empty")) == (-1, -1)
    assert found(ask(node, T0, topic="empty")) == (-1, -1)


def test_nothing_is_tiered(node: Node) -> None:
    node.partitions.get("t", 0).log.delete_records_before(2)

    assert found(ask(node, EARLIEST_LOCAL)) == (2, -1)
    assert found(ask(node, LATEST_TIERED)) == (-1, -1)
    assert found(ask(node, EARLIEST_PENDING_UPLOAD)) == (-1, -1)


@pytest.mark.parametrize(
    ("timestamp", "first"),
    [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (EARLIEST_PENDING_UPLOAD, 11), (-7, 12)],
)
def test_special_timestamp_of_a_newer_version_is_not_supported(
    node: Node, timestamp: int, first: int
) -> None:
    for version in range(1, 12):
        answer = ask(node, timestamp, version)
        assert (answer.error_code is ErrorCode.unsupported_version) == (version < first)


def test_response_has_the_leader_epoch(node: Node) -> None:
    epochs = {
        timestamp: ask(node, timestamp).leader_epoch for timestamp in (EARLIEST, LATEST, T0, LATEST_TIERED)
    }

    assert epochs == {EARLIEST: 0, LATEST: 0, T0: 0, LATEST_TIERED: -1}


@pytest.mark.parametrize(("epoch", "error"), [(-1, 0), (0, 0), (1, ErrorCode.unknown_leader_epoch)])
def test_leader_epoch_is_checked(node: Node, epoch: int, error: int) -> None:
    assert ask(node, LATEST, epoch=epoch).error_code == error


def test_older_leader_epoch_is_fenced(node: Node) -> None:
    node.elect("t", epoch=3)

    assert ask(node, LATEST, epoch=2).error_code is ErrorCode.fenced_leader_epoch


def test_read_committed_ends_at_the_last_stable_offset(node: Node) -> None:
    node.append("t", T0 + 50, T0 + 60, producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)

    assert found(ask(node, LATEST, isolation_level=0)) == (8, -1)
    assert found(ask(node, LATEST, isolation_level=1)) == (6, -1)
    assert found(ask(node, T0 + 40, isolation_level=0)) == (6, T0 + 50)
    assert found(ask(node, T0 + 40, isolation_level=1)) == (-1, -1)


def test_consumers_see_up_to_the_high_watermark_and_replicas_to_the_end(node: Node) -> None:
    node.partitions.get("t", 0).log.maybe_update_high_watermark(4)

    assert found(ask(node, LATEST)) == (4, -1)
    assert found(ask(node, T0 + 21)) == (-1, -1)
    assert found(ask(node, LATEST, replica_id=2)) == (6, -1)


def test_duplicate_partition_is_refused(node: Node) -> None:
    twice = [{"partition_index": 0, "timestamp": LATEST}] * 2

    response = node.ask("ListOffsets", replica_id=-1, topics=[{"name": "t", "partitions": twice}])

    assert [each.error_code for each in response.topics[0].partitions] == [ErrorCode.invalid_request] * 2


def test_unknown_partition(node: Node) -> None:
    assert ask(node, LATEST, topic="none").error_code is ErrorCode.unknown_topic_or_partition


def test_other_broker_s_partition_is_read_by_debugging_consumers_only(node: Node) -> None:
    node.elect("t", leader=5)

    assert ask(node, LATEST).error_code is ErrorCode.not_leader_or_follower
    assert found(ask(node, LATEST, replica_id=-2)) == (6, -1)


@pytest.mark.parametrize(
    ("version", "code"), [(4, ErrorCode.leader_not_available), (5, ErrorCode.offset_not_available)]
)
def test_end_is_not_available_before_the_high_watermark_reaches_the_leader_epoch(
    node: Node, version: int, code: ErrorCode
) -> None:
    partition = node.partitions.get("t", 0)
    partition.follow(
        node.image.topics["t"]
        .partitions[0]
        ._replace(leader_epoch=9, replicas=(node.config.broker_id, 77), isr=(node.config.broker_id, 77))
    )
    partition.log.maybe_update_high_watermark(2)

    assert ask(node, LATEST, version).error_code is code
    assert ask(node, T0 + 20, version).error_code is code  # its record is not visible yet
    assert found(ask(node, T0, version)) == (0, T0)
    assert found(ask(node, EARLIEST, version)) == (0, -1)
    assert found(ask(node, LATEST, version, replica_id=77)) == (6, -1)
    partition.log.maybe_update_high_watermark(6)
    assert found(ask(node, LATEST, version)) == (6, -1)
