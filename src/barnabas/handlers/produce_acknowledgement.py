"""The answer to a Produce: made at once, or when disks and replicas have the records, until the producer's
timeout.
"""

import asyncio

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.handlers.context import RecordContext
from barnabas.handlers.leader_hints import endpoints_for
from barnabas.network.connection import Peer
from barnabas.network.responses import Pending
from barnabas.replication.partition import Partition
from barnabas.storage.append_info import AppendInfo, LateAppend
from barnabas.wire.header import RequestHeader
from barnabas.wire.produce import (
    FIRST_WITH_LEADER_HINTS,
    ProducePartitionResult,
    ProduceTopicResult,
    encode_produce_response,
)


def encode_answer(
    context: RecordContext,
    header: RequestHeader,
    results: list[ProduceTopicResult],
    has_failed: bool,
    peer: Peer,
) -> bytes:
    if not has_failed or header.version < FIRST_WITH_LEADER_HINTS:
        return encode_produce_response(header.version, header.correlation_id, results)
    hints = [each.leader for topic in results for each in topic.partitions if each.leader is not None]
    return encode_produce_response(
        header.version, header.correlation_id, results, endpoints=endpoints_for(context, hints, peer)
    )


class Acknowledgement:
    """A response that waits for disks or replicas, until the producer's timeout."""

    def __init__(
        self,
        context: RecordContext,
        peer: Peer,
        header: RequestHeader,
        acks: int,
        results: list[ProduceTopicResult],
        waiting: list[tuple[Partition, AppendInfo]],
        has_failed: bool,
    ) -> None:
        # Later batches of the same connection need not wait for this one's acknowledgement.
        self._pending: Pending = Pending(holds_back=False, cancel=self._forget)
        self._context: RecordContext = context
        self._peer: Peer = peer
        self._header: RequestHeader = header
        self._acks: int = acks
        self._results: list[ProduceTopicResult] = results
        self._has_failed: bool = has_failed
        self._waiting: list[tuple[Partition, AppendInfo]] = waiting
        self._left: dict[tuple[str, int], Partition] = {each.topic_partition: each for each, _ in waiting}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, timeout_ms: int) -> Pending:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(timeout_ms / 1000, self._on_timeout)
        for partition, info in self._waiting:
            acknowledged = partition.when_acknowledged(info, self._acks)
            acknowledged.when_done(_Waiting(self, partition, info))
        return self._pending

    def on_partition(self, partition: Partition, info: AppendInfo, error: KafkaError | None) -> None:
        if self._left.pop(partition.topic_partition, None) is None:
            return
        number = partition.topic_partition.partition
        if error is not None:
            self._has_failed = True
            self._replace(partition, ProducePartitionResult(number, error.code))
        elif isinstance(info, LateAppend):
            offsets = info.base_offset, info.log_append_time, info.log_start_offset
            self._replace(partition, ProducePartitionResult(number, 0, *offsets))
        if not self._left:
            self._finish()

    def _on_timeout(self) -> None:
        for partition in list(self._left.values()):
            self._has_failed = True
            number = partition.topic_partition.partition
            self._replace(partition, ProducePartitionResult(number, ErrorCode.request_timed_out))
        self._left.clear()
        self._finish()

    def _replace(self, partition: Partition, replacement: ProducePartitionResult) -> None:
        name, number = partition.topic_partition
        for topic in self._results:
            if topic.name != name and topic.topic_id != partition.topic_id:
                continue
            for index, result in enumerate(topic.partitions):
                if result.partition == number:
                    topic.partitions[index] = replacement

    def _finish(self) -> None:
        self._stop_timer()
        self._pending.complete(
            [encode_answer(self._context, self._header, self._results, self._has_failed, self._peer)]
        )

    def _forget(self) -> None:
        self._stop_timer()
        self._left.clear()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class _Waiting:
    """One partition's part of an acknowledgement."""

    __slots__ = ("_acknowledgement", "_info", "_partition")

    def __init__(self, acknowledgement: Acknowledgement, partition: Partition, info: AppendInfo) -> None:
        self._acknowledgement: Acknowledgement = acknowledgement
        self._partition: Partition = partition
        self._info: AppendInfo = info

    def __call__(self, done: Deferred[None]) -> None:
        self._acknowledgement.on_partition(self._partition, self._info, done.error)
