"""Hand-made histories: each shows one anomaly, or nothing at all."""

from collections.abc import Sequence

from tests.faults.transactions.anomalies import Kind
from tests.faults.transactions.checker import Findings, check
from tests.faults.transactions.history import (
    History,
    Outcome,
    Poll,
    Reads,
    Reposition,
    Send,
    Transaction,
)

COMMITTED, ABORTED, UNKNOWN = Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN
K, L = "source-0", "source-1"
Records = Sequence[tuple[int, int]]


def wrote(
    number: int,
    *sends: Send,
    outcome: Outcome = COMMITTED,
    process: str = "p",
    commit_requested: float | None = 1.0,
    polls: tuple[Poll, ...] = (),
    group: str | None = None,
) -> Transaction:
    requested = None if outcome is ABORTED else commit_requested
    return Transaction(process, number, 0.5, outcome, sends, requested, 2.0, polls, group)


def polled(
    *records: tuple[int, int], key: str = K, at: float = 3.0, process: str = "r", number: int | None = None
) -> Poll:
    """Of (offset, value)."""
    reads = Reads([offset for offset, _ in records], [value for _, value in records])
    return Poll(process, at - 0.1, at, {key: reads}, number)


def checked(
    transactions: Sequence[Transaction],
    *steps: Poll | Reposition,
    drained: dict[str, int] | None = None,
) -> Findings:
    reading: dict[str, list[Poll | Reposition]] = {}
    for step in (*steps, *(poll for each in transactions for poll in each.polls)):
        reading.setdefault(step.process, []).append(step)
    return check(History(transactions, reading, drained or {}))


def kinds(found: Findings) -> list[Kind]:
    return [each.kind for each in found.anomalies]


def test_transactions_that_are_read_once_and_in_order_are_fine() -> None:
    history = [
        wrote(1, Send(K, 1, 0), Send(L, 2, 0)),
        wrote(2, Send(K, 3, 2), outcome=ABORTED),
        wrote(3, Send(K, 4, 4), outcome=UNKNOWN),
        wrote(4, Send(K, 5, 6)),
    ]
    steps = (
        Reposition("r", 0.0, {K: 0, L: 0}),
        polled((0, 1)),
        polled((0, 2), key=L),
        polled((4, 4), (6, 5)),
        Reposition("r", 3.1, {K: 4}),
        polled((4, 4)),
    )

    found = checked(history, *steps, drained={K: 8, L: 2})

    assert not found.anomalies


def test_unseen_committed_value_is_lost_when_a_later_one_was_read() -> None:
    found = checked([wrote(1, Send(K, 1, 0)), wrote(2, Send(K, 2, 2))], polled((2, 2)))

    assert kinds(found) == [Kind.LOST_WRITE]
    assert "0.1 of source-0 at 0 was never seen, though r had read 2 at 3.0" in str(found.anomalies[0])
    assert "transaction p#1 (committed" in str(found.anomalies[0])


def test_committed_value_beyond_what_was_read_is_not_lost() -> None:
    assert not checked([wrote(1, Send(K, 1, 0)), wrote(2, Send(K, 2, 2))], polled((0, 1))).anomalies


def test_committed_value_without_offset_is_lost_when_everything_was_read() -> None:
    found = checked([wrote(1, Send(K, 1))], drained={K: 5})

    assert kinds(found) == [Kind.LOST_WRITE]


def test_unknown_transaction_of_which_a_part_was_seen_has_lost_the_rest() -> None:
    found = checked(
        [wrote(1, Send(K, 1, 0), Send(L, 2), outcome=UNKNOWN)], polled((0, 1)), drained={K: 2, L: 2}
    )

    assert kinds(found) == [Kind.LOST_WRITE]
    assert found.anomalies[0].values == (2,)
    assert "of which r saw 0.1 of source-0 at 0" in str(found.anomalies[0])


def test_unknown_transaction_of_which_nothing_was_seen_is_fine() -> None:
    found = checked([wrote(1, Send(K, 1, 0), Send(L, 2), outcome=UNKNOWN)], drained={K: 2, L: 2})

    assert not found.anomalies


def test_value_of_an_aborted_transaction_is_an_aborted_read() -> None:
    found = checked([wrote(1, Send(K, 1, 0), outcome=ABORTED)], polled((0, 1)))

    assert kinds(found) == [Kind.ABORTED_READ]
    assert "r polled 0.1 of source-0 at 0, at 3.0" in str(found.anomalies[0])


def test_value_that_was_not_sent_is_reported() -> None:
    assert kinds(checked([], polled((0, 1)))) == [Kind.UNSENT_READ]


