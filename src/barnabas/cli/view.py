"""How `barnabas` shows things: tables on a terminal, plain columns in a pipe, JSON when asked.

A command builds a `Table` (or a value) and shows it; it never asks where the output goes. rich is imported
only for a terminal, so that a script pays nothing for it. Notes and progress go to stderr: stdout carries
the result alone.
"""

import itertools
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    key: str
    """The name in JSON."""
    is_number: bool = False
    style: str = ""
    """For a terminal, in rich's words: `bold`, `cyan`, `dim`."""


@dataclass(frozen=True, slots=True)
class Table:
    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]
    """One value for each column; None is shown as `-` and is null in JSON."""
    title: str = ""
    footer: str = ""
    """A line below, for people only."""
    colours: Callable[[Sequence[object]], str] = field(default=lambda row: "")
    """The style of a row, for a terminal."""

    def values(self) -> list[dict[str, object]]:
        return [
            {column.key: value for column, value in zip(self.columns, row, strict=True)} for row in self.rows
        ]


class View:
    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json: bool = as_json

    @property
    def is_terminal(self) -> bool:
        return sys.stdout.isatty() and not self.as_json

    def table(self, table: Table) -> None:
        if self.as_json:
            self.value(table.values())
        elif self.is_terminal:
            from rich.console import Console

            Console().print(_rich_table(table))
        else:
            print(plain_table(table))

    def value(self, value: object) -> None:
        """JSON, whatever was asked: indented for a person, one line for a program."""
        print(json.dumps(value, indent=2 if sys.stdout.isatty() else None, default=str, ensure_ascii=False))

    def done(self, text: str, **value: object) -> None:
        """What was done: a line, or with --json an object."""
        if self.as_json:
            self.value(value)
        elif self.is_terminal:
            from rich.console import Console

            Console().print(f"[green]✓[/green] {_escaped(text)}", highlight=False)
        else:
            print(text)

    def heading(self, text: str) -> None:
        """A line above a table, for people and in a pipe; JSON has none."""
        if self.is_terminal:
            from rich.console import Console

            Console().print(f"[bold]{_escaped(text)}[/bold]", highlight=False)
        elif not self.as_json:
            print(text)

    def note(self, text: str) -> None:
        print(text, file=sys.stderr)

    def live(self, frame: Callable[[], Table], *, every: float, times: int | None = None) -> None:
        """A table that is drawn anew every so many seconds, until Ctrl-C (or `times` frames): a good end.

        In a pipe or as JSON each frame follows the one before. SIGTERM ends it as well, with its own status:
        unhandled it would leave the terminal on the view's screen, without a cursor.
        """
        from barnabas.cli.messages.interruption import Interrupted

        try:
            if self.is_terminal:
                self._redraw(frame, every, times)
            else:
                self._repeat(frame, every, times)
        except Interrupted as end:
            if end.number != signal.SIGINT:
                raise SystemExit(end.code) from None

    def _repeat(self, frame: Callable[[], Table], every: float, times: int | None) -> None:
        from barnabas.cli.messages.interruption import raised

        with raised():
            for count in itertools.count(1):
                self.table(frame())
                sys.stdout.flush()
                if count == times:
                    return
                _pause(every)

    def _redraw(self, frame: Callable[[], Table], every: float, times: int | None) -> None:
        from rich.live import Live

        from barnabas.cli.messages.interruption import raised

        with raised():
            shown = _rich_table(frame())  # what cannot be shown at all is told on the user's own screen
        # Signals are handled inside of Live only: torn out of its start it would clean up nothing.
        with Live(auto_refresh=False, screen=times is None) as live, raised():
            for count in itertools.count(1):
                live.update(shown, refresh=True)
                if count == times:
                    return
                _pause(every)
                shown = _rich_table(frame())

    @contextmanager
    def progress(self, label: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """A bar on stderr (a terminal's) while the block runs; call what it gives with each step's size."""
        if not sys.stderr.isatty() or self.as_json:
            yield lambda step: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(label, total=total)
            yield lambda step: bars.advance(task, step)


def _pause(seconds: float) -> None:
    """In short steps: a signal that comes just before a sleep begins does not end it."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.1))


def plain_table(table: Table) -> str:
    """Aligned columns, two spaces apart, no lines: for pipes, and for `cut`, `awk` and `diff`."""
    texts = [
        [column.title for column in table.columns],
        *([_text(cell) for cell in row] for row in table.rows),
    ]
    widths = [max(len(row[number]) for row in texts) for number in range(len(table.columns))]
    lines = []
    for row in texts:
        cells = [
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "-"
    return str(value)


def _rich_table(table: Table) -> Any:
    from rich import box
    from rich.table import Table as RichTable

    shown = RichTable(
        title=_escaped(table.title) or None, caption=_escaped(table.footer) or None, box=box.SIMPLE_HEAD
    )
    for column in table.columns:
        shown.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            style=column.style,
            # A name that is cut is of no use to anybody: it goes on in the next line.
            overflow="fold",
        )
    for row in table.rows:
        shown.add_row(*(_escaped(_text(cell)) for cell in row), style=table.colours(row))
    return shown


def _escaped(text: str) -> str:
    """Names of users are no markup."""
    from rich.markup import escape

    return escape(text)
