"""The batches of one partition, in the order of their sequences, from `send` until they are answered.

Invariants: batches leave in order and are answered in order, since all in flight are with one broker. After
a failure nothing more leaves before every answer has come in; then those that failed leave again, in the same
order and with the same sequences, so that the broker knows the ones it has got. They leave one at a time: a
broker knows a producer's last five batches, and one that it wrote and that newer ones push out of that memory
would be written twice. The very first batch leaves alone too: a broker that knows nothing of a producer takes
any sequence from it, and the second batch must not be taken for the first. No I/O is here.
"""

from collections import deque
from collections.abc import Iterable

from barnabas.client.errors import ClientError
from barnabas.spark.wire.identity import ProducerIdentity
from barnabas.spark.wire.pending_batch import NO_SEQUENCE, PendingBatch


class PartitionQueue:
    def __init__(self, topic: str, partition: int, identity: ProducerIdentity) -> None:
        self.topic: str = topic
        self.partition: int = partition
        self.identity: ProducerIdentity = identity
        self.next_sequence: int = 0 if identity.producer_id >= 0 else NO_SEQUENCE
        self.node: int | None = None
        """The broker that has what is in flight."""
        self.retry_at: float = 0.0
        self.failures: int = 0
        """In a row."""
        self.last_error: ClientError | None = None
        self.is_doubtful: bool = False
        """A connection broke with batches in flight: they may be written or not."""
        self.last_offset: int = -1
        """The highest known to be written."""
        self._waiting: deque[PendingBatch] = deque()
        self._in_flight: deque[PendingBatch] = deque()
        self._failed: deque[PendingBatch] = deque()
        self._renewed: ProducerIdentity | None = None
        self._again: int = 0
        """How many of those to be answered have left before."""
        self._is_known: bool = False
        """Whether the broker has a batch of this identity."""

    @property
    def is_empty(self) -> bool:
        return not (self._waiting or self._in_flight or self._failed)

    @property
    def has_in_flight(self) -> bool:
        return bool(self._in_flight)

    @property
    def is_first_failure(self) -> bool:
        """Whether every batch before the one that is answered now was written."""
        return not self._failed

    @property
    def is_resent(self) -> bool:
        """Whether the one that is answered has left before: what became of it then is not known."""
        return self._again > 0

    def append(self, batches: Iterable[PendingBatch]) -> None:
        """In the order of `next_sequence`, which goes on behind them."""
        for batch in batches:
            self._waiting.append(batch)
            self.next_sequence = batch.next_sequence

    def head(self) -> PendingBatch | None:
        """The one to send next; None while answers must come first."""
        if not self._waiting or self._failed:
            return None
        is_alone = self._again > 0 or not self._is_known
        return None if is_alone and self._in_flight else self._waiting[0]

    def sent(self, node: int) -> PendingBatch:
        self.node = node
        self._in_flight.append(self._waiting.popleft())
        return self._in_flight[-1]

    # --- answers, in the order of what was sent --------------------------------------------------------

    def delivered(self, offset: int) -> None:
        batch = self._in_flight.popleft()
        if offset >= 0:
            self.last_offset = max(self.last_offset, offset + batch.count - 1)
        self.failures = 0
        self.last_error = None
        self._is_known = True
        self._again = max(self._again - 1, 0)
        self._maybe_resume()

    def failed(
        self, error: ClientError, retry_at: float, *, renewed: ProducerIdentity | None = None
    ) -> PendingBatch:
        """It goes again, not before `retry_at`; as `renewed`, if one is given, from sequence 0 on."""
        batch = self._in_flight.popleft()
        if not self._failed:
            self.failures += 1
            self.last_error = error
            self.retry_at = retry_at
        if renewed is not None:
            self._renewed = renewed
        self._failed.append(batch)
        self._maybe_resume()
        return batch

    def split(self) -> int:
        """The one that is answered goes again in two halves; returns how many bytes more these are."""
        batch = self._in_flight.popleft()
        halves = batch.halves()
        self._failed.extend(halves)
        self._maybe_resume()
        return sum(half.size for half in halves) - batch.size

    def oldest(self) -> PendingBatch:
        """The one that is answered next."""
        return self._in_flight[0]

    def begin_anew(self, identity: ProducerIdentity) -> None:
        """All that waits gets this identity, and sequences from 0. Nothing may be in flight."""
        self.identity = identity
        self.next_sequence = 0
        self._is_known = False
        waiting, self._waiting = self._waiting, deque()
        for batch in waiting:
            self.append([batch.with_producer(identity, self.next_sequence)])

    def _maybe_resume(self) -> None:
        if self._in_flight or not self._failed:
            return
        self._again = max(self._again - 1, 0) + len(self._failed)
        self._waiting.extendleft(reversed(self._failed))
        self._failed.clear()
        if self._renewed is not None:
            self.begin_anew(self._renewed)
            self._renewed = None
