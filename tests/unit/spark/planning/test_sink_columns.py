"""The messages are those of Spark's KafkaWriter, word for word."""

import re

import pytest

from barnabas.spark.planning.sink_columns import SinkColumns

VALUE = ("value", "binary")
HEADERS = ("headers", "array<struct<key:string,value:binary>>")


def test_columns_are_found_by_their_names_wherever_they_stand() -> None:
    fields = [("offset", "bigint"), HEADERS, VALUE, ("timestamp", "timestamp"), ("topic", "string"),
              ("partition", "int"), ("key", "string")]  # fmt: skip
    columns = SinkColumns.of(fields, None, write_timestamp=True)
    assert columns == SinkColumns(value=2, key=6, topic=4, headers=1, partition=5, timestamp=3)


def test_the_option_wins_over_a_topic_column_of_any_type() -> None:
    assert SinkColumns.of([VALUE, ("topic", "int")], "orders").topic is None


def test_of_two_columns_of_one_name_the_first_counts() -> None:
    assert SinkColumns.of([VALUE, ("key", "binary"), ("key", "int")], "orders").key == 1


def test_names_are_case_sensitive() -> None:
    with pytest.raises(ValueError, match="Required attribute 'value' not found"):
        SinkColumns.of([("Value", "binary")], "orders")


def test_a_timestamp_may_be_milliseconds() -> None:
    fields = [VALUE, ("timestamp", "bigint")]
    assert SinkColumns.of(fields, "orders", write_timestamp=True).timestamp == 1


@pytest.mark.parametrize("kind", ["timestamp", "bigint", "string", "struct<a:int>"])
def test_a_timestamp_of_any_type_is_left_alone_unless_it_is_to_be_written(kind: str) -> None:
    assert SinkColumns.of([VALUE, ("timestamp", kind)], "orders").timestamp is None


def test_a_timestamp_that_is_to_be_written_must_be_there() -> None:
    with pytest.raises(ValueError, match="Option 'writeTimestamp' is set, but there is no column"):
        SinkColumns.of([VALUE], "orders", write_timestamp=True)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (("key", "int"), "key attribute unsupported type int. key must be a(n) string or binary"),
        (("topic", "binary"), "topic attribute unsupported type binary. topic must be a(n) string"),
        (("partition", "bigint"), "partition attribute unsupported type bigint. partition must be a(n) int"),
        (
            ("headers", "string"),
            "headers attribute unsupported type string. headers must be a(n) " + HEADERS[1],
        ),
        (
            ("timestamp", "string"),
            "timestamp attribute unsupported type string. timestamp must be a(n) timestamp or bigint",
        ),
    ],
)
def test_a_type_that_does_not_fit_is_refused(field: tuple[str, str], message: str) -> None:
    topic = None if field[0] == "topic" else "orders"
    with pytest.raises(ValueError, match=re.escape(message)):
        SinkColumns.of([VALUE, field], topic, write_timestamp=field[0] == "timestamp")


def test_a_value_is_needed_and_must_be_bytes() -> None:
    with pytest.raises(ValueError, match="Required attribute 'value' not found"):
        SinkColumns.of([("key", "binary")], "orders")
    with pytest.raises(ValueError, match=re.escape("value must be a(n) string or binary")):
        SinkColumns.of([("value", "struct<a:int>")], "orders")


def test_missing_topic_is_refused() -> None:
    message = "topic option required when no 'topic' attribute is present. Use the topic option for setting"
    with pytest.raises(ValueError, match=re.escape(message)):
        SinkColumns.of([VALUE], None)
