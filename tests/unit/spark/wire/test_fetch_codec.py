"""Both encodings give equal bytes: the one by hand and kio's."""

import uuid
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import pytest
from kio.serial import entity_writer

from barnabas.client import codec
from barnabas.spark.wire.answer_reader import MALFORMED
from barnabas.spark.wire.fetch_codec import BY_ID, NEWEST, OLDEST, FetchTarget, fetch_request, parse_fetched

TOPIC_ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
TARGET = FetchTarget("topic-é", TOPIC_ID, 3, 2**40, 1, 500, 1, 8 << 20, 4 << 20, "rack-a")
VERSIONS = range(OLDEST, NEWEST + 1)


def _kio_request(version: int) -> bytes:
    partition = {
        "partition": 3,
        "current_leader_epoch": -1,
        "fetch_offset": 2**40,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 4 << 20,
    }
    fields: dict[str, Any] = {
        "replica_id": -1,
        "max_wait": 500,
        "min_bytes": 1,
        "max_bytes": 8 << 20,
        "isolation_level": 1,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": "topic-é", "topic_id": TOPIC_ID, "partitions": [partition]}],
        "rack_id": "rack-a",
    }
    entity = codec._class("fetch", version, "request")
    buffer = BytesIO()
    entity_writer(entity)(buffer, codec._build(entity, fields))
    return buffer.getvalue()


@pytest.mark.parametrize("version", VERSIONS)
def test_request_has_the_bytes_that_kio_writes(version: int) -> None:
    request = fetch_request(version, TARGET)
    assert b"".join(request.parts) == _kio_request(version)
    assert request.is_flexible == codec._class("fetch", version, "request").__flexible__


def _answer(version: int, **changed: Any) -> memoryview:
    partition: Mapping[str, Any] = {
        "partition_index": 3,
        "error_code": codec_error(changed.get("error_code", 0)),
        "high_watermark": 900,
        "last_stable_offset": 800,
        "log_start_offset": 7,
        "aborted_transactions": changed.get("aborted", []),
        "preferred_read_replica": 2,
        "records": changed.get("records", b"records"),
    }
    fields = {
        "throttle_time": 5,
        "error_code": codec_error(0),
        "responses": [{"topic": "topic-é", "topic_id": TOPIC_ID, "partitions": [partition]}],
    }
    entity = codec._class("fetch", version, "response")
    buffer = BytesIO()
    entity_writer(entity)(buffer, codec._build(entity, fields))
    return memoryview(buffer.getvalue())


def codec_error(code: int) -> Any:
    from kio.schema.errors import ErrorCode

    return ErrorCode(code)


@pytest.mark.parametrize("version", VERSIONS)
def test_answer_that_kio_writes_is_read(version: int) -> None:
    aborted = [{"producer_id": 12, "first_offset": 34}, {"producer_id": 56, "first_offset": 78}]
    answer = _answer(version, aborted=aborted)
    fetched = parse_fetched(version, answer)
    assert fetched.error_code == 0
    assert (fetched.high_watermark, fetched.last_stable_offset) == (900, 800)
    assert fetched.log_start_offset == (7 if version >= 5 else -1)
    assert fetched.aborted == ((12, 34), (56, 78))
    assert fetched.preferred_read_replica == (2 if version >= 11 else -1)
    assert bytes(fetched.records) == b"records"
    assert fetched.throttle_ms == 5


@pytest.mark.parametrize("version", VERSIONS)
def test_records_are_a_view_of_the_answer(version: int) -> None:
    answer = memoryview(bytearray(_answer(version)))
    fetched = parse_fetched(version, answer)
    assert fetched.records.obj is answer.obj


@pytest.mark.parametrize("version", VERSIONS)
def test_absent_records_are_empty(version: int) -> None:
    assert len(parse_fetched(version, _answer(version, records=None, aborted=None)).records) == 0


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_answer_cut_anywhere_is_refused(version: int) -> None:
    answer = _answer(version, aborted=[{"producer_id": 12, "first_offset": 34}])
    whole = len(answer) - (3 if version == NEWEST else 0)  # tags of the end are not looked at
    for size in range(whole):
        with pytest.raises(MALFORMED):
            parse_fetched(version, answer[:size])


def test_topic_without_an_id_is_asked_by_name() -> None:
    request = fetch_request(BY_ID - 1, TARGET._replace(topic_id=None))
    assert "topic-é".encode() in b"".join(request.parts)
