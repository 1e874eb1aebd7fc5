"""Both encodings give equal bytes: the one by hand and kio's."""

from io import BytesIO
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from barnabas.wire import message_codec as codec
from barnabas.wire.client_produce import (
    NEWEST,
    OLDEST,
    Produced,
    RecordBatch,
    parse_produced,
    produce_request,
)
from barnabas.wire.response_reader import MALFORMED

VERSIONS = range(OLDEST, NEWEST + 1)
BATCHES = [
    RecordBatch("a", 0, (b"head", b"b" * 200)),
    RecordBatch("b", 5, (b"other",)),
    RecordBatch("a", 1, (b"", b"x")),
]


def _written(api: str, version: int, part: str, fields: dict[str, Any]) -> bytes:
    entity = codec._class(api, version, part)
    buffer = BytesIO()
    entity_writer(entity)(buffer, codec._build(entity, fields))
    return buffer.getvalue()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("transactional_id", [None, "tx"])
def test_request_has_the_bytes_that_kio_writes(version: int, transactional_id: str | None) -> None:
    request = produce_request(version, BATCHES, transactional_id=transactional_id, acks=-1, timeout_ms=30_000)
    topics = [
        {
            "name": "a",
            "partition_data": [
                {"index": 0, "records": b"head" + b"b" * 200},
                {"index": 1, "records": b"x"},
            ],
        },
        {"name": "b", "partition_data": [{"index": 5, "records": b"other"}]},
    ]
    expected = _written(
        "produce",
        version,
        "request",
        {"transactional_id": transactional_id, "acks": -1, "timeout": 30_000, "topic_data": topics},
    )
    assert b"".join(request.parts) == expected
    assert request.is_flexible == codec._class("produce", version, "request").__flexible__


def _answer(version: int) -> memoryview:
    partitions = [
        {"index": 0, "error_code": ErrorCode(0), "base_offset": 2**40, "log_start_offset": 9},
        {
            "index": 1,
            "error_code": ErrorCode.invalid_record,
            "base_offset": -1,
            "log_start_offset": -1,
            "record_errors": [{"batch_index": 3, "batch_index_error_message": "no key"}],
        },
    ]
    fields = {"responses": [{"name": "a", "partition_responses": partitions}]}
    return memoryview(_written("produce", version, "response", fields))


@pytest.mark.parametrize("version", VERSIONS)
def test_answer_that_kio_writes_is_read(version: int) -> None:
    first, second = parse_produced(version, _answer(version))
    assert first == Produced("a", 0, 0, None, 2**40, 9 if version >= 5 else -1)
    assert second == Produced("a", 1, 87, "no key" if version >= 8 else None, -1, -1)


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_answer_cut_anywhere_is_refused(version: int) -> None:
    answer = _answer(version)
    behind = 4 + (1 if version == NEWEST else 0)  # the throttle time, at the end, is not looked at
    for size in range(len(answer) - behind):
        with pytest.raises(MALFORMED):
            parse_produced(version, answer[:size])
