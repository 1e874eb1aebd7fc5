import pytest

from barnabas.cli.moment import parse_moment

NOW = 1_800_000_000.5
DAY = 86_400_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1700000000000", 1_700_000_000_000),
        ("0", 0),
        ("7d", 1_800_000_000_500 - 7 * DAY),
        ("1w2d", 1_800_000_000_500 - 9 * DAY),
        ("2h30m", 1_800_000_000_500 - 9_000_000),
        ("90s", 1_800_000_000_500 - 90_000),
        ("99999999d", 0),
        ("1970-01-02", DAY),
        ("1969-12-31", 0),
        ("1970-01-01T08:30", 30_600_000),
        ("1970-01-01T08:30:00.250Z", 30_600_250),
        ("1970-01-01T08:30+01:00", 27_000_000),
    ],
)
def test_time_is_understood(text: str, moment: int) -> None:
    assert parse_moment(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "d", "3m2h", "-1d", "2026-13-01", "7 d"])
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time: expected 2026-01-31"):
        parse_moment(text, NOW)
