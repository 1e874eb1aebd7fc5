"""The view decides by where its output goes: these tests run it in a pipe and on a real terminal."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest
from tests.patience import PATIENCE

from barnabas.cli.view import Column, Table, View, plain_table

COLUMNS = [Column("NAME", "name", style="bold"), Column("COUNT", "count", is_number=True)]
SETUP = (
    "from barnabas.cli.view import *\n"
    "columns = [Column('NAME', 'name', style='bold'), Column('COUNT', 'count', is_number=True)]\n"
    "table = Table(columns, [('a[b]', 1), ('long name', 1000)], footer='two', colours=lambda row: 'red')\n"
)


def _on_terminal(program: str, *, interrupt: int = 0) -> tuple[str, int]:
    """What a program that has a terminal for its three streams writes there; `interrupt` is a signal."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    for name in ("NO_COLOR", "FORCE_COLOR", "CI"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-c", SETUP + program],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        start_new_session=True,
    )
    os.close(follower)
    written = b""
    try:
        while part := os.read(leader, 4096):
            written += part
            if interrupt and b"1000" in written:
                process.send_signal(interrupt)
                interrupt = 0
    except OSError:  # on Linux: the other side of the terminal is closed
        pass
    finally:
        os.close(leader)
    return written.decode(), process.wait(PATIENCE)


def _rows(*rows: Sequence[object]) -> Table:
    return Table(COLUMNS, rows)


def test_pipe_gets_plain_aligned_columns(capsys: pytest.CaptureFixture[str]) -> None:
    View().table(_rows(("a", 1), ("long name", 1000)))
    assert capsys.readouterr().out == "NAME       COUNT\na              1\nlong name   1000\n"


def test_cells_are_written_for_people() -> None:
    table = Table([Column("X", "x")], [(None,), (True,), (False,), ((1, 2),), ([],)])
    assert plain_table(table).splitlines() == ["X", "-", "yes", "no", "1,2", "-"]


def test_table_without_rows_is_its_heading() -> None:
    assert plain_table(_rows()) == "NAME  COUNT"


def test_json_keeps_types_and_is_one_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    View(as_json=True).table(_rows(("ä", None), ("b", 2)))
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == [{"name": "ä", "count": None}, {"name": "b", "count": 2}]


def test_what_was_done_is_a_line_or_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    View().done("Created x.", name="x")
    View(as_json=True).done("Created x.", name="x")
    assert capsys.readouterr().out == 'Created x.\n{"name": "x"}\n'


def test_heading_and_notes_leave_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    view = View(as_json=True)
    view.heading("above")
    view.note("aside")
    assert capsys.readouterr() == ("", "aside\n")
    View().heading("above")
    assert capsys.readouterr().out == "above\n"


@pytest.mark.parametrize("as_json", [False, True])
def test_live_frames_follow_each_other_in_a_pipe(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    counts = iter(range(10))
    View(as_json=as_json).live(lambda: _rows(("a", next(counts))), every=0.0, times=2)
    lines = capsys.readouterr().out.splitlines()
    if as_json:
        assert [json.loads(line)[0]["count"] for line in lines] == [0, 1]
    else:
        assert lines == ["NAME  COUNT", "a         0", "NAME  COUNT", "a         1"]


def test_progress_in_a_pipe_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with View().progress("work", 3) as step:
        step(3)
    assert capsys.readouterr() == ("", "")


# --- on a terminal -----------------------------------------------------------------------------------


def test_terminal_gets_colours_and_names_as_they_are() -> None:
    text, code = _on_terminal("View().table(table)")
    assert code == 0
    assert "\x1b[" in text
    assert "a[b]" in text
    assert "two" in text


def test_json_on_a_terminal_is_indented_and_plain() -> None:
    text, _ = _on_terminal("View(as_json=True).table(table)")
    assert "\x1b[" not in text
    assert json.loads(text)[0] == {"name": "a[b]", "count": 1}
    assert text.count("\n") > 4


def test_what_was_done_is_ticked_on_a_terminal() -> None:
    text, _ = _on_terminal("View().done('Created [x].')")
    assert "✓" in text
    assert "Created [x]." in text


def test_live_view_draws_every_frame_on_a_terminal() -> None:
    program = (
        "numbers = iter(range(10))\n"
        "View().live(lambda: Table(columns, [('frame', next(numbers))]), every=0.0, times=3)\n"
        "print('drawn', next(numbers))"
    )
    text, code = _on_terminal(program)
    assert code == 0
    assert "drawn 3" in text
    assert "frame" in text


def test_ctrl_c_is_the_good_end_of_a_live_view() -> None:
    text, code = _on_terminal(
        "View().live(lambda: table, every=60.0); print('left')", interrupt=signal.SIGINT
    )
    assert code == 0
    assert "left" in text
    assert "Traceback" not in text


def test_sigterm_leaves_the_terminal_as_it_was() -> None:
    text, code = _on_terminal("View().live(lambda: table, every=60.0)", interrupt=signal.SIGTERM)
    assert code == 128 + signal.SIGTERM
    assert text.endswith("\x1b[?25h\x1b[?1049l")  # the cursor and the screen from before
    assert "Traceback" not in text


def test_long_name_goes_on_in_the_next_line() -> None:
    name = "n" * 100
    text, _ = _on_terminal(f"View().table(Table(columns, [('{name}', 7)]))")
    assert text.count("n") >= len(name)
    assert "…" not in text


def test_progress_is_a_bar_on_a_terminal() -> None:
    program = "with View().progress('Copying', 2) as step:\n    step(1)\n    step(1)\n"
    text, code = _on_terminal(program)
    assert code == 0
    assert "Copying" in text
    assert "100%" in text
