"""TxnOffsetCommit: the transaction, the member, the offsets, at every version."""

from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode

from barnabas.base.deferred import Deferred
from barnabas.runtime.hosted_shard import ShardState
from barnabas.runtime.internal_topics import CONSUMER_OFFSETS

NONE = ErrorCode.none
UNSTABLE = ErrorCode.unstable_offset_commit
VERSIONS = range(6)
SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


class Producer:
    """A transactional producer of one version of TxnOffsetCommit, and of the other requests of its time."""

    def __init__(self, node: Node, version: int = 5, transactional_id: str = "t") -> None:
        self.node: Node = node
        self.version: int = version
        self.name: str = transactional_id
        begun = node.ask("InitProducerId", transactional_id=transactional_id, **_NEW)
        assert begun.error_code is NONE
        self.id: int = begun.producer_id
        self.epoch: int = begun.producer_epoch

    @property
    def _identity(self) -> dict[str, Any]:
        return {"transactional_id": self.name, "producer_id": self.id, "producer_epoch": self.epoch}

    def announce(self, group: str = "g") -> None:
        """What clients of before version 5 do first."""
        if self.version < 5:
            answer = self.node.ask("AddOffsetsToTxn", group_id=group, **self._identity)
            assert answer.error_code is NONE

    def send(self, topics: Any = None, group: str = "g", **member: Any) -> Deferred[Any]:
        topics = {"orders": {0: 5}} if topics is None else topics
        requested = [
            {
                "name": name,
                "partitions": [
                    {"partition_index": number, "committed_offset": offset, "committed_metadata": "note"}
                    for number, offset in offsets.items()
                ],
            }
            for name, offsets in topics.items()
        ]
        fields = self._identity | {"group_id": group, "topics": requested} | member
        return self.node.send("TxnOffsetCommit", self.version, **fields)

    def commit(self, topics: Any = None, group: str = "g", **member: Any) -> dict[tuple[str, int], ErrorCode]:
        return _codes(self.send(topics, group, **member))

    def end(self, *, committed: bool = True) -> None:
        version = 5 if self.version >= 5 else 4
        answer = self.node.ask("EndTxn", version, committed=committed, **self._identity)
        assert answer.error_code is NONE
        if version >= 5:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch


_NEW: dict[str, Any] = {
    "producer_id": -1,
    "producer_epoch": -1,
    "transaction_timeout": timedelta(seconds=60),
}


def _codes(answer: Deferred[Any]) -> dict[tuple[str, int], ErrorCode]:
    return {
        (topic.name, each.partition_index): each.error_code
        for topic in answer.result().topics
        for each in topic.partitions
    }


def _fetch(node: Node, partition: int = 0, *, stable: bool = False) -> tuple[int, ErrorCode]:
    groups = [{"group_id": "g", "topics": [{"name": "orders", "partition_indexes": [partition]}]}]
    answer = node.ask("OffsetFetch", 9, groups=groups, require_stable=stable)
    (found,) = answer.groups[0].topics[0].partitions
    return found.committed_offset, found.error_code


def _only(codes: dict[tuple[str, int], ErrorCode]) -> ErrorCode:
    (code,) = codes.values()
    return code


@pytest.fixture
def start(start_node: StartNode) -> StartNode:
    def started(properties: dict[str, str] | None = None) -> Node:
        node = start_node(SETTINGS | (properties or {}))
        node.ask("FindCoordinator", key_type=0, coordinator_keys=["g"])
        node.ask("FindCoordinator", key_type=1, coordinator_keys=["t"])
        node.create_topic("orders", 3)
        return node

    return started


@pytest.fixture
def node(start: StartNode) -> Node:
    return start()


# --- the way of an offset ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("committed", [True, False])
def test_an_offset_counts_when_its_transaction_does(node: Node, version: int, committed: bool) -> None:
    producer = Producer(node, version)
    for offset in (5, 6):
        before, _ = _fetch(node)
        producer.announce()
        assert producer.commit({"orders": {0: offset}}) == {("orders", 0): NONE}
        assert _fetch(node) == (before, NONE)
        assert _fetch(node, stable=True) == (-1, UNSTABLE)
        assert _fetch(node, 1, stable=True) == (-1, NONE)
        producer.end(committed=committed)
        assert _fetch(node, stable=True) == (offset if committed else -1, NONE)


