"""Transactional requests through their bytes; what is decided about them is tested with the shard."""

from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode

from barnabas.runtime.hosted_shard import ShardState
from barnabas.runtime.partitioning import partition_for
from barnabas.transaction.transaction import MAX_EPOCH, Transaction, TransactionState
from barnabas.transaction.transaction_record import TransactionRecord

NAME = "tx"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def busy(node: Node) -> Node:
    """A node with a coordinator, a topic and the producer 0 with epoch 0 of the transactional id."""
    node.create_topic("__transaction_state", 1)
    node.create_topic("__consumer_offsets", 1)
    node.create_topic("topic", 2)
    node.ask("InitProducerId", transactional_id=NAME, transaction_timeout=MINUTE)
    return node


def transaction(epoch: int = 0, producer_id: int = 0, **fields: Any) -> dict[str, Any]:
    return {"transactional_id": NAME, "producer_id": producer_id, "producer_epoch": epoch} | fields


def topics_with(*numbers: int, topic: str = "topic") -> list[dict[str, Any]]:
    return [{"name": topic, "partitions": list(numbers)}]


def add(node: Node, *numbers: int, topic: str = "topic") -> list[ErrorCode]:
    requested = transaction(topics=topics_with(*numbers, topic=topic))
    answer = node.ask("AddPartitionsToTxn", 5, transactions=[requested])
    (result,) = answer.results_by_transaction
    return [each.partition_error_code for each in result.topic_results[0].results_by_partition]


def described(node: Node, name: str = NAME) -> Any:
    (state,) = node.ask("DescribeTransactions", transactional_ids=[name]).transaction_states
    return state


def test_without_a_coordinator_everybody_is_sent_to_look_for_one(node: Node) -> None:
    node.create_topic("topic", 1)
    node.create_topic("__consumer_offsets", 1)
    wrong = ErrorCode.not_coordinator
    assert add(node, 0) == [wrong]
    assert node.ask("AddOffsetsToTxn", **transaction(group_id="group")).error_code is wrong
    assert node.ask("EndTxn", **transaction(committed=True)).error_code is wrong
    assert described(node).error_code is wrong
    answer = node.ask("ListTransactions", state_filters=["Odd"], duration_filter=-1)
    assert (answer.error_code, answer.unknown_state_filters) == (ErrorCode.none, ("Odd",))
    assert answer.transaction_states == ()
    odd = node.ask("ListTransactions", transactional_id_pattern="(", duration_filter=-1)
    assert odd.error_code is ErrorCode.invalid_regular_expression


def test_a_coordinator_that_is_loading_says_so(busy: Node) -> None:
    (hosted,) = busy.transactions.hosted()
    hosted.state = ShardState.LOADING
    loading = ErrorCode.coordinator_load_in_progress
    assert busy.ask("InitProducerId", transactional_id=NAME, transaction_timeout=MINUTE).error_code is loading
    assert add(busy, 0) == [loading]
    assert busy.ask("EndTxn", **transaction(committed=True)).error_code is loading
    assert described(busy).error_code is loading
    assert busy.ask("ListTransactions", duration_filter=-1).error_code is loading


def test_offsets_can_be_added_before_there_is_a_topic_for_them(node: Node) -> None:
    node.create_topic("__transaction_state", 1)
    node.ask("InitProducerId", transactional_id=NAME, transaction_timeout=MINUTE)
    answer = node.ask("AddOffsetsToTxn", **transaction(group_id="group"))
    assert answer.error_code is ErrorCode.none
    (topic,) = described(node).topics
    count = node.config.offsets_topic_num_partitions
    assert (topic.topic, topic.partitions) == ("__consumer_offsets", (partition_for("group", count),))
    assert node.ask("EndTxn", **transaction(committed=True)).error_code is ErrorCode.none
    assert described(node).transaction_state == "CompleteCommit"


@pytest.mark.parametrize("version", range(4))
def test_one_transaction_of_an_old_client_is_added(busy: Node, version: int) -> None:
    answer = busy.ask(
        "AddPartitionsToTxn",
        version,
        v3_and_below_transactional_id=NAME,
        v3_and_below_producer_id=0,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=topics_with(1),
    )
    (topic,) = answer.results_by_topic_v3_and_below
    assert [
        (topic.name, each.partition_index, each.partition_error_code) for each in topic.results_by_partition
    ] == [("topic", 1, ErrorCode.none)]
    assert described(busy).topics[0].partitions == (1,)