def test_value_of_another_partition_is_reported() -> None:
    assert kinds(checked([wrote(1, Send(L, 1))], polled((0, 1)))) == [Kind.UNSENT_READ]


def test_one_value_at_two_offsets_is_a_duplicate() -> None:
    found = checked([wrote(1, Send(K, 1, 0))], polled((0, 1), (1, 1)))

    assert kinds(found) == [Kind.DUPLICATE]
    assert "0.1 is in source-0 at 0 and at 1" in str(found.anomalies[0])


def test_value_that_is_read_elsewhere_than_acknowledged_is_a_duplicate() -> None:
    assert kinds(checked([wrote(1, Send(K, 1, 0))], polled((1, 1)))) == [Kind.DUPLICATE]


def test_two_values_at_one_offset_are_inconsistent() -> None:
    found = checked(
        [wrote(1, Send(K, 1)), wrote(2, Send(K, 2), process="q")],
        polled((0, 1)),
        polled((0, 2), process="s"),
    )

    assert kinds(found) == [Kind.INCONSISTENT_OFFSET]
    assert found.anomalies[0].values == (1, 2)


def test_offset_acknowledged_for_another_value_is_inconsistent() -> None:
    found = checked([wrote(1, Send(K, 1, 0)), wrote(2, Send(K, 2, 0), process="q")], polled((0, 1)))

    assert kinds(found) == [Kind.INCONSISTENT_OFFSET]


THREE = [wrote(number, Send(K, number, 2 * number)) for number in (1, 2, 3)]


def test_poll_that_passes_over_what_another_reader_saw_is_skipped() -> None:
    steps = polled((2, 1)), polled((6, 3), at=4.0), polled((4, 2), process="s")

    found = checked(THREE, *steps)

    assert kinds(found) == [Kind.SKIPPED_POLL]
    assert "coming from 3: it missed 0.2 of source-0 at 4" in str(found.anomalies[0])


def test_first_poll_after_a_seek_that_starts_too_late_is_skipped() -> None:
    steps = Reposition("r", 0.0, {K: 0}), polled((4, 2)), polled((2, 1), process="s")

    assert kinds(checked(THREE, *steps)) == [Kind.SKIPPED_POLL]


def test_skip_within_one_poll_is_internal() -> None:
    assert kinds(checked(THREE, polled((2, 1), (6, 3)), polled((4, 2), process="s"))) == [
        Kind.INTERNAL_SKIPPED_POLL
    ]


def test_poll_that_goes_back_without_a_seek_is_not_monotonic() -> None:
    found = checked(THREE, polled((2, 1), (4, 2)), polled((2, 1)))

    assert kinds(found) == [Kind.NONMONOTONIC_POLL]
    assert "though it had been at 5 already" in str(found.anomalies[0])


def test_poll_after_a_rebalance_may_go_anywhere() -> None:
    steps = polled((2, 1), (4, 2)), Reposition("r", 3.0, {K: None}), polled((2, 1)), polled((4, 2), (6, 3))

    assert not checked(THREE, *steps).anomalies


def test_going_back_within_one_poll_is_internal() -> None:
    assert kinds(checked(THREE, polled((4, 2), (2, 1)))) == [Kind.INTERNAL_NONMONOTONIC_POLL]


def test_swapped_sends_of_one_transaction_are_not_monotonic() -> None:
    found = checked([wrote(1, Send(K, 1, 1), Send(K, 2, 0))], polled((0, 2), (1, 1)))

    assert kinds(found) == [Kind.INTERNAL_NONMONOTONIC_SEND]
    assert found.anomalies[0].values == (1, 2)


def test_later_transaction_of_a_process_that_comes_first_is_not_monotonic() -> None:
    found = checked([wrote(1, Send(K, 1, 5)), wrote(2, Send(K, 2, 3))], polled((3, 2), (5, 1)))

    assert kinds(found) == [Kind.NONMONOTONIC_SEND]


def test_sends_that_are_acknowledged_in_the_wrong_order_are_not_monotonic() -> None:
    found = checked([wrote(1, Send(K, 1, 1), Send(K, 2, 0))])

    assert kinds(found) == [Kind.INTERNAL_NONMONOTONIC_SEND]


def test_sends_that_are_read_in_the_wrong_order_are_not_monotonic() -> None:
    found = checked([wrote(1, Send(K, 1), Send(K, 2))], polled((0, 2), (1, 1)))

    assert kinds(found) == [Kind.INTERNAL_NONMONOTONIC_SEND]
    assert "polled at 1 and 0" in str(found.anomalies[0])


