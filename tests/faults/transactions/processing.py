"""Exactly once: of what a group reads, each record is in one committed transaction, and in one only.

It holds for clients that commit their offsets in the transaction that sends the results. A transaction of
unknown outcome of whose results nothing was seen counts as aborted once everything was read; as no reader can
tell before, what was never processed is looked for in drained histories only.
"""

from collections import defaultdict
from collections.abc import Iterator

from tests.faults.transactions.anomalies import Anomaly, Kind
from tests.faults.transactions.history import Transaction, named
from tests.faults.transactions.observed_log import ObservedLog

_Processed = dict[int, Transaction]
"""By offset."""


def processing(log: ObservedLog) -> Iterator[Anomaly]:
    by_partition: defaultdict[tuple[str, str], _Processed] = defaultdict(dict)
    for transaction in log.history.transactions:
        if transaction.group is None or not log.is_committed(transaction):
            continue
        for poll in transaction.polls:
            for key, reads in poll.reads.items():
                processed = by_partition[transaction.group, key]
                for offset, value in zip(reads.offsets, reads.values, strict=True):
                    other = processed.setdefault(offset, transaction)
                    if other is not transaction:
                        text = f"{named(value)} of {key} at {offset}, by {transaction} and by {other}"
                        yield Anomaly(Kind.PROCESSED_TWICE, text, (value,))
    for (group, key), processed in by_partition.items():
        if log.history.drained:
            yield from _never(log, group, key, processed)


def _never(log: ObservedLog, group: str, key: str, processed: _Processed) -> Iterator[Anomaly]:
    furthest = max(processed)
    for offset in log.committed_offsets(key):
        if offset < furthest and offset not in processed:
            value = log.value_at[key][offset]
            text = f"{log.describe(value)}, though {group} has processed {furthest}: {processed[furthest]}"
            yield Anomaly(Kind.NEVER_PROCESSED, text, (value,))
