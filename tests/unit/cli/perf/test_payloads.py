from itertools import islice
from pathlib import Path

import pytest

from barnabas.cli.perf.payloads import any_of, from_file, numbers, random_letters


def test_letters_have_the_size_and_differ() -> None:
    found = list(islice(random_letters(50), 100))
    assert {len(each) for each in found} == {50}
    assert len(set(found)) > 90
    assert b"".join(found).isalpha()
    assert b"".join(found).isupper()


def test_every_run_sends_the_same() -> None:
    assert list(islice(random_letters(10), 20)) == list(islice(random_letters(10), 20))


def test_file_is_cut_at_the_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "payloads"
    path.write_text("a;b\nc;\u00fc;")
    assert from_file(path, ";") == [b"a", b"b\nc", "\u00fc".encode()]
    assert set(islice(any_of(from_file(path, ";")), 100)) == {b"a", b"b\nc", "\u00fc".encode()}


@pytest.mark.parametrize("content", [None, ""])
def test_missing_or_empty_file_is_reported(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "payloads"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match="does not exist or empty file"):
        from_file(path, "\n")


def test_numbers_count_up() -> None:
    assert list(islice(numbers(), 3)) == [b"0", b"1", b"2"]
