"""Producing rows: idempotent by default, in transactions if it has a transactional id.

`send` encodes at once and returns soon; it waits only while more than `buffer_memory` is unanswered. What
goes wrong is raised by a later `send`, or by `flush`, after which everything sent is on the brokers. An error
that is raised is the end of this producer: what was not delivered before is not delivered; a transaction can
still be aborted.

Rows of one partition arrive in the order in which they were sent, and an idempotent producer delivers none
twice, whatever happens to connections and brokers in between.
"""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BadSettings, ClientError
from barnabas.client.outgoing import Buffer
from barnabas.spark.wire.attempts import tried
from barnabas.spark.wire.identity import NOBODY, ProducerIdentity, idempotent_identity
from barnabas.spark.wire.outbox import Outbox
from barnabas.spark.wire.pending_batch import PendingBatch, sequence_after
from barnabas.spark.wire.produce_codec import BEFORE_IMPLICIT_ADD, NEWEST
from barnabas.spark.wire.produce_lane import Terms
from barnabas.spark.wire.produce_settings import ACKS_ALL, MOST_IN_FLIGHT, ProduceSettings
from barnabas.spark.wire.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.spark.arrow.record_batches import RowColumns

__all__ = ["Producer", "ProduceSettings"]

_LEAST_BATCH = 16_384
T = TypeVar("T")


class Encoded(Protocol):
    """The part of `arrow.record_batches.EncodedBatch` that is needed here."""

    @property
    def head(self) -> bytes: ...
    @property
    def body(self) -> Buffer: ...
    @property
    def count(self) -> int: ...


Encoder = Callable[..., "Sequence[Encoded]"]


