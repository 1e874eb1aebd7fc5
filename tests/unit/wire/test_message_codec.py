import datetime as dt

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader
from tests.fakes.scripted_broker import _frame

from barnabas.wire import message_codec as codec
from barnabas.wire.message_codec import (
    Unencodable,
    Versions,
    api_key,
    decode_response,
    encode_request,
    known_versions,
)


def test_versions_are_those_of_the_schema() -> None:
    assert known_versions("create_topics") == Versions(2, 7)
    assert api_key("create_topics") == 19


@pytest.mark.parametrize("version", range(2, 8))
def test_one_description_serves_every_version(version: int) -> None:
    topic = {"name": "t", "num_partitions": 3, "replication_factor": 1, "no_such_field": True}
    frame = encode_request(
        "create_topics", version, 7, "me", {"topics": [topic], "timeout": 1500, "of_another_version": 1}
    )
    entity = codec._class("create_topics", version, "request")
    header, size = entity_reader(entity.__header_schema__)(frame, 0)
    request, _ = entity_reader(entity)(frame, size)
    assert (header.request_api_version, header.correlation_id, header.client_id) == (version, 7, "me")
    assert (request.topics[0].name, request.topics[0].num_partitions) == ("t", 3)
    assert request.topics[0].assignments == ()
    assert request.timeout == dt.timedelta(seconds=1.5)


@pytest.mark.parametrize("version", range(2, 8))
def test_every_answer_comes_in_the_newest_shape(version: int) -> None:
    result = {"name": "t", "error_code": 36, "error_message": "there"}
    answer = _frame("create_topics", version, 7, {"topics": [result]})[4:]
    (topic,) = decode_response("create_topics", version, answer).topics
    assert (topic.name, topic.error_code, topic.error_message) == (
        "t",
        ErrorCode.topic_already_exists,
        "there",
    )
    assert topic.topic_id is None


def test_answer_can_be_held_in_an_older_shape() -> None:
    answer = _frame("find_coordinator", 1, 7, {"node_id": 5, "host": "h", "port": 1})[4:]
    assert decode_response("find_coordinator", 1, answer, shape=3).node_id == 5


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"topics": [{"name": "t", "num_partitions": 2**31}]}, "a number is too large"),
        ({"topics": [{"name": "t", "replication_factor": -(2**15) - 1}]}, "a number is too large"),
        ({"topics": [{"name": "t\udcff"}]}, r"'t\\udcff' is not UTF-8 text"),
        ({"topics": [], "timeout": 10**20}, "a time is too long"),
    ],
)
def test_value_that_no_request_can_carry_is_one_line(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(Unencodable, match=f"^CREATE_TOPICS cannot be encoded: {reason}") as failure:
        encode_request("create_topics", 5, 1, "me", fields)
    assert "\n" not in str(failure.value)


def test_text_that_is_too_long_is_reported() -> None:
    with pytest.raises(Unencodable, match="too long"):
        encode_request("create_topics", 2, 1, "me", {"topics": [{"name": "t" * 40_000}]})
