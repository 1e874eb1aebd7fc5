"""What is written as JSON is read back as the same record."""

import json

import pytest
from tests.unit.cli.messages.fake_record import FakeRecord

from barnabas.cli.messages.json_record import BadRecord, record_as_json, record_of_json
from barnabas.cli.messages.line_reader import Outgoing


@pytest.mark.parametrize(
    "record",
    [
        FakeRecord("grüße".encode(), None, [("h", b"x"), ("h", None)]),
        FakeRecord(b"\xff\x00", b"\xfe"),
        FakeRecord(None, b""),
    ],
)
def test_a_record_survives_the_way_there_and_back(record: FakeRecord) -> None:
    sent = record_of_json(json.dumps(record_as_json(record)).encode())
    assert (sent.key, sent.value) == (record.raw_key, record.raw_value)
    assert sent.headers == record.pairs
    assert (sent.partition, sent.timestamp) == (2, 1_700_000_000_123)


def test_all_of_it_is_optional() -> None:
    assert record_of_json(b"{}") == Outgoing(None, None)


def test_json_values_are_sent_as_their_text() -> None:
    line = b'{"key": 7, "value": {"a": [1, "\xc3\xbc"]}, "headers": {"h": "v", "n": null}}'
    assert record_of_json(line) == Outgoing(b"7", '{"a":[1,"ü"]}'.encode(), [("h", b"v"), ("n", None)])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"key"', "no JSON"),
        (b"[1]", "a record is an object"),
        (b'{"vlaue": 1}', "unknown field vlaue"),
        (b'{"partition": "x"}', "partition: expected a number"),
        (b'{"timestamp": -1}', "timestamp: expected a number"),
        (b'{"headers": "h"}', "headers: expected"),
        (b'{"value": {"base64": "!"}}', "base64"),
    ],
)
def test_what_is_no_record_is_refused(line: bytes, message: str) -> None:
    with pytest.raises(BadRecord, match=message):
        record_of_json(line)
