import pytest
from tests.strategies.records import CODECS
from tests.unit.spark.arrow.samples import SHAPES, TIME, many_records, records_of

from barnabas.base.errors import CorruptMessage, UnsupportedForMessageFormat
from barnabas.records.batch import HEADER_SIZE, parse_header
from barnabas.records.builder import assemble, build_batch
from barnabas.records.control import build_end_marker
from barnabas.records.record import Record
from barnabas.spark.arrow.batch_scan import scan, scan_pieces
from barnabas.spark.arrow.columns import decode
from barnabas.spark.arrow.corrupt_records import CorruptRecords

RECORDS = many_records(SHAPES[1], 1, 30)


def _transactional(producer_id: int, base_offset: int, count: int = 2) -> bytes:
    return build_batch(
        RECORDS[:count],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )


def _marker(producer_id: int, base_offset: int, *, commit: bool) -> bytes:
    return build_end_marker(producer_id, 0, commit, 0, TIME, base_offset=base_offset)


def _offsets(fetched: bytes, aborted: list[tuple[int, int]], start: int = 0) -> list[int]:
    return [record.offset for record in records_of(fetched, aborted=aborted, start=start)]


def test_uncompressed_records_are_not_copied() -> None:
    fetched = build_batch(RECORDS)
    assert scan(fetched, start_offset=0).work is fetched


def test_batches_before_and_behind_the_range_are_not_even_unpacked() -> None:
    first, second, third = (build_batch(RECORDS, base_offset=at, compression=3) for at in (0, 30, 60))
    scanned = scan(first + second + third, start_offset=30, stop_offset=60)
    assert [batch.base_offset for batch in scanned.batches] == [30]
    assert scanned.next_offset == 60


def test_the_next_offset_covers_what_compaction_removed_from_the_end_of_a_batch() -> None:
    compacted = build_batch(RECORDS[:3], base_offset=10, keep_offsets=False, last_offset=44)
    assert scan(compacted, start_offset=10).next_offset == 45
    emptied = build_batch([], base_offset=45, last_offset=80)
    assert scan(compacted + emptied, start_offset=10).next_offset == 81


def test_the_next_offset_lies_behind_a_range_that_ends_in_a_gap() -> None:
    fetched = build_batch(RECORDS, base_offset=0) + build_batch(RECORDS, base_offset=90)
    assert scan(fetched, start_offset=0, stop_offset=50).next_offset == 90


@pytest.mark.parametrize("left", [1, 16, 17, 60, 61, 200])
def test_a_batch_that_is_cut_short_waits_for_the_next_fetch(left: int) -> None:
    whole, cut = build_batch(RECORDS), build_batch(RECORDS, base_offset=30)[:left]
    assert records_of(whole + cut) == RECORDS
    assert scan(whole + cut, start_offset=0).next_offset == 30


@pytest.mark.parametrize("left", [1, 17, 60, 61, 200])
def test_a_first_batch_that_is_cut_short_is_corrupt(left: int) -> None:
    with pytest.raises(CorruptRecords, match=f"t-0 at offset 5: the first batch is cut after {left} bytes"):
        scan(build_batch(RECORDS, base_offset=5)[:left], start_offset=5, topic="t", partition=0)


def test_a_wrong_checksum_names_the_offset() -> None:
    good = build_batch(RECORDS, base_offset=5)
    bad = bytearray(build_batch(RECORDS, base_offset=35))
    bad[-1] ^= 1
    with pytest.raises(CorruptRecords, match="orders-7 at offset 35: the checksum"):
        scan(good + bad, start_offset=5, topic="orders", partition=7)
    assert scan(good + bad, start_offset=5, check_crc=False).next_offset == 65
    assert issubclass(CorruptRecords, CorruptMessage)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_refused_by_name(magic: int) -> None:
    message = bytearray(34)
    message[11] = 22
    message[16] = magic
    with pytest.raises(UnsupportedForMessageFormat, match=f"t-1 at offset 4: message format v{magic}"):
        scan(bytes(message), start_offset=4, topic="t", partition=1)


@pytest.mark.parametrize(
    "field",
    [
        {"magic": 9},
        {"base_offset": -1},
        {"base_offset": 2**63 - 1},
        {"last_offset_delta": -1},
        {"record_count": -5},
        {"record_count": 2**31 - 1},
        {"attributes": 5},
        {"attributes": 3},
    ],
)
def test_headers_of_absurd_numbers_are_corrupt(field: dict[str, int]) -> None:
    batch = build_batch(RECORDS)
    header = parse_header(batch)._replace(**field)
    with pytest.raises(CorruptRecords):
        scan(assemble(header, batch[HEADER_SIZE:]), start_offset=0)


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48, 2**31 - 1])
def test_lengths_of_absurd_size_are_corrupt(length: int) -> None:
    batch = bytearray(build_batch(RECORDS))
    batch[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptRecords):
        scan(bytes(batch), start_offset=0)


