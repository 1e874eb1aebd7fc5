"""Batches whose headers contradict their records, sent to a broker, and what it made of them.

The same is sent to Apache Kafka and to Barnabas. Times are relative to the moment of sending, so that what
one of them did can be kept in a file and compared with what the other does later.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.integration.clients.messages import now_ms
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import EARLIEST, MAX_TIMESTAMP, list_offset, produce
from tests.patience import PATIENCE

from barnabas.records.batch import MAGIC_V2, TIMESTAMP_TYPE_MASK, BatchHeader, iter_headers
from barnabas.records.builder import assemble, encode_records
from barnabas.records.compression import CODEC_NAMES, NONE, ZSTD, compress
from barnabas.records.record import Record
from barnabas.testing.admin import Admin

HOUR, DAY = 3_600_000, 86_400_000
SETTINGS = {
    "log.retention.check.interval.ms": "300",
    "log.initial.task.delay.ms": "300",
    "log.segment.delete.delay.ms": "100",
}
"""For both brokers: retention must not be waited for."""

_WEEK = {"retention.ms": str(7 * DAY)}
_FOREVER = {"retention.ms": "-1"}
_NEAR = 1000 * DAY
_SENTINELS = ("retention-ran", "retention-ran-again")


@dataclass(frozen=True, slots=True)
class Sent:
    """One batch: the timestamps of its records, and what its header says instead of the truth."""

    timestamps: Sequence[int]
    base: int
    maximum: int
    count: int | None = None
    attributes: int = 0

    def encode(self, codec: int) -> bytes:
        records = [Record(i, time, b"k%d" % i, b"value") for i, time in enumerate(self.timestamps)]
        payload = compress(codec, encode_records(records, range(len(records)), self.base))
        count = len(records) if self.count is None else self.count
        attributes = codec | self.attributes
        header = BatchHeader(
            0, 0, -1, MAGIC_V2, 0, attributes, count - 1, self.base, self.maximum, -1, -1, -1, count
        )
        return assemble(header, payload)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    batches: Sequence[Sent]
    config: dict[str, str] = field(default_factory=dict)
    is_believed: bool = False
    """The header could be true: Barnabas stores it as it is, and only retention is compared."""


def cases(now: int) -> Iterator[Case]:
    """What is sent. Every case goes to a topic that keeps everything and to one that keeps a week."""
    times = {
        "no timestamps, max 0 (librdkafka)": Sent([-1, -1], -1, 0),
        "no timestamps": Sent([-1, -1], -1, -1),
        "no timestamps, max now": Sent([-1, -1], -1, now),
        "max -1 (Sarama)": Sent([now, now + 5], now, -1),
        "max 0": Sent([now, now + 5], now, 0),
        "max -7": Sent([now, now + 5], now, -7),
        "max in the far future": Sent([now, now + 5], now, now + 400 * DAY),
        "max beyond all time": Sent([now], now, (1 << 63) - 1),
        "max before base": Sent([now, now + 5], now, now - 8 * DAY),
        "base 0 and max 0": Sent([now, now + 5], 0, 0),
        "base -1 with timestamps": Sent([now, now + 5], -1, 0),
        "base and max of 1970": Sent([1, 2], 1, 2),
        "old records, max -1": Sent([now - 9 * DAY, now - 8 * DAY], now - 9 * DAY, -1),
        "old records, max 0": Sent([now - 9 * DAY, now - 8 * DAY], now - 9 * DAY, 0),
        "old records": Sent([now - 9 * DAY, now - 8 * DAY], now - 9 * DAY, now - 8 * DAY),
        "negative records": Sent([-7, -8], -7, -7),
        "negative records, max now": Sent([-7, -8], -7, now),
        "half without timestamps": Sent([-1, now], -1, 0),
        "future records, max -1": Sent([now + 2 * HOUR], now + 2 * HOUR, -1),
        "future records": Sent([now + 2 * HOUR], now + 2 * HOUR, now + 2 * HOUR),
        "far too many records claimed": Sent([now, now], now, now, count=100_000),
        "all records claimed": Sent([now, now], now, now, count=2**31 - 1),
        "claims LogAppendTime": Sent([now - 8 * DAY], now - 8 * DAY, now, attributes=TIMESTAMP_TYPE_MASK),
        "claims LogAppendTime -1": Sent([now], now, -1, attributes=TIMESTAMP_TYPE_MASK),
    }
    for name, sent in times.items():
        yield Case(name, [sent])
    between = Sent([now - 9 * DAY, now, now - 8 * DAY], now - 9 * DAY, now - 8 * DAY)
    yield Case("max of the last record", [between], is_believed=True)
    append_time = {"message.timestamp.type": "LogAppendTime"}
    yield Case("append time: no timestamps, max 0", [Sent([-1], -1, 0)], append_time)
    yield Case("append time: max beyond all time", [Sent([now], now, (1 << 63) - 1)], append_time)
    honest, hourly = Sent([now], now, now), {"segment.ms": str(HOUR)}
    yield Case("roll: no timestamps, max 0", [Sent([-1], -1, 0), honest, honest], hourly)
    yield Case("roll: max 0", [Sent([now], now, 0), honest, honest], hourly)
    earlier = Sent([now - 2 * HOUR], now - 2 * HOUR, -1)
    yield Case("roll: an earlier one, max -1", [earlier, honest, honest], hourly)
    future = Sent([now], now, now + 400 * DAY)
    yield Case("roll: max in the far future", [honest, future, honest], hourly)


def observe(port: int, log_dir: Path) -> dict[str, Any]:
    """Send every case in two codecs and describe, case by case, what became of it."""
    now = now_ms()
    admin = Admin("127.0.0.1", port)
    described: dict[str, Any] = {}
    with RawClient(port) as client:
        topics: dict[str, str] = {}
        for number, case in enumerate(cases(now)):
            for codec in (NONE, ZSTD):
                for kind, keeps in (("kept", _FOREVER), ("week", _WEEK)):
                    topic = topics[f"{case.name}, {CODEC_NAMES[codec]}, {kind}"] = f"{kind}-{number}-{codec}"
                    admin.create_topic(topic, 1, {**case.config, **keeps})
        for name, topic in topics.items():
            _wait_for_leader(client, topic)
            kind, index, codec_id = topic.split("-")
            case = list(cases(now))[int(index)]
            answers = [produce(client, topic, sent.encode(int(codec_id))) for sent in case.batches]
            described[name] = {"answers": [[each.error_code, each.base_offset] for each in answers]}
            if kind == "kept" and not case.is_believed:
                described[name]["lookups"] = _lookups(client, topic, now)
                if name.startswith("claims LogAppendTime, "):
                    # Kafka stores this false maximum, and then finds no record that has it.
                    del described[name]["lookups"]["the latest"]
        _wait_for_retention(admin, client, now)
        for name, topic in topics.items():
            if topic.startswith("week"):
                described[name]["log start"] = list_offset(client, topic, EARLIEST).offset
            elif "max of the last record" not in name:
                described[name]["segments"] = _segments(log_dir / f"{topic}-0", now)
    return described


def _wait_for_leader(client: RawClient, topic: str) -> None:
    _wait(lambda: list_offset(client, topic).error_code == 0)


def _wait_for_retention(admin: Admin, client: RawClient, now: int) -> None:
    """Until a run of retention that began after everything was sent is over."""
    old = now - 30 * DAY
    for topic in _SENTINELS:
        admin.create_topic(topic, 1, _WEEK)
        _wait_for_leader(client, topic)
        produce(client, topic, Sent([old], old, old).encode(NONE))
        _wait(partial(_is_deleted, client, topic))


def _is_deleted(client: RawClient, topic: str) -> bool:
    return bool(list_offset(client, topic, EARLIEST).offset == 1)


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _lookups(client: RawClient, topic: str, now: int) -> dict[str, list[object]]:
    targets = {
        "0": 0, "now-30d": now - 30 * DAY, "now-8.5d": now - 8 * DAY - DAY // 2, "now-1": now - 1,
        "now+3": now + 3, "now+30min": now + HOUR // 2, "the latest": MAX_TIMESTAMP,
    }  # fmt: skip
    found = {name: list_offset(client, topic, target) for name, target in targets.items()}
    return {
        name: [each.error_code, each.offset, _relative(each.timestamp, now)] for name, each in found.items()
    }


def _segments(directory: Path, now: int) -> dict[str, list[object]]:
    """The headers of each segment's batches."""
    return {
        path.stem.lstrip("0") or "0": [
            [
                header.base_offset, header.last_offset_delta, header.record_count, header.attributes,
                _relative(header.base_timestamp, now), _relative(header.max_timestamp, now),
            ]
            for _, header in iter_headers(path.read_bytes(), allow_partial=True)
        ]
        for path in sorted(directory.glob("*.log"))
    }  # fmt: skip


def _relative(timestamp: int, now: int) -> str:
    """A time as it can be compared later; between now and a minute later it is the time of the append."""
    delta = timestamp - now
    if abs(delta) > _NEAR:
        return str(timestamp)
    return "append time" if 5 < delta <= 600_000 else f"now{delta:+}"
