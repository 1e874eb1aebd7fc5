"""DescribeTransactions and ListTransactions."""

from typing import Any

import pytest
from tests.unit.transaction.transactions_shard import TransactionsShard

from barnabas.base.errors import InvalidRegularExpression, InvalidRequest, TransactionalIdNotFound
from barnabas.transaction.listing import compiled_pattern
from barnabas.transaction.requests import TransactionFilter
from barnabas.transaction.transaction import TransactionState


@pytest.fixture
def shard() -> TransactionsShard:
    """`empty`, `done` (complete commit), `old` and, a second later, `new` (ongoing)."""
    shard = TransactionsShard()
    shard.init("empty")
    done = shard.init("done").result()
    shard.add(done, "orders-0", transactional_id="done")
    shard.end(done, transactional_id="done")
    shard.write_markers()
    for name in ("old", "new"):
        producer = shard.init(name).result()
        shard.clock.advance(1_000)
        shard.add(producer, "orders-0", transactional_id=name)
    return shard


def names(shard: TransactionsShard, **wanted: Any) -> set[str]:
    found, _ = shard.shard.list(TransactionFilter(**wanted))
    return {transaction.transactional_id for transaction in found}


def test_without_a_filter_all_are_listed(shard: TransactionsShard) -> None:
    assert names(shard) == {"empty", "done", "old", "new"}


def test_by_state(shard: TransactionsShard) -> None:
    assert names(shard, states=("Ongoing",)) == {"old", "new"}
    assert names(shard, states=("Empty", "CompleteCommit")) == {"empty", "done"}


def test_unknown_states_are_returned(shard: TransactionsShard) -> None:
    found, unknown = shard.shard.list(TransactionFilter(states=("Sleeping", "Empty", "ongoing", "Sleeping")))
    assert unknown == ["Sleeping", "ongoing"]
    assert [each.transactional_id for each in found] == ["empty"]
    assert names(shard, states=("Sleeping",)) == set()


def test_states_that_no_transaction_is_ever_in_are_known_by_name(shard: TransactionsShard) -> None:
    assert shard.shard.list(TransactionFilter(states=("Dead", "PrepareEpochFence"))) == ([], [])


def test_by_producer_id(shard: TransactionsShard) -> None:
    assert names(shard, producer_ids=(shard.get("old").producer_id, 5)) == {"old"}


def test_by_duration(shard: TransactionsShard) -> None:
    assert names(shard, running_longer_than_ms=0, states=("Ongoing",)) == {"old"}
    assert names(shard, running_longer_than_ms=999, states=("Ongoing",)) == {"old"}
    assert names(shard, running_longer_than_ms=1_000, states=("Ongoing",)) == set()


def test_pattern_matches_the_whole_id() -> None:
    assert compiled_pattern("o.*").matching(["old", "new"]) == {"old"}
    assert compiled_pattern("ol").matching(["old", "new"]) == set()


def test_an_invalid_pattern_is_refused() -> None:
    with pytest.raises(InvalidRegularExpression, match=r"^Transaction ID pattern `\(` is not a valid"):
        compiled_pattern("(")


def test_description(shard: TransactionsShard) -> None:
    transaction = shard.shard.describe("old")
    assert transaction.state is TransactionState.ONGOING
    assert transaction.state.label == "Ongoing"
    with pytest.raises(TransactionalIdNotFound):
        shard.shard.describe("unknown")
    with pytest.raises(InvalidRequest):
        shard.shard.describe("")


def test_labels_are_kafkas() -> None:
    assert [state.label for state in TransactionState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
