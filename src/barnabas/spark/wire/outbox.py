"""Batches in flight: which are sent when, to which broker, and how each response is handled.

One step (`step`) finds leaders, sends batches that are ready, and handles the responses that have arrived. A
caller that waits calls it until nothing is left. Only the time in which steps are made counts for deadlines:
a response that arrived while the process was stopped is not lost. A request carries at most one batch of a
partition, and several partitions of one broker. A broker has at most `max_in_flight` requests. A broken
connection, or an unreachable broker, fails all its batches: they are sent again, in order, when the leader is
known again.
"""

import time
from collections.abc import Callable, Iterable

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.cluster import Cluster
from barnabas.client.connection import arrived
from barnabas.client.errors import BrokerError, ClientError, TimedOut, Unreachable
from barnabas.spark.wire.attempts import LONGEST_PAUSE, is_retriable, tried
from barnabas.spark.wire.errors import RecordTooLarge, Undelivered
from barnabas.spark.wire.identity import ProducerIdentity
from barnabas.spark.wire.partition_queue import PartitionQueue
from barnabas.spark.wire.pending_batch import PendingBatch
from barnabas.spark.wire.produce_lane import ProduceLane, Terms
from barnabas.spark.wire.produce_settings import ProduceSettings
from barnabas.spark.wire.topic_view import TopicView, view_topic
from barnabas.spark.wire.verdict import OUT_OF_ORDER, Verdict, verdict_on
from barnabas.spark.wire.written_batch import written_at
from barnabas.wire.client_produce import Produced

_LONGEST_WAIT = 1.0
_LAST_EPOCH = 2**15 - 1
_UNATTENDED = 5.0
"""Between two steps that are further apart, in seconds, the process was not running."""
_DRAINED_WITHIN = 5.0
"""How long requests in flight are awaited before a transaction is aborted, in seconds."""


