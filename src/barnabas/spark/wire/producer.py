"""Producing rows: idempotent by default, in transactions if it has a transactional id.

`send` encodes at once and returns soon; it waits only while more than `buffer_memory` is unanswered. What
goes wrong is raised by a later `send`, or by `flush`, after which everything sent is on the brokers. An error
that is raised is the end of this producer: what was not delivered before is not delivered; a transaction can
still be aborted. After `attend` a thread of the producer goes on between two calls (`network_thread`): the
time until the next `send` does not matter then. All methods are for one thread.

Rows of one partition arrive in the order in which they were sent, and an idempotent producer delivers none
twice, whatever happens to connections and brokers in between.
"""

import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, ClientError
from barnabas.spark.wire.attempts import tried
from barnabas.spark.wire.identity import NO_PRODUCER, ProducerIdentity, idempotent_identity
from barnabas.spark.wire.network_thread import NetworkThread
from barnabas.spark.wire.outbox import Outbox
from barnabas.spark.wire.pending_batch import PendingBatch, sequence_after
from barnabas.spark.wire.produce_lane import Terms
from barnabas.spark.wire.produce_settings import ProduceSettings, check_produce_settings
from barnabas.spark.wire.transaction import FENCED, Transaction
from barnabas.wire.client_produce import BEFORE_IMPLICIT_ADD, NEWEST
from barnabas.wire.outgoing_request import Buffer

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

    def __init__(
        self,
        cluster: Cluster,
        settings: ProduceSettings,
        *,
        encode: Encoder | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`encode` is that of `arrow.record_batches`, if none is given. Raises BadSettings."""
        check_produce_settings(settings)
        self._cluster: Cluster = cluster
        self._settings: ProduceSettings = settings
        self._encode: Encoder = encode or _arrow_encoder()
        self._clock: Callable[[], float] = clock
        self._identity: ProducerIdentity | None = None
        self._transaction: Transaction | None = None
        self._outbox: Outbox | None = None
        self._batch_bytes: dict[str, int] = {}
        self._failure: Exception | None = None
        self._unsent: int = 0
        self._lock: threading.RLock = threading.RLock()
        """Held by the thread that uses the cluster."""
        self._thread: NetworkThread = NetworkThread(self._drive)
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
        self._thread.close()
        if self._outbox is not None:
            self._outbox.close()

    # --- records ---------------------------------------------------------------------------------------

    def partition_count(self, topic: str) -> int:
        """Of a topic that this request creates, if brokers allow it (`auto.create.topics.enable`)."""
        return self._guarded(lambda: self._partition_count(self._ready(), topic))

    def send(self, topic: str, partition: int, columns: "RowColumns") -> int:
        """How many rows. Raises what went wrong with them, or with earlier ones."""
        return self._guarded(lambda: self._send(topic, partition, columns))

    def attend(self) -> None:
        """The next call may take long to come: send and receive meanwhile, from now on."""
        self._thread.maybe_start()

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
        """(producer id, epoch): with these any process can end the transaction (`end_transaction`)."""
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

    def commit(self) -> None:
        """Flush and commit, and be ready for the next transaction."""
        transaction = self._transactional()
        self.flush()
        outbox = self._outbox
        if outbox is None or not transaction.is_open:
            return
        identity = transaction.end(commit=True)
        if identity != self._identity:
            self._identity = identity
            outbox.begin_anew(identity)

    def abort(self) -> None:
        """Abort the transaction, also after a failure, and be ready for the next one.

        Before KIP-890 (transaction version 2) a broker takes a request that arrives after the end of its
        transaction for the begin of the next one. So the requests in flight are awaited first. If one of them
        stays without an answer, the transaction is aborted by raising the epoch: its markers carry the new
        epoch then, and brokers refuse what comes with the old one.
        """
        transaction = self._transactional()
        with self._lock:
            outbox, self._outbox = self._outbox, None  # the next transaction begins with a new epoch
            failure, self._failure = self._failure, None
            if outbox is None:
                return
            is_settled = outbox.abandon()
            if not transaction.is_open:
                return
            is_fenced = isinstance(failure, BrokerError) and failure.code in FENCED
            if is_settled or is_fenced or transaction.is_version_2:
                transaction.end(commit=False)
            else:
                transaction.fence()

    # --- inside ----------------------------------------------------------------------------------------

    def _guarded(self, action: Callable[[], T]) -> T:
        """A failure is final: what the brokers have of the batches in flight is not known any more."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            try:
                return action()
            except ClientError as error:
                self._failure = error
                raise

    def _drive(self) -> None:
        """In the producer's thread: settle what is answered, send what may leave, never wait for rows."""
        if not self._lock.acquire(blocking=False):
            return  # the owner is at it
        try:
            outbox = self._outbox
            if self._failure is None and outbox is not None:
                while not outbox.is_empty and outbox.step(wait=False):
                    pass
        except Exception as error:  # noqa: BLE001 - the owner's next call raises it
            self._failure = error
        finally:
            self._lock.release()

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
        deadline = outbox.now() + self._settings.delivery_timeout
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
            self._outbox = Outbox(self._cluster, settings, terms, clock=self._clock)
        return self._outbox

    def _new_identity(self) -> ProducerIdentity:
        if self._transaction is not None:
            return self._transaction.begin()
        if not self._settings.is_idempotent:
            return NO_PRODUCER
        timeout, backoff = self._cluster.settings.api_timeout, self._settings.retry_backoff
        return idempotent_identity(self._cluster, timeout=timeout, backoff=backoff)

    def _transactional(self) -> Transaction:
        if self._transaction is None:
            raise RuntimeError("a producer without transactional.id has no transactions")
        return self._transaction


def _arrow_encoder() -> Encoder:
    from barnabas.spark.arrow.record_batches import encode

    return encode
