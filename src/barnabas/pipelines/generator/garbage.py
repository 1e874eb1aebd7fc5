"""Lines that cannot be parsed, each made from a good one, with the reason a pipeline should give for it.

The reasons are those of the pipelines' own README files; the tests hold both together.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

from barnabas.pipelines.generator.plan import Kind
from barnabas.pipelines.generator.records import AccessLog, Activity, Record, Sample


class Garbage(NamedTuple):
    reason: str
    value: bytes


_DAYS_AHEAD_MS = 3 * 86_400_000
Maker = Callable[[AccessLog], bytes] | Callable[[Activity], bytes] | Callable[[Sample], bytes]


def _cut(record: Record) -> bytes:
    line = record.encode()
    return line[: len(line) // 2]


def _not_text(record: Record) -> bytes:
    return b"\xff\xfe" + record.encode()


def _ahead(record: Record) -> bytes:
    """From a machine whose clock is days ahead: it would drive every window's watermark there."""
    return record._replace(time_ms=record.time_ms + _DAYS_AHEAD_MS).encode()


def _trace(record: Record) -> bytes:
    return b"    at com.example.shop.Checkout.pay(Checkout.java:117)"


def _odd_status(record: AccessLog) -> bytes:
    return record._replace(status=999).encode()


def _odd_month(record: AccessLog) -> bytes:
    line = record.encode()
    day = line.index(b"[") + 4
    return line[:day] + b"Foo" + line[day + 3 :]


def _no_user(record: Activity) -> bytes:
    return record.encode().replace(b'"user":', b'"usr":')


def _unknown_type(record: Activity) -> bytes:
    return record._replace(type="teleport").encode()


def _odd_time(record: Activity | Sample) -> bytes:
    head, _, _ = record.encode().partition(b'"time":')
    return head + b'"time":"yesterday"}'


def _no_number(record: Sample) -> bytes:
    return record.encode().replace(b'"value":', b'"value":"n/a","was":')


def _no_host(record: Sample) -> bytes:
    return record.encode().replace(b'"host":', b'"machine":')


_MAKERS: dict[Kind, tuple[tuple[str, Maker], ...]] = {
    Kind.LOG: (
        ("not an access-log line", _cut),
        ("not an access-log line", _trace),
        ("bad time", _odd_month),
        ("bad status", _odd_status),
        ("not UTF-8", _not_text),
        ("time in the future", _ahead),
    ),
    Kind.ACTIVITY: (
        ("not JSON", _cut),
        ("missing user", _no_user),
        ("unknown type", _unknown_type),
        ("bad time", _odd_time),
        ("not UTF-8", _not_text),
        ("time in the future", _ahead),
    ),
    Kind.METRIC: (
        ("not JSON", _cut),
        ("missing host", _no_host),
        ("value is not a number", _no_number),
        ("bad time", _odd_time),
        ("not UTF-8", _not_text),
        ("time in the future", _ahead),
    ),
}


def spoil(kind: Kind, record: Record, chance: random.Random) -> Garbage:
    reason, make = chance.choice(_MAKERS[kind])
    return Garbage(reason, make(record))  # type: ignore[arg-type]  # makers of a kind take its record