class Outbox:
    def __init__(
        self,
        cluster: Cluster,
        settings: ProduceSettings,
        terms: Terms,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.unanswered: int = 0
        """Bytes of batches that are not delivered yet."""
        self.split_topics: set[str] = set()
        """Whose batches turned out too large, since this was last emptied."""
        self._cluster: Cluster = cluster
        self._settings: ProduceSettings = settings
        self._terms: Terms = terms
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._busy: dict[TopicPartition, PartitionQueue] = {}
        self._lanes: dict[int, ProduceLane] = {}
        self._views: dict[str, TopicView] = {}
        self._stale: set[str] = set()
        self._clock: Callable[[], float] = clock
        self._unattended: float = 0.0
        self._last_step: float = clock()

    def now(self) -> float:
        """By a clock that stands still while no steps are made."""
        return self._clock() - self._unattended

    def queue(self, topic: str, partition: int, identity: ProducerIdentity) -> PartitionQueue:
        """Created with this identity, if it does not exist yet."""
        topic_partition = topic, partition
        if topic_partition not in self._queues:
            self._queues[topic_partition] = PartitionQueue(topic, partition, identity)
        return self._queues[topic_partition]

    def put(self, queue: PartitionQueue, batches: Iterable[PendingBatch]) -> None:
        batches = list(batches)
        queue.append(batches)
        self.unanswered += sum(batch.size for batch in batches)
        self._busy[queue.topic, queue.partition] = queue

    def begin_anew(self, identity: ProducerIdentity) -> None:
        """A new epoch from the coordinator: sequences begin at 0 in every partition."""
        for queue in self._queues.values():
            queue.begin_anew(identity)

    @property
    def is_empty(self) -> bool:
        return not self._busy

    def view(self, topic: str) -> TopicView:
        """Of a topic that the request may create. Raises retriable errors, too."""
        if topic not in self._views or topic in self._stale:
            self._views[topic] = view_topic(self._cluster, topic, is_creating=True)
            self._stale.discard(topic)
        return self._views[topic]

    def step(self, *, wait: bool) -> bool:
        """Send what may leave, settle what is answered; with `wait`, until something could be done.

        Returns whether something was. Raises the first error that is not retriable.
        """
        gap = self._clock() - self._last_step
        if gap > _UNATTENDED:
            self._unattended += gap
        else:
            self._expire()
        try:
            return self._step(wait=wait)
        finally:
            self._last_step = self._clock()

    def _step(self, *, wait: bool) -> bool:
        has_sent = self._dispatch()
        timeout = self._pause() if wait and not has_sent else 0.0
        lanes = {lane.connection: lane for lane in self._lanes.values() if lane.requests}
        if not lanes:
            time.sleep(timeout)
            return has_sent
        answered = arrived(list(lanes), timeout)
        for connection in answered:
            self._receive(lanes[connection])
        now = time.monotonic()
        for connection, lane in lanes.items():
            if connection.is_open and connection.is_overdue(now) and not connection.has_arrived(0.0):
                self._receive(lane)
        return has_sent or bool(answered)

    def abandon(self) -> bool:
        """Await what is in flight, for a moment, and drop the rest.

        Returns whether every request that left was answered: nothing of them can arrive any more then.
        """
        is_settled = not any(queue.is_resent for queue in self._busy.values())
        deadline = time.monotonic() + _DRAINED_WITHIN
        while waiting := {each.connection: each for each in self._lanes.values() if each.requests}:
            answered = arrived(list(waiting), max(deadline - time.monotonic(), 0.0))
            if not answered:
                is_settled = False
                break
            for connection in answered:
                try:
                    waiting[connection].receive()
                except ClientError:
                    waiting[connection].requests.clear()
                    is_settled = False
        self._busy.clear()
        self.close()
        return is_settled

    def close(self) -> None:
        for lane in self._lanes.values():
            self._cluster.give_back(lane.connection)
        self._lanes.clear()

    # --- leaving ---------------------------------------------------------------------------------------

    def _dispatch(self) -> bool:
        """Whether anything left."""
        ready: dict[int, list[PartitionQueue]] = {}
        now = time.monotonic()
        for queue in list(self._busy.values()):
            if queue.head() is None or now < queue.retry_at:
                continue
            node = self._leader(queue)
            if node is not None and queue.is_doubtful and not self._resolve(queue, node):
                continue
            if (
                queue.head() is not None
                and node is not None
                and (not queue.has_in_flight or queue.node == node)
            ):
                ready.setdefault(node, []).append(queue)
        has_sent = False
        for node, queues in ready.items():
            has_sent = self._fill(node, queues) or has_sent
        return has_sent

    def _leader(self, queue: PartitionQueue) -> int | None:
        """None if it is not known now: the batch is retried then, as after a response with that error."""
        try:
            return self.view(queue.topic).leader(queue.topic, queue.partition)
        except ClientError as error:
            if not is_retriable(error):
                raise
            self._postpone(queue, error)
            return None

    def _postpone(self, queue: PartitionQueue, error: ClientError) -> None:
        queue.failures += 1
        queue.last_error = error
        queue.retry_at = self._retry_at(queue)
        self._refresh(queue.topic)

    def _fill(self, node: int, queues: list[PartitionQueue]) -> bool:
        """Requests to one broker, as many as may be in flight."""
        has_sent = False
        while queues:
            lane = self._lane(node, queues)
            if lane is None or len(lane.requests) >= self._settings.max_in_flight:
                break
            chosen = self._chosen(queues)
            try:
                lane.send(chosen)
            except (Unreachable, TimedOut) as error:
                self._lost(lane, error)
                break
            if not self._terms.acks:
                self._unasked(lane)
            has_sent = True
            queues = [queue for queue in queues if queue.head() is not None]
        return has_sent

    def _chosen(self, queues: list[PartitionQueue]) -> list[PartitionQueue]:
        """As many as fit into a request; the first one always does, alone."""
        size = 0
        chosen: list[PartitionQueue] = []
        for queue in queues:
            batch = queue.head()
            if batch is None:
                continue
            if chosen and size + batch.size > self._settings.max_request_size:
                break
            if batch.size > self._settings.max_request_size and batch.count == 1:
                raise RecordTooLarge(queue.topic, queue.partition, batch.size, "max.request.size")
            size += batch.size
            chosen.append(queue)
        return chosen

    def _lane(self, node: int, queues: list[PartitionQueue]) -> ProduceLane | None:
        if node not in self._lanes:
            try:
                self._lanes[node] = ProduceLane(node, self._cluster.lease(node), self._terms)
            except (Unreachable, TimedOut) as error:
                for queue in queues:
                    self._postpone(queue, error)
                self._cluster.forget()
                return None
        return self._lanes[node]

    # --- answers ---------------------------------------------------------------------------------------

    def _receive(self, lane: ProduceLane) -> None:
        try:
            results = lane.receive()
        except (Unreachable, TimedOut) as error:
            self._lost(lane, error)
            return
        for queue, produced in results:
            self._settle(queue, produced)

    def _settle(self, queue: PartitionQueue, produced: Produced) -> None:
        batch = queue.oldest()
        produced = self._looked_up(queue, batch, produced)
        verdict = verdict_on(
            produced.error_code,
            is_first_failure=queue.is_first_failure,
            is_idempotent=batch.sequence >= 0,
            is_transactional=self._terms.transactional_id is not None,
            log_start_offset=produced.log_start_offset,
            last_offset=queue.last_offset,
        )
        error = _broker_error(queue, produced)
        if verdict is Verdict.DELIVERED:
            self._delivered(queue, produced.base_offset)
        elif verdict is Verdict.SPLIT:
            self._split(queue, batch)
        elif verdict is Verdict.AGAIN:
            queue.failed(error, self._retry_at(queue))
            self._refresh(queue.topic)
        elif verdict is Verdict.RENEW and queue.identity.epoch < _LAST_EPOCH:
            queue.failed(error, 0.0, renewed=self._renewed(queue))
        else:
            raise error

    def _looked_up(self, queue: PartitionQueue, batch: PendingBatch, produced: Produced) -> Produced:
        """A batch that left before may be written already, though the broker does not remember it."""
        is_checked = produced.error_code == OUT_OF_ORDER and queue.is_resent and queue.is_first_failure
        if not is_checked or batch.sequence < 0 or queue.last_offset < 0:
            return produced
        offset = tried(
            self._cluster,
            lambda: self._written_at(queue, batch, is_patient=True),
            timeout=self._settings.request_timeout,
            backoff=self._settings.retry_backoff,
        )
        return produced if offset is None else produced._replace(error_code=0, base_offset=offset)

    def _written_at(self, queue: PartitionQueue, batch: PendingBatch, *, is_patient: bool) -> int | None:
        topic_partition, after = (queue.topic, queue.partition), queue.last_offset
        identity, sequence = queue.identity, batch.sequence
        return written_at(self._cluster, topic_partition, after, identity, sequence, is_patient=is_patient)

    def _resolve(self, queue: PartitionQueue, node: int) -> bool:
        """Strike off what was written before its connection broke; whether that could be found out."""
        try:
            while queue.is_resent and (batch := queue.head()) is not None:
                offset = self._written_at(queue, batch, is_patient=False)
                if offset is None:
                    break
                queue.sent(node)
                self._delivered(queue, offset)
        except ClientError as error:
            if not is_retriable(error):
                raise
            self._postpone(queue, error)
            return False
        queue.is_doubtful = False
        return True

    def _delivered(self, queue: PartitionQueue, offset: int) -> None:
        self.unanswered -= queue.oldest().size
        queue.delivered(offset)
        if queue.is_empty:
            self._busy.pop((queue.topic, queue.partition), None)

    def _split(self, queue: PartitionQueue, batch: PendingBatch) -> None:
        if batch.count == 1:
            raise RecordTooLarge(queue.topic, queue.partition, batch.size, "the topic's max.message.bytes")
        self.unanswered += queue.split()
        self.split_topics.add(queue.topic)

    def _renewed(self, queue: PartitionQueue) -> ProducerIdentity:
        """A higher epoch fences what may still be on its way; a transaction's epoch is its coordinator's."""
        producer_id, epoch = queue.identity
        return queue.identity if self._terms.transactional_id else ProducerIdentity(producer_id, epoch + 1)

    def _unasked(self, lane: ProduceLane) -> None:
        """acks=0: what is sent is all there is to know."""
        for queue in lane.requests.popleft():
            self._delivered(queue, -1)

    def _lost(self, lane: ProduceLane, error: ClientError) -> None:
        """All that is in flight on a connection fails with it, in order."""
        self._lanes.pop(lane.node, None)
        self._cluster.give_back(lane.connection)
        self._cluster.forget()
        for queues in lane.requests:
            for queue in queues:
                batch = queue.failed(error, self._retry_at(queue))
                # Before the first response the offset to search from is unknown; that batch was sent alone.
                queue.is_doubtful = batch.sequence >= 0 and queue.last_offset >= 0
                self._refresh(queue.topic)
        lane.requests.clear()

    # --- time ------------------------------------------------------------------------------------------

    def _refresh(self, topic: str) -> None:
        self._stale.add(topic)

    def _retry_at(self, queue: PartitionQueue) -> float:
        pause = self._settings.retry_backoff * (1 << min(queue.failures, 10))
        return time.monotonic() + min(pause, LONGEST_PAUSE)

    def _expire(self) -> None:
        now = self.now()
        for queue in self._busy.values():
            batch = queue.head()
            if batch is not None and now > batch.deadline:
                raise _undelivered(queue, self._settings.delivery_timeout) from queue.last_error

    def _pause(self) -> float:
        """How long a step may wait: until an answer comes, or a batch may leave again."""
        now = time.monotonic()
        later = [queue.retry_at for queue in self._busy.values() if queue.head() is not None]
        return min([*(moment - now for moment in later if moment > now), _LONGEST_WAIT])


def _broker_error(queue: PartitionQueue, produced: Produced) -> BrokerError:
    code = produced.error_code
    reason = produced.message or BrokerError(code).message
    return BrokerError(code, f"{queue.topic}-{queue.partition}: {reason}")


def _undelivered(queue: PartitionQueue, timeout: float) -> ClientError:
    """The broker's own error, where it gave one: its code says most."""
    topic_partition = f"{queue.topic}-{queue.partition}"
    late = f"records for {topic_partition} were not delivered in {timeout:g} s (delivery.timeout.ms)"
    if isinstance(queue.last_error, BrokerError):
        return BrokerError(int(queue.last_error.code), f"{queue.last_error.message}; {late}")
    reason = "no answer in time" if queue.last_error is None else str(queue.last_error)
    return Undelivered(f"{reason}; {late}")
