"""What a consumer finds in a partition: its offsets, every record, and those that are committed."""

import struct
from dataclasses import dataclass, field
from typing import Any

from tests.faults.random_life.violation import Violation, require
from tests.faults.topic_life.direct_client import DirectClient
from tests.integration.clients.requests import EARLIEST, FETCH_BY_NAME, LATEST, fetch_fields, whole_batches

from barnabas.base.errors import KafkaError
from barnabas.records.batch import BatchHeader, iter_headers
from barnabas.records.record import Record, decode_records
from barnabas.storage.producer_state import read_marker

READ_COMMITTED = 1
_FETCH_BYTES = 1 << 20


@dataclass(slots=True)
class FoundPartition:
    error: int = 0
    start: int = -1
    end: int = -1
    stable: int = -1
    batches: list[BatchHeader] = field(default_factory=list)
    records: dict[int, Record] = field(default_factory=dict)
    committed: dict[int, Record] = field(default_factory=dict)


async def find_partition(client: DirectClient, topic: str, partition: int) -> FoundPartition:
    found = FoundPartition()
    for name, timestamp, isolation in (
        ("start", EARLIEST, 0),
        ("end", LATEST, 0),
        ("stable", LATEST, READ_COMMITTED),
    ):
        answer = await list_offset(client, topic, partition, timestamp, isolation)
        if answer.error_code:
            found.error = int(answer.error_code)
            return found
        setattr(found, name, answer.offset)
    try:
        await _read(client, topic, partition, found)
        await _read_committed(client, topic, partition, found)
    except (KafkaError, LookupError, ValueError, struct.error) as error:
        raise Violation(f"{topic}-{partition}: what was fetched is no batch: {error!r}") from error
    return found


async def list_offset(
    client: DirectClient, topic: str, partition: int, timestamp: int, isolation: int = 0
) -> Any:
    topics = [{"name": topic, "partitions": [{"partition_index": partition, "timestamp": timestamp}]}]
    answer = await client.call("list_offsets", 7, replica_id=-1, isolation_level=isolation, topics=topics)
    return answer.topics[0].partitions[0]


async def _fetch(client: DirectClient, topic: str, partition: int, offset: int, isolation: int) -> Any:
    fields = fetch_fields(topic, [(partition, offset)], isolation=isolation, partition_max_bytes=_FETCH_BYTES)
    answer = (await client.call("fetch", FETCH_BY_NAME, **fields)).responses[0].partitions[0]
    require(not answer.error_code, f"{topic}-{partition}: fetch at {offset}: error {answer.error_code!r}")
    return answer


async def _read(client: DirectClient, topic: str, partition: int, found: FoundPartition) -> None:
    offset = found.start
    while offset < found.end:
        data = whole_batches(bytes((await _fetch(client, topic, partition, offset, 0)).records or b""))
        if not data:  # compaction may leave nothing at the end; the model knows what must be there
            break
        for position, header in iter_headers(data):
            found.batches.append(header)
            offset = header.next_offset
            if not header.is_control:
                batch = data[position : position + header.size]
                found.records.update({each.offset: each for each in decode_records(batch)})
    found.records = {at: each for at, each in found.records.items() if at >= found.start}


async def _read_committed(client: DirectClient, topic: str, partition: int, found: FoundPartition) -> None:
    """As consumers do: with the list of aborted transactions, up to the last stable offset."""
    offset = found.start
    while offset < found.stable:
        answer = await _fetch(client, topic, partition, offset, READ_COMMITTED)
        data = whole_batches(bytes(answer.records or b""))
        if not data:
            break
        waiting = sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions or ())
        aborted: set[int] = set()
        for position, header in iter_headers(data):
            offset = header.next_offset
            while waiting and waiting[0][0] <= header.last_offset:
                aborted.add(waiting.pop(0)[1])
            batch = data[position : position + header.size]
            if header.is_control:
                marker = read_marker(memoryview(batch))
                if marker is not None and marker.is_abort:
                    aborted.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborted):
                found.committed.update({each.offset: each for each in decode_records(batch)})
    found.committed = {at: each for at, each in found.committed.items() if at >= found.start}
