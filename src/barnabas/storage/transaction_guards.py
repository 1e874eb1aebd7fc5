"""Verification guards: transactions that begin in a partition and that the coordinator has yet to verify.

A marker may end the transaction between the coordinator's response and the append. A batch appended after
the marker would leave a transaction open for ever. So a guard is taken before the coordinator is queried, a
marker removes it, and a batch is appended only if its guard is still present (Kafka's VerificationGuard). A
new guard is another object: a response that belongs to an earlier transaction of the producer verifies
nothing.

A guard also keeps the lowest sequence that was verified with it. If that batch is rejected because the
coordinator could not respond, later batches of the same producer must not be stored before it.

Guards exist only for producers without an open transaction in the partition: the first batch of a transaction
removes them too. Guards are kept in memory only. The next leader of the partition begins without any.
"""

from barnabas.base.errors import OutOfOrderSequence
from barnabas.records.batch import BatchHeader


class Guard:
    """The verification of one producer's transaction. Compared by identity."""

    __slots__ = ("adds_partition", "created_ms", "epoch", "lowest_sequence")

    def __init__(self, header: BatchHeader, *, adds_partition: bool, now_ms: int) -> None:
        self.epoch: int = header.producer_epoch
        self.lowest_sequence: int = header.base_sequence
        self.adds_partition: bool = adds_partition
        """A client of transaction version 2: every transaction has an epoch of its own (KIP-890)."""
        self.created_ms: int = now_ms

    def note(self, header: BatchHeader) -> None:
        """Another batch is verified too; a newer epoch counts its sequences anew."""
        epoch, sequence = header.producer_epoch, header.base_sequence
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)

    def check_sequence(self, header: BatchHeader, *, is_first: bool) -> None:
        """Refuse a batch that would overtake an earlier one. `is_first`: the log knows none of its epoch."""
        sequence = header.base_sequence
        if self.adds_partition and is_first and sequence != 0:
            raise OutOfOrderSequence(
                f"producer {header.producer_id}, unknown here, begins with sequence {sequence}, not with 0"
            )
        if sequence > self.lowest_sequence:
            raise OutOfOrderSequence(
                f"producer {header.producer_id} sent sequence {sequence} before {self.lowest_sequence}"
            )


class TransactionGuards:
    """The guards of one log, by producer id."""

    __slots__ = ("_guards",)

    def __init__(self) -> None:
        self._guards: dict[int, Guard] = {}

    def __len__(self) -> int:
        return len(self._guards)

    def take(self, header: BatchHeader, *, adds_partition: bool, now_ms: int) -> Guard:
        """Returns the producer's guard. Creates one if there is none."""
        guard = self._guards.get(header.producer_id)
        if guard is None:
            guard = Guard(header, adds_partition=adds_partition, now_ms=now_ms)
            self._guards[header.producer_id] = guard
        else:
            guard.note(header)
        return guard

    def get(self, producer_id: int) -> Guard | None:
        return self._guards.get(producer_id)

    def on_batch(self, producer_id: int) -> None:
        """The transaction has begun here: its first offset is what counts from now on."""
        self._guards.pop(producer_id, None)

    def on_marker(self, producer_id: int, epoch: int) -> None:
        """A transaction ended: verifications from before are void.

        Except for the epoch that a marker of version 2 begins: the client got it with the response to EndTxn,
        and may begin its next transaction before all markers of the last one are written.
        """
        guard = self._guards.get(producer_id)
        if guard is not None and not (guard.adds_partition and guard.epoch == epoch):
            del self._guards[producer_id]

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        for producer_id, guard in list(self._guards.items()):
            if now_ms - guard.created_ms >= expiration_ms:
                del self._guards[producer_id]

    def clear(self) -> None:
        self._guards.clear()
