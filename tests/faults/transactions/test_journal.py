"""What the journals of clients say, also of clients that were killed."""

import json
from pathlib import Path

import pytest
from tests.faults.transactions.history import Outcome, Poll, Reposition, Send, Transaction, named
from tests.faults.transactions.journal import Journal, read_journals

ABORTED, UNKNOWN = Outcome.ABORTED, Outcome.UNKNOWN
K = "source-0"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "producer-0.0"


def only(path: Path) -> Transaction:
    (transaction,) = read_journals([path]).transactions
    return transaction


def test_transaction_without_a_commit_is_aborted_whatever_became_of_its_client(path: Path) -> None:
    journal = Journal(path)
    journal.begin(1)
    journal.send(1, K, 7)

    assert only(path).outcome is ABORTED
    assert only(path).sends == (Send(K, 7),)


def test_transaction_whose_commit_was_not_answered_is_unknown(path: Path) -> None:
    journal = Journal(path)
    journal.begin(1)
    journal.send(1, K, 7)
    journal.sent(1, 7, 3)
    journal.commit(1)

    assert only(path).outcome is UNKNOWN
    assert only(path).sends == (Send(K, 7, 3),)
    assert only(path).commit_requested is not None


@pytest.mark.parametrize("outcome", Outcome)
def test_transaction_is_what_its_client_says_after_the_commit(path: Path, outcome: Outcome) -> None:
    journal = Journal(path)
    journal.begin(1)
    journal.commit(1, "g")
    journal.over(1, outcome)

    assert only(path).outcome is outcome
    assert only(path).group == "g"


def test_polls_and_positions_keep_their_order(path: Path) -> None:
    journal = Journal(path)
    journal.position({K: 0})
    journal.begin(1)
    journal.poll(0.5, {K: ([3, 4], [7, 8])}, 1)
    journal.position({K: None})
    journal.drained({K: 5})

    history = read_journals([path, path.with_name("never-started")])

    first, poll, last = history.reading["producer-0.0"]
    assert isinstance(first, Reposition)
    assert isinstance(poll, Poll)
    assert list(poll.reads[K].values) == [7, 8]
    assert isinstance(last, Reposition)
    assert history.transactions[0].polls == (poll,)
    assert history.drained == {K: 5}


def test_line_that_is_being_written_is_left_out(path: Path) -> None:
    Journal(path).begin(1)
    with path.open("a") as file:
        file.write(json.dumps({"event": "commit"})[:-3])

    assert only(path).outcome is ABORTED


def test_values_are_named_by_their_process_and_count() -> None:
    assert named(12_000_345) == "12.345"
