"""Guards of first batches: transactions that a partition is asked to begin and the coordinator must confirm.

Between the coordinator's "yes" and the append a marker may end the transaction; a batch written behind it
would stay open for ever. So whoever asks takes a guard first, a marker removes it, and only the guard that is
still in place lets the batch in (Kafka's VerificationGuard). A new guard is another object: an answer that
belongs to an earlier transaction of the producer opens nothing.

A guard also remembers the lowest sequence it was asked for. If that batch is put off (the coordinator could
not answer), later ones of the same producer must not be stored before it.

Only guards of producers with nothing open here exist: the first batch of a transaction removes them as well.
In memory only; whoever leads after this broker begins without any.
"""

from barnabas.base.errors import OutOfOrderSequence
from barnabas.records.batch import BatchHeader


class Guard:
    """One producer's wish to begin a transaction. Compared by identity."""

    __slots__ = ("adds_partition", "created_ms", "epoch", "lowest_sequence")

    def __init__(self, header: BatchHeader, *, adds_partition: bool, now_ms: int) -> None:
        self.epoch: int = header.producer_epoch
        self.lowest_sequence: int = header.base_sequence
        self.adds_partition: bool = adds_partition
        """A client of transaction version 2: every transaction has an epoch of its own (KIP-890)."""
        self.created_ms: int = now_ms

    def note(self, header: BatchHeader) -> None:
        """Another batch asks too; a newer epoch counts its sequences anew."""
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
        """The producer's guard, made when there is none."""
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
        """A transaction ended: what was confirmed before does not count any more.

        Except for the epoch that a marker of version 2 begins: the client has been told it with the answer to
        EndTxn, and may ask for its next transaction before the markers of the last one are all written.
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
