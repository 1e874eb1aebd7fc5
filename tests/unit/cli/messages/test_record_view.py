"""How `barnabas consume` shows records, and where it begins."""

import datetime as dt

import pytest
from tests.unit.cli.messages.fake_record import FakeRecord

from barnabas.cli.messages.record_view import record_filter, shower
from barnabas.cli.messages.start_point import BadStart, StartPoint, parse_start
from barnabas.client.errors import BadSettings

_NOW = 1_700_000_000_000


def _shown(record: FakeRecord, *, template: str | None = None, is_terminal: bool = False) -> str:
    return shower(as_json=False, template=template, is_terminal=is_terminal)(record).decode()


def test_a_pipe_gets_the_value() -> None:
    assert _shown(FakeRecord()) == "value\n"
    assert _shown(FakeRecord(None)) == "\n"


def test_a_terminal_gets_everything_and_no_control_characters() -> None:
    text = _shown(FakeRecord(b"a\x1b[2Jb\xff", pairs=[("h", b"x")]), is_terminal=True)
    assert "orders-2@5" in text
    assert "h=x" in text
    assert "a\\x1b[2Jb\\xff" in text


def test_a_template_names_what_it_wants() -> None:
    record = FakeRecord(pairs=[("a", b"1"), ("b", b"2")])
    text = _shown(record, template=r"{topic}/{partition}@{offset}\t{timestamp} {key}={value} {headers}")
    assert text == "orders/2@5\t1700000000123 key=value a=1,b=2\n"
    with pytest.raises(BadSettings, match=r"unknown field \{nope\}"):
        _shown(record, template="{nope}")


def test_json_is_one_line() -> None:
    line = shower(as_json=True, template=None, is_terminal=True)(FakeRecord())
    assert line.count(b"\n") == 1
    assert b'"key": "key"' in line


def test_a_filter_looks_at_key_and_value() -> None:
    assert record_filter(None)(FakeRecord())
    wanted = record_filter("^v.l")
    assert wanted(FakeRecord())
    assert wanted(FakeRecord(b"x", b"val"))
    assert not wanted(FakeRecord(b"x", None))
    with pytest.raises(BadSettings, match="not a regular expression"):
        record_filter("(")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("beginning", StartPoint()),
        ("Earliest", StartPoint()),
        ("end", StartPoint(is_end=True)),
        ("17", StartPoint(offset=17)),
        ("-1h", StartPoint(timestamp_ms=_NOW - 3_600_000)),
        ("-1.5m", StartPoint(timestamp_ms=_NOW - 90_000)),
        ("-999999w", StartPoint(timestamp_ms=0)),
        ("2023-11-14T22:13:20Z", StartPoint(timestamp_ms=_NOW)),
        ("2023-11-14T22:13:20.5+00:00", StartPoint(timestamp_ms=_NOW + 500)),
    ],
)
def test_a_start_is_read(text: str, start: StartPoint) -> None:
    assert parse_start(text, _NOW) == start


def test_a_time_without_a_zone_is_local() -> None:
    here = dt.datetime(2023, 11, 14, 22, 13, 20).astimezone()
    assert parse_start("2023-11-14 22:13:20", _NOW).timestamp_ms == int(here.timestamp()) * 1000


@pytest.mark.parametrize("text", ["", "soon", "-1", "-1y", "1.5"])
def test_what_is_no_start_is_refused(text: str) -> None:
    with pytest.raises(BadStart, match="not a valid start"):
        parse_start(text, _NOW)