def test_the_first_commit_adds_the_groups_partition_to_the_transaction(node: Node) -> None:
    producer = Producer(node)
    producer.commit()
    (state,) = node.ask("DescribeTransactions", transactional_ids=["t"]).transaction_states
    assert [(each.topic, tuple(each.partitions)) for each in state.topics] == [(CONSUMER_OFFSETS, (0,))]
    ends = [log.log_end_offset for log in _logs(node)]
    producer.commit({"orders": {1: 9}})
    assert [log.log_end_offset for log in _logs(node)] == [ends[0] + 1, ends[1]], (
        "verified once a transaction"
    )


def _logs(node: Node) -> list[Any]:
    return [node.partitions.get(name, 0).log for name in (CONSUMER_OFFSETS, "__transaction_state")]


def test_a_plain_commit_goes_on_beside_the_transaction(node: Node) -> None:
    producer = Producer(node)
    producer.commit()
    partitions = [{"partition_index": 0, "committed_offset": 8, "committed_metadata": ""}]
    topics = [{"name": "orders", "partitions": partitions}]
    fields = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    assert node.ask("OffsetCommit", 9, **fields).topics[0].partitions[0].error_code is NONE
    assert _fetch(node) == (8, NONE)
    producer.end()
    assert _fetch(node, stable=True) == (8, NONE)


def test_a_new_producer_with_the_id_aborts_what_the_old_one_left(node: Node) -> None:
    old = Producer(node)
    old.commit()
    again = node.ask("InitProducerId", transactional_id="t", **_NEW)
    assert again.error_code is ErrorCode.concurrent_transactions
    new = Producer(node)
    assert _fetch(node, stable=True) == (-1, NONE)
    assert _only(old.commit()) is ErrorCode.invalid_producer_epoch
    new.commit({"orders": {0: 6}})
    new.end()
    assert _fetch(node, stable=True) == (6, NONE)


# --- the transaction ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
def test_before_version_5_the_partition_must_have_been_announced(node: Node, version: int) -> None:
    producer = Producer(node, version)
    expected = ErrorCode.transaction_abortable if version == 4 else ErrorCode.invalid_txn_state
    assert _only(producer.commit()) is expected
    producer.announce()
    assert _only(producer.commit()) is NONE
    producer.end()
    assert _only(producer.commit()) is expected, "each transaction anew"
    assert _fetch(node, stable=True) == (5, NONE)


def test_without_verification_no_coordinator_is_called(start: StartNode) -> None:
    node = start({"transaction.partition.verification.enable": "false"})
    assert _only(Producer(node, 4).commit()) is NONE
    assert _fetch(node, stable=True) == (-1, UNSTABLE)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stranger_is_not_in_a_transaction(node: Node, version: int) -> None:
    producer = Producer(node, version)
    producer.announce()
    producer.id += 1000
    assert _only(producer.commit()) is ErrorCode.invalid_producer_id_mapping
    producer.id -= 1000
    producer.name = "somebody else"
    assert _only(producer.commit()) is ErrorCode.invalid_producer_id_mapping
    assert _fetch(node, stable=True) == (-1, NONE)


@pytest.mark.parametrize("version", VERSIONS)
def test_old_epoch_is_invalid_in_group_and_transaction_coordinator(node: Node, version: int) -> None:
    first = Producer(node, version)
    second = Producer(node, version)
    assert second.epoch > first.epoch
    assert _only(first.commit()) is ErrorCode.invalid_producer_epoch, "the transaction coordinator"
    second.announce()
    second.commit()
    assert _only(first.commit()) is ErrorCode.invalid_producer_epoch, "the log of the group"


