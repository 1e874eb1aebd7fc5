import pytest

from barnabas.client.admin.iso_time import BadTime, parse_datetime, parse_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("1970-01-01T00:00:00.000Z", 0),
        ("1970-01-01T01:00:00.000+01:00", 0),
        ("1970-01-01T01:00:00.000+01", 0),
        ("1969-12-31T22:30:00.000-0130", 0),
        ("2020-02-29T12:34:56.789", 1_582_979_696_789),
        ("1969-12-31T23:59:59.999", -1),
    ],
)
def test_datetime_is_milliseconds_since_1970(text: str, expected: int) -> None:
    assert parse_datetime(text) == expected


@pytest.mark.parametrize("text", ["2020-01-01", "", "2020-01-01T"])
def test_datetime_without_a_time_is_refused_with_kafkas_text(text: str) -> None:
    with pytest.raises(BadTime, match="does not contain a 'T' according to ISO8601"):
        parse_datetime(text)


@pytest.mark.parametrize(
    "text",
    ["2020-01-01T10", "2020-01-01T10:00:00", "2020-02-30T10:00:00.000", "2020-01-01T25:00:00.000", "xTy"],
)
def test_datetime_that_is_none_is_refused_with_the_text_as_it_was_read(text: str) -> None:
    with pytest.raises(BadTime, match=f'Unparseable date: "{text}Z"'):
        parse_datetime(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT1S", 1000),
        ("PT1.5S", 1500),
        ("PT-1.5S", -1500),
        ("PT2H3M", 7_380_000),
        ("P1D", 86_400_000),
        ("p1dt1h", 90_000_000),
        ("-PT1H", -3_600_000),
        ("PT0S", 0),
        ("PT0.1234S", 123),
        ("PT1,25S", 1250),
    ],
)
def test_duration_is_milliseconds(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "P", "PT", "1h", "P1M", "P1DT", "PT1S1M", "P1H"])
def test_duration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadTime, match="Text cannot be parsed to a Duration"):
        parse_duration(text)