@pytest.mark.parametrize("codec", CODECS)
def test_damaged_compressed_data_names_the_offset(codec: int) -> None:
    batch = build_batch(RECORDS, base_offset=8, compression=codec)
    half = assemble(parse_header(batch), batch[HEADER_SIZE : HEADER_SIZE + (len(batch) - HEADER_SIZE) // 2])
    with pytest.raises(CorruptRecords, match="t-0 at offset 8"):
        decode(scan(half, start_offset=0, topic="t", partition=0), "t", 0)


def test_control_batches_give_no_rows_but_count() -> None:
    fetched = _transactional(1, 0) + _marker(1, 2, commit=True)
    assert _offsets(fetched, []) == [0, 1]
    assert scan(fetched, start_offset=0).next_offset == 3


def test_aborted_transactions_are_dropped_until_their_marker() -> None:
    fetched = b"".join(
        (
            _transactional(1, 0), _transactional(2, 2), build_batch(RECORDS[:1], base_offset=4),
            _marker(1, 5, commit=False), _transactional(1, 6), _marker(2, 8, commit=True),
            _marker(1, 9, commit=True), _transactional(2, 10), _marker(2, 12, commit=False),
        )
    )  # fmt: skip
    assert _offsets(fetched, []) == [0, 1, 2, 3, 4, 6, 7, 10, 11]
    assert _offsets(fetched, [(2, 10), (1, 0)]) == [2, 3, 4, 6, 7]


def test_a_transaction_that_began_before_the_fetch_is_dropped_too() -> None:
    fetched = _transactional(1, 50) + _marker(1, 52, commit=False) + _transactional(1, 53)
    assert _offsets(fetched, [(1, 3)], start=50) == [53, 54]


def test_a_producer_without_transaction_is_never_dropped() -> None:
    plain = build_batch(RECORDS[:2], producer_id=1, producer_epoch=0, base_sequence=0)
    assert _offsets(plain, [(1, 0)]) == [0, 1]


def test_an_abort_marker_of_another_layout_is_known_and_an_emptied_one_says_nothing() -> None:
    usual = parse_header(_marker(1, 2, commit=False))
    key = b"\x00\x00\x00\x00"
    compressed = build_batch(
        [Record(0, TIME, key, b"\x00\x00\x00\x00\x00\x00", (("h", None),))],
        base_offset=2, producer_id=1, producer_epoch=0, transactional=True, control=True, compression=1,
    )  # fmt: skip
    fetched = _transactional(1, 0) + compressed + _transactional(1, 3)
    assert _offsets(fetched, [(1, 0)]) == [3, 4]
    emptied = assemble(usual._replace(record_count=0), b"")
    assert _offsets(_transactional(1, 0) + emptied + _transactional(1, 3), [(1, 0)]) == []


def test_pieces_bound_what_is_unpacked_and_give_the_same_rows() -> None:
    parts = []
    for number in range(6):
        parts += [_transactional(1, 5 * number, 4), _marker(1, 5 * number + 4, commit=number % 2 == 0)]
    fetched = b"".join(parts)
    aborted = [(1, 5), (1, 15), (1, 25)]
    pieces = list(scan_pieces(fetched, aborted=aborted, start_offset=2, stop_offset=23, piece_bytes=300))
    offsets = [each for piece in pieces for each in decode(piece, "t", 0, ("offset",))["offset"].to_pylist()]
    assert offsets == [2, 3, 10, 11, 12, 13, 20, 21, 22]
    assert len(pieces) > 2
    assert pieces[-1].next_offset == 24
    assert [piece.next_offset for piece in pieces] == sorted(piece.next_offset for piece in pieces)


def test_pieces_of_compressed_batches_hold_only_their_own() -> None:
    fetched = b"".join(build_batch(RECORDS, base_offset=30 * at, compression=at % 5) for at in range(5))
    pieces = list(scan_pieces(fetched, start_offset=0, piece_bytes=1))
    rows = [decode(piece, "t", 0, ("value",)).num_rows for piece in pieces]
    assert sum(rows) == 150
    assert max(rows) == 30


def test_nothing_to_scan_is_one_empty_piece() -> None:
    (piece,) = scan_pieces(b"", start_offset=4)
    assert (piece.batches, piece.next_offset) == ([], 4)
