import pytest

from barnabas.cli.byte_size import shown_bytes


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024 * 1024 - 1, "1.0 MiB"),
        (5 * 1024**3, "5.0 GiB"),
        (3 * 1024**6, "3072.0 PiB"),
    ],
)
def test_bytes_are_shown_in_the_largest_unit_that_fits(count: int, text: str) -> None:
    assert shown_bytes(count) == text
