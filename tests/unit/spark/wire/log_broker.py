"""A broker with one topic, `t`, that keeps what is produced and checks sequences as Kafka does.

It fails on demand: `faults` are taken one for each Produce request, `fetch_faults` for each Fetch; where none
is left, all goes well.
"""

import uuid
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from types import TracebackType
from typing import Any, Self

from tests.fakes.scripted_broker import ScriptedBroker

from barnabas.client.address import parse_addresses
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.records.batch import parse_header
from barnabas.records.builder import build_batch
from barnabas.records.record import Record, decode_records

TOPIC_ID = uuid.UUID(int=77)
OUT_OF_ORDER = 45


class Lose(Enum):
    REQUEST = auto()
    """The connection breaks before the request is looked at."""
    ANSWER = auto()
    """The connection breaks when all is done."""
    MEMORY = auto()
    """The same, and the broker forgets its producers."""


@dataclass(frozen=True)
class Refuse:
    code: int
    is_written: bool = False
    """The broker has the batch all the same."""
    log_start_offset: int = -1


Fault = Lose | Refuse | None


@dataclass
class Batch:
    base_offset: int
    records: list[Record]
    raw: bytes


@dataclass
class Known:
    """What a partition knows of a producer."""

    epoch: int
    next_sequence: int
    last: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=5))


