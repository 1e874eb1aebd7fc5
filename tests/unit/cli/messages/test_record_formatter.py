"""Records are printed as Kafka's formatters print them."""

import struct

import pytest
from tests.unit.cli.messages.fake_record import FakeRecord

from barnabas.cli.messages.deserializers import Undecodable
from barnabas.cli.messages.record_formatter import UnknownFormatter, formatter_of

_DEFAULT = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"
_JAVA = "org.apache.kafka.common.serialization."


def _shown(properties: dict[str, str], record: FakeRecord | None = None) -> bytes:
    return formatter_of(_DEFAULT, properties)(record or FakeRecord())


def test_the_value_alone_is_the_default() -> None:
    assert _shown({}) == b"value\n"
    assert _shown({}, FakeRecord(b"\xff\x00")) == b"\xff\x00\n"
    assert _shown({}, FakeRecord(None)) == b"null\n"


def test_columns_stand_in_kafkas_order() -> None:
    every = {f"print.{name}": "true" for name in ("value", "key", "headers", "epoch", "delivery", "offset")}
    every |= {"print.partition": "true", "print.timestamp": "TRUE "}
    record = FakeRecord(pairs=[("a", b"1"), ("b", None)])
    assert _shown(every, record) == (
        b"CreateTime:1700000000123\tPartition:2\tOffset:5\tDelivery:NOT_PRESENT\tEpoch:NOT_PRESENT\t"
        b"a:1,b:null\tkey\tvalue\n"
    )


def test_what_is_missing_has_a_word() -> None:
    properties = {"print.timestamp": "true", "print.headers": "true", "print.key": "true"}
    record = FakeRecord(raw_key=None, time=(0, -1))
    assert _shown(properties, record) == b"NO_TIMESTAMP\tNO_HEADERS\tnull\tvalue\n"
    assert _shown({**properties, "null.literal": "-"}, record).endswith(b"\t-\tvalue\n")
    assert _shown({"print.timestamp": "true"}, FakeRecord(time=(2, 7))) == b"LogAppendTime:7\tvalue\n"


def test_separators_can_be_chosen() -> None:
    properties = {"print.key": "true", "key.separator": " => ", "line.separator": "\0"}
    assert _shown(properties) == b"key => value\0"
    assert _shown({"print.value": "false"}) == b""
    assert _shown({"print.value": "false", "print.key": "true"}) == b"key\n"


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [
        ("StringDeserializer", b"gr\xc3\xbc\xff", "grü\ufffd"),
        ("IntegerDeserializer", struct.pack(">i", -7), "-7"),
        ("ShortDeserializer", struct.pack(">h", 300), "300"),
        ("LongDeserializer", struct.pack(">q", 1 << 40), "1099511627776"),
        ("DoubleDeserializer", struct.pack(">d", 0.1), "0.1"),
        ("DoubleDeserializer", struct.pack(">d", 1e7), "1.0E7"),
        ("DoubleDeserializer", struct.pack(">d", 123456789.125), "1.23456789125E8"),
        ("DoubleDeserializer", struct.pack(">d", -0.00012), "-1.2E-4"),
        ("DoubleDeserializer", struct.pack(">d", 100.0), "100.0"),
        ("DoubleDeserializer", struct.pack(">d", float("nan")), "NaN"),
        ("DoubleDeserializer", struct.pack(">d", float("-inf")), "-Infinity"),
        ("FloatDeserializer", struct.pack(">f", 0.1), "0.1"),
        ("FloatDeserializer", struct.pack(">f", 16777216.0), "1.6777216E7"),
        ("FloatDeserializer", struct.pack(">f", 1234567.0), "1234567.0"),
        ("BooleanDeserializer", b"\x01", "true"),
        ("BytesDeserializer", b"a\\\x00\xff", "a\\x5C\\x00\\xFF"),
        ("ByteArrayDeserializer", b"abc", "abc"),
        ("UUIDDeserializer", b"D5A7F9C0-0000-4000-8000-000000000001", "d5a7f9c0-0000-4000-8000-000000000001"),
    ],
)
def test_deserializers_print_javas_text(name: str, raw: bytes, text: str) -> None:
    assert _shown({"value.deserializer": _JAVA + name}, FakeRecord(raw)) == text.encode() + b"\n"


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("LongDeserializer", b"1", "Size of data received by LongDeserializer is not 8"),
        ("UUIDDeserializer", b"no", "Error parsing data into UUID"),
        ("BooleanDeserializer", b"\xff", "Unexpected byte received by BooleanDeserializer: -1"),
    ],
)
def test_bytes_of_another_type_are_an_error(name: str, raw: bytes, message: str) -> None:
    with pytest.raises(Undecodable, match=message):
        _shown({"value.deserializer": _JAVA + name}, FakeRecord(raw))


def test_a_missing_key_is_read_as_the_null_literal() -> None:
    properties = {"print.key": "true", "key.deserializer": _JAVA + "IntegerDeserializer"}
    assert _shown(properties, FakeRecord(raw_key=None)) == b"1853189228\tvalue\n"


def test_an_encoding_belongs_to_its_deserializer() -> None:
    properties = {
        "value.deserializer": _JAVA + "StringDeserializer",
        "value.deserializer.value.deserializer.encoding": "latin-1",
    }
    assert _shown(properties, FakeRecord(b"\xfc")) == "ü\n".encode()


def test_an_unknown_deserializer_is_reported_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert _shown({"value.deserializer": "com.example.Own"}) == b"value\n"
    assert "ERROR Unable to instantiate a deserializer from com.example.Own" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["kafka.tools.NoOpMessageFormatter", "NoOpMessageFormatter"])
def test_the_silent_formatter_prints_nothing(name: str) -> None:
    assert formatter_of(name, {})(FakeRecord()) == b""


def test_the_logging_formatter_also_logs(capsys: pytest.CaptureFixture[str]) -> None:
    shown = formatter_of("kafka.tools.LoggingMessageFormatter", {})(FakeRecord(raw_key=None))
    assert shown == b"value\n"
    assert "INFO CreateTime:1700000000123, key:null value:value" in capsys.readouterr().err


def test_an_unknown_formatter_is_refused_by_name() -> None:
    with pytest.raises(UnknownFormatter, match=r"com\.example\.Pretty"):
        formatter_of("com.example.Pretty", {})


def test_offsets_are_json_without_an_end_of_line() -> None:
    key = b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x03"
    value = b"\x00\x03" + struct.pack(">qi", 42, -1) + b"\x00\x00" + struct.pack(">q", 1_700_000_000_000)
    formatter = formatter_of("kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter", {})
    assert formatter(FakeRecord(value, key)) == (
        b'{"key":{"type":1,"data":{"group":"g","topic":"t","partition":3}},"value":{"version":3,"data":'
        b'{"offset":42,"leaderEpoch":-1,"metadata":"","commitTimestamp":1700000000000}}}'
    )
    assert formatter(FakeRecord(None, key)).endswith(b'"value":null}')
    assert formatter(FakeRecord(b"", b"\x00\x02\x00\x01g")) == b""
    assert formatter(FakeRecord(b"", None)) == b""
    with pytest.raises(Undecodable, match="Could not read record at offset 5 due to: "):
        formatter(FakeRecord(b"\x00", key))