class Producer:
    """Use it with `with`, or `close` it: connections go back to the cluster, nothing is flushed then."""

    def __init__(self, cluster: Cluster, settings: ProduceSettings, *, encode: Encoder | None = None) -> None:
        """`encode` is that of `arrow.record_batches`, if none is given. Raises BadSettings."""
        _check(settings)
        self._cluster: Cluster = cluster
        self._settings: ProduceSettings = settings
        self._encode: Encoder = encode or _arrow_encoder()
        self._identity: ProducerIdentity | None = None
        self._transaction: Transaction | None = None
        self._outbox: Outbox | None = None
        self._batch_bytes: dict[str, int] = {}
        self._failure: ClientError | None = None
        self._unsent: int = 0
        if settings.transactional_id is not None:
            self._transaction = Transaction(
                cluster,
                settings.transactional_id,
                timeout_ms=settings.transaction_timeout_ms,
                patience=cluster.settings.api_timeout,
                backoff=settings.retry_backoff,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._outbox is not None:
            self._outbox.close()

    # --- records ---------------------------------------------------------------------------------------

    def partition_count(self, topic: str) -> int:
        """Of a topic that is created by this question, where brokers are set so."""
        return self._guarded(lambda: self._partition_count(self._ready(), topic))

    def send(self, topic: str, partition: int, columns: "RowColumns") -> int:
        """How many rows. Raises what went wrong with them, or with earlier ones."""
        return self._guarded(lambda: self._send(topic, partition, columns))

    def flush(self) -> None:
        """Everything sent so far is on the brokers when this returns."""
        self._guarded(self._flush)

    # --- transactions ----------------------------------------------------------------------------------

    def init(self) -> ProducerIdentity:
        """Become the only producer of the transactional id; or get an id for an idempotent one."""
        self._guarded(self._ready)
        return self.identity

    @property
    def identity(self) -> ProducerIdentity:
        """(producer id, epoch): with these anybody can end the transaction (`end_transaction`)."""
        if self._identity is None:
            raise RuntimeError("init() comes before anything else")
        return self._identity

    @property
    def is_version_2(self) -> bool:
        """Whether partitions join the transaction by being written to (KIP-890)."""
        return self._transaction is not None and self._transaction.is_version_2

    def send_offsets(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """With the transaction: for each partition the next offset of the group, and a remark."""
        transaction = self._transactional()
        self._guarded(self._ready)
        self._guarded(lambda: transaction.send_offsets(group, offsets))

    def end(self, *, commit: bool) -> None:
        """Flush and commit, or abort, and be ready for the next transaction."""
        transaction = self._transactional()
        if commit:
            self.flush()
        outbox = self._outbox
        if outbox is None or not transaction.is_open:
            return
        if not commit:
            outbox.abandon()
        identity = transaction.end(commit=commit)
        if not commit:
            self._outbox = None  # what arrived of it is not known: the next one begins with a new epoch
        elif identity != self._identity:
            self._identity = identity
            outbox.begin_anew(identity)

    # --- inside ----------------------------------------------------------------------------------------

    def _guarded(self, action: Callable[[], T]) -> T:
        """A failure is final: what the brokers have of the batches in flight is not known any more."""
        if self._failure is not None:
            raise self._failure
        try:
            return action()
        except ClientError as error:
            self._failure = error
            raise

    def _send(self, topic: str, partition: int, columns: "RowColumns") -> int:
        outbox = self._ready()
        queue = outbox.queue(topic, partition, self.identity)
        batches = self._encode(
            columns,
            codec=self._settings.codec,
            producer_id=queue.identity.producer_id,
            producer_epoch=queue.identity.epoch,
            base_sequence=queue.next_sequence,
            is_transactional=self._transaction is not None,
            batch_bytes=self._batch_size(outbox, topic),
        )
        if not batches:
            return 0
        if self._transaction is not None:
            self._partition_count(outbox, topic)  # a topic that is not there cannot be added
            self._transaction.add([(topic, partition)])
        deadline = time.monotonic() + self._settings.delivery_timeout
        sequence, pending = queue.next_sequence, []
        for batch in batches:
            pending.append(PendingBatch(batch.head, batch.body, batch.count, sequence, deadline))
            sequence = sequence_after(sequence, batch.count)
        outbox.put(queue, pending)
        self._unsent += sum(batch.size for batch in pending)
        if self._unsent >= self._settings.batch_bytes:
            self._unsent = 0
            outbox.step(wait=False)
        while outbox.unanswered > self._settings.buffer_memory:
            outbox.step(wait=True)
        return sum(batch.count for batch in pending)

    def _partition_count(self, outbox: Outbox, topic: str) -> int:
        return tried(
            self._cluster,
            lambda: len(outbox.view(topic).leaders),
            timeout=self._settings.delivery_timeout,
            backoff=self._settings.retry_backoff,
        )

    def _flush(self) -> None:
        outbox = self._outbox
        while outbox is not None and not outbox.is_empty:
            outbox.step(wait=True)
        self._unsent = 0

    def _batch_size(self, outbox: Outbox, topic: str) -> int:
        """Smaller for a topic whose broker found batches too large: splitting them one by one is slow."""
        if topic in outbox.split_topics:
            outbox.split_topics.discard(topic)
            now = self._batch_bytes.get(topic, self._settings.batch_bytes)
            self._batch_bytes[topic] = max(now // 2, min(now, _LEAST_BATCH))
        return self._batch_bytes.get(topic, self._settings.batch_bytes)

    def _ready(self) -> Outbox:
        if self._outbox is None:
            self._identity = self._new_identity()
            settings = self._settings
            terms = Terms(
                settings.acks,
                int(settings.request_timeout * 1000),
                settings.transactional_id,
                BEFORE_IMPLICIT_ADD if self._transaction and not self._transaction.is_version_2 else NEWEST,
            )
            self._outbox = Outbox(self._cluster, settings, terms)
        return self._outbox

    def _new_identity(self) -> ProducerIdentity:
        if self._transaction is not None:
            return self._transaction.begin()
        if not self._settings.is_idempotent:
            return NOBODY
        timeout, backoff = self._cluster.settings.api_timeout, self._settings.retry_backoff
        return idempotent_identity(self._cluster, timeout=timeout, backoff=backoff)

    def _transactional(self) -> Transaction:
        if self._transaction is None:
            raise RuntimeError("a producer without transactional.id has no transactions")
        return self._transaction


def _check(settings: ProduceSettings) -> None:
    """The combinations that Kafka's producer refuses."""
    if settings.acks not in (-1, 0, 1):
        raise BadSettings(f"acks={settings.acks}: expected all, -1, 0 or 1")
    if not settings.is_idempotent and settings.transactional_id is not None:
        raise BadSettings("Cannot set a transactional.id without also enabling idempotence.")
    if settings.is_idempotent and settings.acks != ACKS_ALL:
        raise BadSettings("Must set acks to all in order to use the idempotent producer.")
    if settings.is_idempotent and settings.max_in_flight > MOST_IN_FLIGHT:
        raise BadSettings(
            "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer."
        )


def _arrow_encoder() -> Encoder:
    from barnabas.spark.arrow.record_batches import encode

    return encode
