"""A consumer of one partition: fetches from the first offset on, and notes every record it gets."""

from contextlib import suppress
from typing import Any

from tests.integration.clients.requests import fetch_fields, whole_batches
from tests.simulation.clients.cluster_client import ClusterClient, Unavailable
from tests.simulation.history import History, Read

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.records.batch import iter_headers
from barnabas.records.record import decode_records
from barnabas.storage.producer_state import read_marker

_FETCH = 12
_MAX_WAIT_MS = 500


class Consumer:
    def __init__(
        self, client: ClusterClient, history: History, partition: TopicPartition, *, is_committed: bool
    ) -> None:
        self._client: ClusterClient = client
        self._history: History = history
        self._partition: TopicPartition = partition
        self._is_committed: bool = is_committed
        self.offset: int = 0
        self.high_watermark: int = -1
        self.last_stable_offset: int = -1
        self.log_start_offset: int = 0

    async def poll(self) -> bool:
        """One fetch. Returns whether the broker answered with records, or that there are none."""
        with suppress(Unavailable):
            answer = await self._fetch()
            code = ErrorCode(answer.error_code)
            if code is ErrorCode.none:
                self.high_watermark = answer.high_watermark
                self.last_stable_offset = answer.last_stable_offset
                self.log_start_offset = answer.log_start_offset
                self._note(answer)
                return True
            if code is ErrorCode.offset_out_of_range:
                self.offset = 0
        self._client.forget_leader(self._partition)
        await self._client.back_off()
        return False

    async def _fetch(self) -> Any:
        leader = await self._client.leader_of(self._partition)
        fields = fetch_fields(
            self._partition.topic,
            [(self._partition.partition, self.offset)],
            isolation=int(self._is_committed),
            max_wait=_MAX_WAIT_MS,
        )
        answer = await self._client.call(leader, "fetch", _FETCH, **fields)
        return answer.responses[0].partitions[0]

    def _note(self, answer: Any) -> None:
        data = whole_batches(bytes(answer.records or b""))
        waiting = sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions or ())
        aborted: set[int] = set()
        for position, header in iter_headers(data):
            while waiting and waiting[0][0] <= header.last_offset:
                aborted.add(waiting.pop(0)[1])
            batch = data[position : position + header.size]
            if header.is_control:
                marker = read_marker(memoryview(batch))
                if marker is not None and marker.is_abort:
                    aborted.discard(header.producer_id)
            elif not (self._is_committed and header.is_transactional and header.producer_id in aborted):
                self._note_records(batch)
            self.offset = max(self.offset, header.next_offset)

    def _note_records(self, batch: bytes) -> None:
        for record in decode_records(batch):
            if record.offset >= self.offset:
                value = record.value or b""
                self._history.reads.append(
                    Read(
                        self._client.name,
                        self._partition,
                        record.offset,
                        value,
                        self._is_committed,
                        self._client.now(),
                    )
                )
