"""Polls and sends go forward: nothing is passed over, nothing comes twice, from one and the same process.

Internal is what happens within a poll, or a transaction; external from one to the next. A reader's position
is known from where it was put (`Reposition`) or from its last poll. A reader that does not know it (after a
rebalance) is not checked until it has polled.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.faults.transactions.anomalies import Anomaly, Kind
from tests.faults.transactions.history import Poll, Reads, Reposition, Send, Transaction
from tests.faults.transactions.observed_log import ObservedLog


def poll_order(log: ObservedLog) -> Iterator[Anomaly]:
    for steps in log.history.reading.values():
        yield from _polls_of_one(log, steps)


def _polls_of_one(log: ObservedLog, steps: Sequence[Poll | Reposition]) -> Iterator[Anomaly]:
    positions: dict[str, int | None] = {}
    for step in steps:
        if isinstance(step, Reposition):
            positions.update(step.offsets)
            continue
        for key, reads in step.reads.items():
            if not reads.offsets:
                continue
            position = positions.get(key)
            if position is not None:
                kinds = Kind.SKIPPED_POLL, Kind.NONMONOTONIC_POLL
                yield from _poll_step(log, step, key, position, reads.offsets[0], kinds)
            yield from _within(log, step, key, reads)
            positions[key] = reads.offsets[-1] + 1


def _within(log: ObservedLog, poll: Poll, key: str, reads: Reads) -> Iterator[Anomaly]:
    kinds = Kind.INTERNAL_SKIPPED_POLL, Kind.INTERNAL_NONMONOTONIC_POLL
    previous = reads.offsets[0]
    for offset in reads.offsets[1:]:
        if offset != previous + 1:
            yield from _poll_step(log, poll, key, previous + 1, offset, kinds)
        previous = offset


def _poll_step(
    log: ObservedLog, poll: Poll, key: str, position: int, offset: int, kinds: tuple[Kind, Kind]
) -> Iterator[Anomaly]:
    skip, backwards = kinds
    who = f"{poll.process} polled {key} at {offset}, at {poll.ended:.6f}"
    if offset < position:
        text = f"{who}, though it had been at {position} already"
        yield Anomaly(backwards, text, (log.value_at[key][offset],))
    elif offset > position:
        missed = log.between(key, position, offset)
        if missed:
            names = ", ".join(log.describe(value) for value in missed[:5])
            more = f" and {len(missed) - 5} more" if len(missed) > 5 else ""
            yield Anomaly(skip, f"{who}, coming from {position}: it missed {names}{more}", tuple(missed))


def send_order(log: ObservedLog) -> Iterator[Anomaly]:
    by_process: defaultdict[str, list[Transaction]] = defaultdict(list)
    for transaction in log.history.transactions:
        by_process[transaction.process].append(transaction)
    for transactions in by_process.values():
        last: dict[str, tuple[Send, Transaction]] = {}
        for transaction in sorted(transactions, key=lambda each: each.number):
            for send in transaction.sends:
                if send.has_failed:
                    continue
                if send.key in last:
                    yield from _send_step(log, *last[send.key], send, transaction)
                last[send.key] = send, transaction


def _send_step(
    log: ObservedLog, earlier: Send, first: Transaction, later: Send, second: Transaction
) -> Iterator[Anomaly]:
    acknowledged, seen = (earlier.offset, later.offset), (log.offset_seen(earlier), log.offset_seen(later))
    known = [pair for pair in (acknowledged, seen) if min(pair) >= 0]
    is_internal = first is second
    both = (earlier.value, later.value)
    if any(after <= before for before, after in known):
        kind = Kind.INTERNAL_NONMONOTONIC_SEND if is_internal else Kind.NONMONOTONIC_SEND
        where = f"acknowledged at {acknowledged[0]} and {acknowledged[1]}, polled at {seen[0]} and {seen[1]}"
        text = f"{log.describe(earlier.value)} was sent before {log.describe(later.value)}; {where}: {first}"
        yield Anomaly(kind, text if is_internal else f"{text}, {second}", both)
    elif known and log.between(later.key, known[0][0] + 1, known[0][1]):
        kind = Kind.INTERNAL_SKIPPED_SEND if is_internal else Kind.SKIPPED_SEND
        yield Anomaly(kind, f"{log.describe(earlier.value)}, then {log.describe(later.value)}", both)
