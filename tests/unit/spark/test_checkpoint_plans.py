from pathlib import Path

import pytest

from barnabas.spark.checkpoint_plans import CheckpointPlans, read_plans


def plan(directory: Path, batch: int, *offsets: str, time: int = 1) -> None:
    (directory / "offsets").mkdir(exist_ok=True)
    lines = ["v1", f'{{"batchTimestampMs":{time}}}', *offsets]
    (directory / "offsets" / str(batch)).write_text("\n".join(lines))
    (directory / "offsets" / f".{batch}.crc").write_bytes(b"crc")


def test_the_newest_two_batches_are_read(tmp_path: Path) -> None:
    for batch in range(9, 12):
        plan(tmp_path, batch, f'{{"t":{{"0":{batch}}}}}', "-")
    plans = read_plans(str(tmp_path))
    assert sorted(plans.digests) == [10, 11]
    assert plans.end_offsets_of(11) == '{"t":{"0":11}}'
    assert plans.end_offsets_of(10) is None


def test_a_batch_that_is_planned_anew_has_another_digest(tmp_path: Path) -> None:
    plan(tmp_path, 0, "{}")
    before = read_plans(str(tmp_path))
    assert read_plans(str(tmp_path)) == before
    plan(tmp_path, 0, "{}", time=2)
    assert read_plans(str(tmp_path)).digests[0] != before.digests[0]


@pytest.mark.parametrize("scheme", ["file:", "file://"])
def test_uris_of_files_are_paths(tmp_path: Path, scheme: str) -> None:
    directory = tmp_path / "a b"
    directory.mkdir()
    plan(directory, 0, "{}")
    assert read_plans(f"{scheme}{str(directory).replace(' ', '%20')}") == read_plans(str(directory))
    assert read_plans(str(directory)).digests


@pytest.mark.parametrize(
    "location", [None, "s3a://bucket/checkpoint", "hdfs:///checkpoint", "nowhere/at/all"]
)
def test_nothing_is_known_of_checkpoints_that_cannot_be_read(location: str | None) -> None:
    assert read_plans(location) == CheckpointPlans()


def test_end_offsets_are_such_as_a_new_query_can_start_at(tmp_path: Path) -> None:
    plan(tmp_path, 3, '{"@ids t=abc":{},"t":{"0":40}}', "17")
    assert read_plans(str(tmp_path)).end_offsets_of(3) == '{"t": {"0": 40}} 17'
