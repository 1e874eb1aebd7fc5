"""Lines become records as Kafka's reader makes them, byte for byte."""

import io

import pytest

from barnabas.cli.messages.line_reader import BadLine, LineFormat, LineReader, Outgoing, lines


class _InPieces:
    """Input that comes in pieces of a given size."""

    def __init__(self, content: bytes, size: int) -> None:
        self._content = io.BytesIO(content)
        self._size = size

    def read1(self, size: int, /) -> bytes:
        return self._content.read(self._size)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_lines_end_as_in_java_however_they_come(size: int) -> None:
    content = b"a\nbc\r\n\nd\re\r\r\nlast \xff\xfe"
    found = [line for batch in lines(_InPieces(content, size)) for line in batch]
    assert found == [b"a", b"bc", b"", b"d", b"e", b"", b"last \xff\xfe"]


def test_no_input_has_no_lines() -> None:
    assert list(lines(_InPieces(b"", 10))) == []


def test_a_line_is_given_as_soon_as_it_is_whole() -> None:
    source = lines(_InPieces(b"one\ntwo", 4))
    assert next(source) == [b"one"]


def test_a_huge_line_is_one_line() -> None:
    assert list(lines(_InPieces(b"x" * 1_000_000, 1000))) == [[b"x" * 1_000_000]]


def _records(properties: dict[str, str], *found: bytes) -> list[Outgoing]:
    reader = LineReader(LineFormat.of(properties))
    return [reader.record(line) for line in found]


def test_a_plain_line_is_a_value() -> None:
    assert LineFormat.of({}).is_plain
    assert _records({}, b"k\tv") == [Outgoing(None, b"k\tv")]


def test_keys_and_headers_are_parsed() -> None:
    properties = {"parse.key": "TRUE", "parse.headers": "true", "key.separator": "::"}
    assert _records(properties, b"h1:v1,h2:v:2\tkey::val::ue") == [
        Outgoing(b"key", b"val::ue", [("h1", b"v1"), ("h2", b"v:2")])
    ]


def test_the_null_marker_is_null_everywhere_but_in_names_of_headers() -> None:
    properties = {"parse.key": "true", "parse.headers": "true", "null.marker": "NULL"}
    assert _records(properties, b"NULL\tNULL\tNULL", b"h:NULL\tk\tv") == [
        Outgoing(None, None),
        Outgoing(b"k", b"v", [("h", None)]),
    ]
    with pytest.raises(BadLine, match="Header keys should not be equal to the null marker 'NULL'"):
        _records(properties, b"NULL:x\tk\tv")


@pytest.mark.parametrize(
    ("properties", "line", "message"),
    [
        ({"parse.key": "true"}, b"bad", "No key separator found on line number 2: 'bad'"),
        ({"parse.headers": "true"}, b"bad", "No headers delimiter found on line number 2: 'bad'"),
        (
            {"parse.headers": "true"},
            b"pair\tx",
            "No header key separator found in pair 'pair' on line number 2",
        ),
        ({"parse.headers": "true"}, b"\tx", "No header key separator found in pair '' on line number 2"),
    ],
)
def test_errors_are_kafkas(properties: dict[str, str], line: bytes, message: str) -> None:
    with pytest.raises(BadLine) as error:
        _records(properties, b"h:v\tfine\t", line)
    assert str(error.value) == f"org.apache.kafka.common.KafkaException: {message}"


def test_errors_can_be_ignored() -> None:
    properties = {"parse.key": "true", "parse.headers": "true", "ignore.error": "true"}
    assert _records(properties, b"bare", b"h\tk\tv") == [
        Outgoing(None, b"bare"),
        Outgoing(b"k", b"v", [("h", None)]),
    ]


def test_headers_are_split_as_javas_expression_splits() -> None:
    properties = {"parse.headers": "true", "headers.separator": ";+"}
    assert _records(properties, b"a:1;;b:2;;\tv", b";\tv") == [
        Outgoing(None, b"v", [("a", b"1"), ("b", b"2")]),
        Outgoing(None, b"v", []),
    ]
    with pytest.raises(BadLine):
        _records({"headers.separator": "("}, b"x")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"headers.delimiter": ","}, "headers.delimiter and headers.separator may not be equal"),
        ({"headers.key.separator": ","}, "headers.separator and headers.key.separator may not be equal"),
        ({"null.marker": "\t"}, "null.marker and key.separator may not be equal"),
    ],
)
def test_separators_must_differ(properties: dict[str, str], message: str) -> None:
    with pytest.raises(BadLine, match=message):
        LineFormat.of(properties)
