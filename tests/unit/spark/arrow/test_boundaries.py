import pytest
from tests.unit.spark.arrow.samples import SHAPES, TIME, many_records, records_of

from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.spark.arrow import boundaries
from barnabas.spark.arrow.batch_scan import ScannedBatch


@pytest.fixture
def _no_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow way, record by record, fails the test."""

    def refuse(work: object, batch: ScannedBatch, contents: list[int], ends: list[int]) -> None:
        raise AssertionError(f"{batch.count} records were looked for one by one")

    monkeypatch.setattr(boundaries, "_walk_chain", refuse)


@pytest.mark.usefixtures("_no_walk")
@pytest.mark.parametrize("size", [20, 100, 1000, 20_000])
def test_records_of_one_size_are_found_together(size: int) -> None:
    records = [Record(number, TIME, b"key", b"\x00" * size) for number in range(600)]
    assert records_of(build_batch(records)) == records


@pytest.mark.usefixtures("_no_walk")
@pytest.mark.parametrize("batch_size", [50, 700, 3000])
@pytest.mark.parametrize("codec", [0, 3])
@pytest.mark.parametrize("shape", [SHAPES[1], SHAPES[2], SHAPES[3]])
def test_records_of_text_or_of_random_bytes_are_found_together(
    shape: object, codec: int, batch_size: int
) -> None:
    records = many_records(shape, 8, 3000)  # type: ignore[arg-type]  # parametrize hides the type
    fetched = b"".join(
        build_batch(records[at : at + batch_size], base_offset=at, compression=codec)
        for at in range(0, len(records), batch_size)
    )
    assert records_of(fetched) == records


def test_batches_without_proof_do_not_spoil_the_others() -> None:
    shapes = (SHAPES[1], SHAPES[6], SHAPES[4], SHAPES[1], SHAPES[0])
    expected: list[Record] = []
    fetched = b""
    for shape in shapes:
        records = many_records(shape, 9, 600)
        fetched += build_batch(records, base_offset=len(expected))
        expected += [record._replace(offset=record.offset + len(expected)) for record in records]
    assert records_of(fetched) == expected


def test_skipped_batches_between_are_not_taken_for_records() -> None:
    records = many_records(SHAPES[1], 10, 400)
    control = build_batch(records, base_offset=400, control=True)
    fetched = build_batch(records) + control + build_batch(records, base_offset=800)
    assert [record.offset for record in records_of(fetched)] == [*range(400), *range(800, 1200)]
