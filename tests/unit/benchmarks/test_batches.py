import struct

from benchmarks.batches import batch, batch_of_size, set_producer, uvarint, varint
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import HEADER, TRANSACTIONAL_MASK, BatchHeader
from barnabas.records.record import decode_records


def unzigzag(encoded: bytes) -> int:
    value = sum((byte & 0x7F) << (7 * index) for index, byte in enumerate(encoded))
    return (value >> 1) ^ -(value & 1)


@given(st.integers(-(2**31), 2**31 - 1))
def test_varint_decodes_to_the_same_number(number: int) -> None:
    assert unzigzag(varint(number)) == number


def test_uvarint_uses_seven_bits_a_byte() -> None:
    assert uvarint(0) == b"\x00"
    assert uvarint(300) == b"\xac\x02"


def test_batch_has_a_correct_length_and_checksum() -> None:
    encoded = batch([b"a" * 100, b""], timestamp_ms=1)
    length, _, magic, crc = struct.unpack_from(">iibI", encoded, 8)
    assert length + 12 == len(encoded)
    assert magic == 2
    assert crc == crc32c(encoded[21:])


def test_a_producer_put_into_a_batch_is_under_its_checksum() -> None:
    encoded = bytearray(batch([b"a", b"b"], timestamp_ms=1, is_transactional=True))
    set_producer(memoryview(encoded), 4000, 7, sequence=5)
    header = BatchHeader(*HEADER.unpack_from(encoded))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4000, 7, 5)
    assert header.attributes == TRANSACTIONAL_MASK
    assert header.crc == crc32c(encoded[21:])
    assert [record.value for record in decode_records(bytes(encoded))] == [b"a", b"b"]


def test_broker_reads_the_records_of_a_batch() -> None:
    values = [b"value-%d" % number for number in range(300)]
    assert [record.value for record in decode_records(batch(values))] == values


def test_batch_of_size_fills_the_size_with_whole_records() -> None:
    encoded, records = batch_of_size(1_000_000, 100)
    assert 1_000_000 - 120 < len(encoded) <= 1_000_000
    assert struct.unpack_from(">i", encoded, 57) == (records,)