def test_sends_between_the_sends_of_another_are_allowed() -> None:
    found = checked(
        [wrote(1, Send(K, 1, 0), Send(K, 3, 2)), wrote(1, Send(K, 2, 1), process="q")],
        polled((0, 1), (1, 2), (2, 3)),
    )

    assert not found.anomalies
    assert Kind.INTERNAL_SKIPPED_SEND in [each.kind for each in found.allowed]


def test_value_polled_before_its_commit_request_is_reported() -> None:
    found = checked([wrote(1, Send(K, 1, 0), commit_requested=3.5)], polled((0, 1), at=3.0))

    assert kinds(found) == [Kind.READ_BEFORE_COMMIT]
    assert "at 3.000000" in str(found.anomalies[0])
    assert "commit requested at 3.5" in str(found.anomalies[0])


def test_transaction_that_polls_its_own_value_is_a_precommitted_read() -> None:
    own = polled((0, 1), process="p", number=1)

    found = checked([wrote(1, Send(K, 1, 0), polls=(own,))])

    assert kinds(found) == [Kind.PRECOMMITTED_READ]


def test_transactions_that_read_each_other_are_a_cycle() -> None:
    one = wrote(1, Send(K, 1, 0), polls=(polled((0, 2), key=L, process="p", number=1),))
    other = wrote(1, Send(L, 2, 0), polls=(polled((0, 1), process="q", number=1),), process="q")

    found = checked([one, other])

    assert kinds(found) == [Kind.WRITE_READ_CYCLE]
    assert set(found.anomalies[0].values) == {1, 2}
    assert "p#1" in str(found.anomalies[0])
    assert "q#1" in str(found.anomalies[0])


def test_cycle_of_many_transactions_is_found() -> None:
    ring = [
        wrote(
            1,
            Send(K, number, number),
            process=f"p{number}",
            polls=(polled(((number + 1) % 5000, (number + 1) % 5000), process=f"p{number}", number=1),),
        )
        for number in range(5000)
    ]

    found = checked(ring)

    assert kinds(found) == [Kind.WRITE_READ_CYCLE]
    assert len(found.anomalies[0].values) == 5000


def test_transactions_that_write_in_opposite_orders_are_allowed() -> None:
    found = checked(
        [wrote(1, Send(K, 1, 0), Send(L, 2, 1)), wrote(1, Send(K, 3, 1), Send(L, 4, 0), process="q")],
        polled((0, 1), (1, 3)),
        polled((0, 4), (1, 2), key=L),
    )

    assert not found.anomalies
    assert [each.kind for each in found.allowed] == [Kind.WRITE_CYCLE]


def test_reading_who_wrote_after_oneself_is_allowed() -> None:
    read = polled((0, 3), key=L, process="p", number=1)
    found = checked(
        [wrote(1, Send(K, 1, 0), polls=(read,)), wrote(1, Send(K, 2, 1), Send(L, 3, 0), process="q")],
        polled((0, 1), (1, 2)),
    )

    assert not found.anomalies
    assert [each.kind for each in found.allowed] == [Kind.MIXED_CYCLE]


def transformed(number: int, records: Records, result: int, **more: object) -> Transaction:
    """Consumes these of K, sends one to L."""
    poll = polled(*records, process=f"t{number}", number=number)
    outcome = more.get("outcome", COMMITTED)
    assert isinstance(outcome, Outcome)
    return wrote(
        number,
        Send(L, result, number),
        process=f"t{number}",
        polls=(poll,),
        group="g",
        outcome=outcome,
    )


def test_record_in_two_committed_transactions_is_processed_twice() -> None:
    found = checked([*THREE, transformed(1, [(2, 1), (4, 2)], 11), transformed(2, [(4, 2), (6, 3)], 12)])

    assert kinds(found) == [Kind.PROCESSED_TWICE]
    assert found.anomalies[0].values == (2,)


def test_record_that_was_processed_again_after_an_abort_is_fine() -> None:
    again = transformed(2, [(2, 1), (4, 2)], 12)

    assert not checked([*THREE, transformed(1, [(2, 1)], 11, outcome=ABORTED), again]).anomalies
    assert not checked([*THREE, transformed(1, [(2, 1)], 11, outcome=UNKNOWN), again]).anomalies


def test_record_that_the_group_went_past_is_never_processed() -> None:
    results = polled((1, 11), (2, 12), key=L)
    everything = polled((2, 1), (4, 2), (6, 3))
    history = [*THREE, transformed(1, [(2, 1)], 11), transformed(2, [(6, 3)], 12)]

    found = checked(history, results, everything, drained={K: 7, L: 3})

    assert kinds(found) == [Kind.NEVER_PROCESSED]
    assert found.anomalies[0].values == (2,)