class Log:
    """One partition. Several brokers may share it, one after another being its leader."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.end: int = 0
        self.start: int = 0
        self.local_start: int = 0
        """What is before is in tiered storage."""
        self.producers: dict[int, Known] = {}

    def append(self, raw: bytes) -> tuple[int, int]:
        """(error, base offset)."""
        header = parse_header(raw)
        if header.producer_id >= 0:
            known = self.producers.get(header.producer_id)
            if known is None or header.producer_epoch > known.epoch:
                if header.base_sequence != 0 and known is not None:
                    return OUT_OF_ORDER, -1
                known = self.producers[header.producer_id] = Known(header.producer_epoch, 0)
                known.next_sequence = header.base_sequence
            for sequence, offset in known.last:
                if sequence == header.base_sequence:
                    return 0, offset
            if header.base_sequence != known.next_sequence:
                return OUT_OF_ORDER, -1
            known.last.append((header.base_sequence, self.end))
            known.next_sequence = (header.base_sequence + header.record_count) % 2**31
        self.batches.append(Batch(self.end, decode_records(raw), self.end.to_bytes(8, "big") + raw[8:]))
        self.end += header.record_count
        return 0, self.batches[-1].base_offset

    def put(self, records: list[Record]) -> None:
        raw = build_batch(records, base_offset=self.end)
        self.batches.append(Batch(self.end, records, raw))
        self.end += len(records)

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for batch in self.batches for record in batch.records]

    def read(self, offset: int, most: int) -> bytes:
        found = b""
        for batch in self.batches:
            if batch.base_offset + len(batch.records) > offset:
                if found and len(found) + len(batch.raw) > most:
                    break
                found += batch.raw
        return found


class LogBroker:
    def __init__(
        self,
        faults: Iterable[Fault] = (),
        *,
        fetch_faults: Iterable[Fault] = (),
        logs: list[Log] | None = None,
        partitions: int = 1,
        versions: dict[str, int] | None = None,
        max_message: int = 1 << 20,
        torn: bool = False,
        answers: dict[str, Any] | None = None,
    ) -> None:
        self.logs: list[Log] = logs or [Log() for _ in range(partitions)]
        self.faults: deque[Fault] = deque(faults)
        self.fetch_faults: deque[Fault] = deque(fetch_faults)
        self.leader: int = 1
        self.nodes: dict[int, int] = {}
        self.topic_id: uuid.UUID = TOPIC_ID
        self.topic_errors: deque[int] = deque()
        """For each Metadata request, while there are any."""
        self.was_creating: bool = False
        self.fetched_offsets: list[int] = []
        self.preferred: int = -1
        self._max_message: int = max_message
        self.script: ScriptedBroker = ScriptedBroker(
            {
                "metadata": self._metadata,
                "produce": self._produce,
                "fetch": self._fetch,
                "init_producer_id": {"producer_id": 7, "producer_epoch": 0},
                "list_offsets": self._list_offsets,
                **(answers or {}),
            },
            versions={"produce": 12, "fetch": 17, "metadata": 12, "list_offsets": 7, **(versions or {})},
            torn=torn,
        )
        self.nodes[1] = self.script.port

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.script.__exit__(kind, error, trace)

    def cluster(self, **changed: Any) -> Cluster:
        given: dict[str, Any] = {"patience": 0.0, "api_timeout": 5.0, "request_timeout": 5.0, **changed}
        return Cluster(ClientSettings(tuple(parse_addresses(self.script.address)), **given))

    def requests(self, name: str) -> list[Any]:
        return [each for each in self.script.requests if type(each).__name__ == f"{name}Request"]

    def _metadata(self, request: Any) -> dict[str, object]:
        self.was_creating = self.was_creating or bool(request.allow_auto_topic_creation)
        brokers = [
            {"node_id": node, "host": "127.0.0.1", "port": port, "rack": None}
            for node, port in self.nodes.items()
        ]
        partitions = [
            {"error_code": 0, "partition_index": index, "leader_id": self.leader}
            for index in range(len(self.logs))
        ]
        error = self.topic_errors.popleft() if request.topics and self.topic_errors else 0
        topics = [
            {
                "error_code": error,
                "name": topic.name,
                "topic_id": self.topic_id,
                "partitions": [] if error else partitions,
            }
            for topic in request.topics or ()
        ]
        return {"brokers": brokers, "controller_id": 1, "cluster_id": "log", "topics": topics}

    def _produce(self, request: Any) -> dict[str, object]:
        fault = self.faults.popleft() if self.faults else None
        if fault is Lose.REQUEST:
            raise OSError("the connection breaks")
        results = [
            {
                "name": topic.name,
                "partition_responses": [self._append(each, fault) for each in topic.partition_data],
            }
            for topic in request.topic_data
        ]
        if fault is Lose.MEMORY:
            for log in self.logs:
                log.producers.clear()
        if fault in (Lose.ANSWER, Lose.MEMORY):
            raise OSError("the connection breaks")
        return {"responses": results}

    def _append(self, partition: Any, fault: Fault) -> dict[str, object]:
        raw = bytes(partition.records)
        error, offset = 0, -1
        if len(raw) > self._max_message:
            return {"index": partition.index, "error_code": 10, "base_offset": -1}
        if not isinstance(fault, Refuse) or fault.is_written:
            error, offset = self.logs[partition.index].append(raw)
        start = 0
        if isinstance(fault, Refuse) and not error:
            error, start = fault.code, fault.log_start_offset
        return {
            "index": partition.index,
            "error_code": error,
            "base_offset": offset,
            "log_start_offset": start,
        }

    def _fetch(self, request: Any) -> dict[str, object]:
        fault = self.fetch_faults.popleft() if self.fetch_faults else None
        if isinstance(fault, Lose):
            raise OSError("the connection breaks")
        (topic,) = request.topics
        (wanted,) = topic.partitions
        self.fetched_offsets.append(wanted.fetch_offset)
        log = self.logs[wanted.partition]
        code = fault.code if isinstance(fault, Refuse) else 0
        if not code and not log.start <= wanted.fetch_offset <= log.end:
            code = 1
        is_elsewhere = self.preferred >= 0
        records = b"" if code or is_elsewhere else log.read(wanted.fetch_offset, wanted.partition_max_bytes)
        partition = {
            "partition_index": wanted.partition,
            "error_code": code,
            "high_watermark": log.end,
            "last_stable_offset": log.end,
            "log_start_offset": log.start,
            "preferred_read_replica": self.preferred,
            "records": records,
            "aborted_transactions": None,
        }
        name = getattr(topic, "topic", None)
        return {
            "error_code": 0,
            "responses": [{"topic": name, "topic_id": self.topic_id, "partitions": [partition]}],
        }

    def _list_offsets(self, request: Any) -> dict[str, object]:
        (topic,) = request.topics
        (wanted,) = topic.partitions
        log = self.logs[wanted.partition_index]
        offset = {-2: log.start, -4: log.local_start}.get(wanted.timestamp, log.end)
        partition = {"partition_index": wanted.partition_index, "error_code": 0, "offset": offset}
        return {"topics": [{"name": topic.name, "partitions": [partition]}]}
