"""Finds what a history shows that Kafka's transactions must not do, in the manner of Jepsen's Kafka workload.

A pure function over the history: `check(history)`. Every reader is one of read_committed. What is looked for
is listed in `anomalies.py`; each case names values, offsets, transactions and times.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.faults.transactions.anomalies import ALLOWED, Anomaly, Kind
from tests.faults.transactions.cycles import cycles
from tests.faults.transactions.history import History, Outcome, Poll, Transaction, named
from tests.faults.transactions.observed_log import ObservedLog
from tests.faults.transactions.order import poll_order, send_order
from tests.faults.transactions.processing import processing


@dataclass(frozen=True, slots=True)
class Findings:
    anomalies: Sequence[Anomaly]
    allowed: Sequence[Anomaly]

    @property
    def kinds(self) -> Counter[Kind]:
        return Counter(each.kind for each in self.anomalies)

    def __str__(self) -> str:
        head = ", ".join(f"{count} x {kind.value}" for kind, count in self.kinds.items())
        return "\n".join([head or "no anomalies", *map(str, self.anomalies[:40])])


def check(history: History) -> Findings:
    log = ObservedLog(history)
    found = [
        *log.contradictions,
        *_lost_writes(log),
        *_bad_reads(log),
        *_precommitted_reads(history),
        *poll_order(log),
        *send_order(log),
        *cycles(log),
        *processing(log),
    ]
    return Findings(
        [each for each in found if each.kind not in ALLOWED], [each for each in found if each.kind in ALLOWED]
    )


def _lost_writes(log: ObservedLog) -> Iterator[Anomaly]:
    """Committed, never seen, and a reader has been further than that."""
    furthest: dict[str, tuple[int, Poll]] = {}
    for poll in log.polls():
        for key, reads in poll.reads.items():
            last = max(reads.offsets, default=-1)
            if key not in furthest or furthest[key][0] < last:
                furthest[key] = last, poll
    for value, (transaction, send) in log.writer_of.items():
        if value in log.seen or send.has_failed or not log.is_committed(transaction):
            continue
        if send.key in log.history.drained:
            how = f"everything up to {log.history.drained[send.key]} was read at the end"
        elif send.key in furthest and 0 <= send.offset < furthest[send.key][0]:
            last, poll = furthest[send.key]
            how = f"{poll.process} had read {last} at {poll.ended:.6f}"
        else:
            continue
        text = f"{log.describe(value)} was never seen, though {how}: {transaction}{_why(log, transaction)}"
        yield Anomaly(Kind.LOST_WRITE, text, (value,))


def _why(log: ObservedLog, transaction: Transaction) -> str:
    witness = log.witness(transaction)
    if transaction.outcome is Outcome.COMMITTED or witness is None:
        return ""
    poll, offset = log.seen[witness.value]
    return f", of which {poll.process} saw {named(witness.value)} of {witness.key} at {offset}"


def _bad_reads(log: ObservedLog) -> Iterator[Anomaly]:
    """Of what was not sent, of what is aborted, of what is not committed yet."""
    reported: set[int] = set()
    for poll in log.polls():
        for key, reads in poll.reads.items():
            for offset, value in zip(reads.offsets, reads.values, strict=True):
                anomaly = None if value in reported else _bad_read(log, poll, key, offset, value)
                if anomaly is not None:
                    reported.add(value)
                    yield anomaly


def _bad_read(log: ObservedLog, poll: Poll, key: str, offset: int, value: int) -> Anomaly | None:
    who = f"{poll.process} polled {named(value)} of {key} at {offset}, at {poll.ended:.6f}"
    writer = log.writer_of.get(value)
    if writer is None or writer[1].key != key:
        return Anomaly(Kind.UNSENT_READ, who, (value,))
    transaction = writer[0]
    if transaction.outcome is Outcome.ABORTED:
        return Anomaly(Kind.ABORTED_READ, f"{who}: {transaction}", (value,))
    if transaction.commit_requested is not None and poll.ended < transaction.commit_requested:
        return Anomaly(Kind.READ_BEFORE_COMMIT, f"{who}: {transaction}", (value,))
    return None


def _precommitted_reads(history: History) -> Iterator[Anomaly]:
    """A transaction sees its own values: it reads committed ones only, and they are not yet."""
    for transaction in history.transactions:
        own = {send.value for send in transaction.sends}
        for poll in transaction.polls:
            for key, reads in poll.reads.items():
                for offset, value in zip(reads.offsets, reads.values, strict=True):
                    if value in own:
                        text = f"{transaction} polled its own {named(value)} of {key} at {offset}"
                        yield Anomaly(Kind.PRECOMMITTED_READ, text, (value,))
