import re

import pytest

from barnabas.cli.kafka.delete_records import parse_offsets
from barnabas.client.admin.checked_json import BadJson


def test_offsets_of_partitions_are_read() -> None:
    text = """{"partitions": [{"topic": "a", "partition": 1, "offset": 5000000000},
                              {"topic": "a", "partition": 0, "offset": -1}]}"""
    assert parse_offsets(text) == {("a", 1): 5_000_000_000, ("a", 0): -1}
    assert parse_offsets('{"partitions": [], "version": 1, "more": {}}') == {}


_ENTRY = '{"topic": "a", "partition": 0, "offset": 1}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The input string is not a valid JSON"),
        ("{", "The input string is not a valid JSON"),
        ("[1, 2]", "Expected JSON object, received [1,2]"),
        ("{}", "Missing partitions field"),
        ('{"partitions": [], "version": 2}', "Not supported version field value 2"),
        ('{"partitions": [], "version": "1"}', 'Expected `Integer` value, received "1"'),
        ('{"partitions": {"a": 1}}', 'Expected JSON array, received {"a":1}'),
        ('{"partitions": [3]}', "Expected JSON object, received 3"),
        ('{"partitions": [{"partition": 0, "offset": 1}]}', "No such field exists: `topic`"),
        ('{"partitions": [{"topic": "a", "offset": 1}]}', "No such field exists: `partition`"),
        ('{"partitions": [{"topic": "a", "partition": 0}]}', "No such field exists: `offset`"),
        (
            '{"partitions": [{"topic": null, "partition": 0, "offset": 1}]}',
            "Expected `String` value, received null",
        ),
        (
            '{"partitions": [{"topic": "a", "partition": true, "offset": 1}]}',
            "Expected `Integer` value, received true",
        ),
        (
            '{"partitions": [{"topic": "a", "partition": 2147483648, "offset": 1}]}',
            "Expected `Integer` value, received 2147483648",
        ),
        (
            '{"partitions": [{"topic": "a", "partition": 0, "offset": 1.5}]}',
            "Expected `Long` value, received 1.5",
        ),
        (
            f'{{"partitions": [{_ENTRY}, {_ENTRY}, {_ENTRY}]}}',
            "Offset json file contains duplicate topic partitions: a-0",
        ),
    ],
)
def test_file_that_is_wrong_is_refused_with_kafkas_text(text: str, message: str) -> None:
    with pytest.raises(BadJson, match=f"^{re.escape(message)}$"):
        parse_offsets(text)