def test_transaction_that_ended_during_verification_takes_no_offsets(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = Producer(node, 4)
    producer.announce()
    late: list[Any] = []
    read = node.transactions.read

    def read_late(key: str, operation: Any) -> Deferred[Any]:
        answer, later = read(key, operation), Deferred[Any]()
        late.append(lambda: later.complete(answer.result()))
        return later

    monkeypatch.setattr(node.transactions, "read", read_late)
    waiting = producer.send()
    assert not waiting.is_done
    producer.end(committed=False)
    late.pop()()
    assert _only(_codes(waiting)) is ErrorCode.invalid_txn_state
    assert _fetch(node, stable=True) == (-1, NONE)
    monkeypatch.undo()
    producer.announce()
    assert _only(producer.commit()) is NONE


def test_two_commits_may_be_verified_at_once(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = Producer(node)
    late: list[Any] = []
    write = node.transactions.write

    def write_late(key: str, operation: Any) -> Deferred[Any]:
        answer, later = write(key, operation), Deferred[Any]()
        late.append(lambda: later.complete(answer.result()))
        return later

    monkeypatch.setattr(node.transactions, "write", write_late)
    first, second = producer.send({"orders": {0: 5}}), producer.send({"orders": {1: 6}})
    for tell in late:
        tell()
    assert (_only(_codes(first)), _only(_codes(second))) == (NONE, NONE)


@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_transaction_coordinator_nothing_is_committed(start_node: StartNode, version: int) -> None:
    node = start_node(SETTINGS)
    node.ask("FindCoordinator", key_type=0, coordinator_keys=["g"])
    node.create_topic("orders")
    producer = Producer.__new__(Producer)
    producer.node, producer.version, producer.name, producer.id, producer.epoch = node, version, "t", 1, 0
    assert _only(producer.commit()) is ErrorCode.coordinator_not_available
    assert _fetch(node, stable=True) == (-1, NONE)


# --- the group ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_group_coordinator_the_client_looks_for_another(
    start_node: StartNode, version: int
) -> None:
    node = start_node(SETTINGS)
    node.ask("FindCoordinator", key_type=1, coordinator_keys=["t"])
    node.create_topic("orders")
    assert _only(Producer(node, version).commit()) is ErrorCode.not_coordinator


@pytest.mark.parametrize("version", VERSIONS)
def test_old_producers_do_not_get_coordinator_load_in_progress(node: Node, version: int) -> None:
    producer = Producer(node, version)
    producer.announce()
    for hosted in node.groups.hosted():
        hosted.state = ShardState.LOADING
    loading = ErrorCode.coordinator_load_in_progress if version >= 2 else ErrorCode.coordinator_not_available
    assert _only(producer.commit()) is loading


@pytest.mark.parametrize("version", [3, 4, 5])
def test_an_unknown_generation_is_illegal(node: Node, version: int) -> None:
    producer = Producer(node, version)
    producer.announce()
    codes = producer.commit(generation_id=3, member_id="m")
    assert _only(codes) is ErrorCode.illegal_generation
    assert _fetch(node, stable=True) == (-1, NONE)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_group_without_a_name_is_invalid(node: Node, version: int) -> None:
    assert _only(Producer(node, version).commit(group="")) is ErrorCode.invalid_group_id


# --- partitions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_partitions_spoil_no_others(node: Node, version: int) -> None:
    unknown = ErrorCode.unknown_topic_or_partition
    producer = Producer(node, version)
    producer.announce()
    codes = producer.commit({"deleted": {0: 1}, "orders": {0: 5, 7: 5}})
    assert codes == {("deleted", 0): unknown, ("orders", 7): unknown, ("orders", 0): NONE}
    refused = Producer(node, version, "other").commit({"deleted": {0: 1}, "orders": {0: 5}}, group="")
    assert refused == {("deleted", 0): unknown, ("orders", 0): ErrorCode.invalid_group_id}


def test_unknown_partitions_alone_begin_no_transaction(node: Node) -> None:
    producer = Producer(node)
    assert producer.commit({"deleted": {0: 1}}) == {("deleted", 0): ErrorCode.unknown_topic_or_partition}
    (state,) = node.ask("DescribeTransactions", transactional_ids=["t"]).transaction_states
    assert state.transaction_state == "Empty"


def test_long_metadata_is_an_error_of_its_partition(start: StartNode) -> None:
    node = start({"offset.metadata.max.bytes": "3"})
    assert _only(Producer(node).commit()) is ErrorCode.offset_metadata_too_large


def test_empty_request_commits_nothing(node: Node) -> None:
    assert Producer(node).commit({}) == {}
