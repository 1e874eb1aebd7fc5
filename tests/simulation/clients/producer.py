"""A producer: idempotent with acks=all, or plain with acks=1.

One batch at a time. An idempotent producer sends a batch again, with the same sequence, until it is
acknowledged or it gives up; then it takes a new producer id, as it does not know whether the batch was
written.
"""

from contextlib import suppress
from typing import Any

from tests.simulation.clients.cluster_client import RETRIABLE, ClusterClient, Unavailable
from tests.simulation.history import ALL, History, Transaction, Write

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.records.builder import build_batch
from barnabas.records.record import Record

_DELIVERY_SECONDS = 60.0
_PRODUCE, _INIT_PRODUCER_ID = 12, 4


class Producer:
    def __init__(self, client: ClusterClient, history: History, acks: int = ALL) -> None:
        self.client: ClusterClient = client
        self.history: History = history
        self.acks: int = acks
        self.is_idempotent: bool = acks == ALL
        self.producer_id: int = -1
        self.producer_epoch: int = -1
        self.transactional_id: str | None = None
        self._sequences: dict[TopicPartition, int] = {}
        self._written: int = 0

    def begin_anew(self, producer_id: int = -1, producer_epoch: int = -1) -> None:
        """Sequences begin at 0 with a new producer id or epoch; -1: it has none."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self._sequences.clear()

    def new_values(self, count: int) -> tuple[bytes, ...]:
        first = self._written + 1
        self._written += count
        return tuple(b"%s/%d" % (self.client.name.encode(), number) for number in range(first, first + count))

    async def produce(
        self, partition: TopicPartition, count: int, transaction: Transaction | None = None
    ) -> Write:
        """Write some records; the outcome is in the history."""
        write = self.history.begin_write(
            Write(
                self.client.name,
                partition,
                self.new_values(count),
                self.acks,
                self.client.now(),
                self.is_idempotent,
                transaction,
            )
        )
        with suppress(Unavailable):
            if self.is_idempotent and self.producer_id < 0:
                await self._take_producer_id()
            batch = self._batch(write)
            await self._deliver(write, batch)
        if write.offset < 0 and self.transactional_id is None:
            self.begin_anew()
        return write

    def _batch(self, write: Write) -> bytes:
        now_ms = 1_700_000_000_000 + int(self.client.now() * 1000)
        records = [Record(number, now_ms, None, value, ()) for number, value in enumerate(write.values)]
        if not self.is_idempotent:
            return build_batch(records)
        sequence = self._sequences.get(write.partition, 0)
        self._sequences[write.partition] = sequence + len(records)
        return build_batch(
            records,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=sequence,
            transactional=self.transactional_id is not None,
        )

    async def _deliver(self, write: Write, batch: bytes) -> None:
        """Send until an answer settles the outcome. Raises Unavailable if none does in time."""
        deadline = self.client.now() + _DELIVERY_SECONDS
        is_first = True
        while True:
            with suppress(Unavailable):
                answer = await self._send(write.partition, batch)
                code = ErrorCode(answer.error_code)
                if code is ErrorCode.none:
                    write.acknowledge(answer.base_offset, self.client.now())
                    return
                if code not in RETRIABLE:
                    if is_first:
                        write.fail(self.client.now())
                    return
            is_first = False
            self.client.forget_leader(write.partition)
            if not self.is_idempotent or self.client.now() > deadline:
                raise Unavailable(f"{write.partition} does not acknowledge")
            await self.client.back_off()

    async def _send(self, partition: TopicPartition, batch: bytes) -> Any:
        leader = await self.client.leader_of(partition)
        answer = await self.client.call(
            leader,
            "produce",
            _PRODUCE,
            transactional_id=self.transactional_id,
            acks=self.acks,
            timeout=1500,
            topic_data=[
                {
                    "name": partition.topic,
                    "partition_data": [{"index": partition.partition, "records": batch}],
                }
            ],
        )
        return answer.responses[0].partition_responses[0]

    async def _take_producer_id(self) -> None:
        answer = await self.client.any_broker(
            "init_producer_id",
            _INIT_PRODUCER_ID,
            transactional_id=None,
            transaction_timeout=0,
            producer_id=-1,
            producer_epoch=-1,
        )
        if answer.error_code:
            raise Unavailable(f"no producer id: {ErrorCode(answer.error_code).name}")
        self.begin_anew(answer.producer_id, answer.producer_epoch)