def test_of_two_entries_for_a_transaction_the_last_counts(busy: Node) -> None:
    requested = [transaction(topics=topics_with(number)) for number in (0, 1)]
    answer = busy.ask("AddPartitionsToTxn", 5, transactions=requested)
    assert len(answer.results_by_transaction) == 1
    assert described(busy).topics[0].partitions == (1,)


def test_brokers_may_add_internal_partitions(busy: Node) -> None:
    assert add(busy, 0, topic="__consumer_offsets") == [ErrorCode.none]


def test_a_transaction_that_has_not_begun_has_no_start(busy: Node) -> None:
    state = described(busy)
    assert (state.transaction_state, state.transaction_start_time) == ("Empty", None)
    assert state.transaction_timeout == MINUTE
    assert add(busy, 1, 0) == [ErrorCode.none] * 2
    state = described(busy)
    assert round(state.transaction_start_time.timestamp() * 1000) == busy.clock.now_ms()
    assert state.topics[0].partitions == (0, 1)


def test_the_end_of_a_transaction_is_complete_when_it_is_answered(busy: Node) -> None:
    add(busy, 0, 1)
    answer = busy.ask("EndTxn", **transaction(committed=True))
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (ErrorCode.none, 0, 1)
    assert described(busy).transaction_state == "CompleteCommit"
    assert [busy.partitions.get("topic", number).log.log_end_offset for number in (0, 1)] == [1, 1]


@pytest.mark.parametrize("version", range(5))
def test_older_clients_keep_their_epoch(busy: Node, version: int) -> None:
    add(busy, 0)
    assert busy.ask("EndTxn", version, **transaction(committed=False)).error_code is ErrorCode.none
    state = described(busy)
    assert (state.transaction_state, state.producer_epoch) == ("CompleteAbort", 0)


def test_a_producer_whose_epochs_are_used_up_gets_another_id(busy: Node) -> None:
    (hosted,) = busy.transactions.hosted()
    worn = Transaction(
        transactional_id=NAME,
        producer_id=0,
        producer_epoch=MAX_EPOCH - 1,
        timeout_ms=60_000,
        state=TransactionState.EMPTY,
        update_ms=busy.clock.now_ms(),
    )
    hosted.shard.replay(TransactionRecord(worn, NAME))
    requested = transaction(epoch=MAX_EPOCH - 1, topics=topics_with(0))
    busy.ask("AddPartitionsToTxn", 5, transactions=[requested])
    answer = busy.ask("EndTxn", **transaction(epoch=MAX_EPOCH - 1, committed=True))
    assert (answer.error_code, answer.producer_epoch) == (ErrorCode.none, 0)
    assert answer.producer_id > 0
    assert described(busy).producer_id == answer.producer_id


def test_markers_of_one_producer_share_an_entry(busy: Node) -> None:
    markers = [
        {
            "producer_id": 5,
            "producer_epoch": 0,
            "transaction_result": True,
            "coordinator_epoch": 0,
            "topics": [{"name": topic, "partition_indexes": [0]}],
        }
        for topic in ("topic", "missing", "__consumer_offsets")
    ]
    answer = busy.ask("WriteTxnMarkers", markers=markers)
    (entry,) = answer.markers
    assert {topic.name: topic.partitions[0].error_code for topic in entry.topics} == {
        "topic": ErrorCode.none,
        "missing": ErrorCode.unknown_topic_or_partition,
        "__consumer_offsets": ErrorCode.none,
    }
    assert entry.producer_id == 5


def test_a_transaction_times_out(start_node: StartNode) -> None:
    node = start_node()
    node.create_topic("__transaction_state", 1)
    node.create_topic("topic", 1)
    node.ask("InitProducerId", transactional_id=NAME, transaction_timeout=MINUTE)
    add(node, 0)
    node.advance(59_000)
    assert described(node).transaction_state == "Ongoing"
    node.advance(2_000)
    state = described(node)
    assert (state.transaction_state, state.producer_epoch) == ("CompleteAbort", 1)
    assert add(node, 0) == [ErrorCode.producer_fenced]
