"""The output of `barnabas`: tables on a terminal, plain columns in a pipe, JSON with `--json`.

A command builds a `Table` (or a value) and shows it; it does not know where the output goes. rich is imported
only for a terminal, so it costs a script nothing. Notes and progress go to stderr, the result to stdout.
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
    """A style of rich, for a terminal: `bold`, `cyan`, `dim`."""


@dataclass(frozen=True, slots=True)
class Table:
    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]
    """One value for each column; None is shown as `-` and is null in JSON."""
    title: str = ""
    footer: str = ""
    """A line below the table; JSON has none."""
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
        """Prints JSON: indented on a terminal, one line in a pipe."""
        print(json.dumps(value, indent=2 if sys.stdout.isatty() else None, default=str, ensure_ascii=False))

    def done(self, text: str, **value: object) -> None:
        """Prints what was done: a line, or with --json an object."""
        if self.as_json:
            self.value(value)
        elif self.is_terminal:
            from rich.console import Console

            Console().print(f"[green]✓[/green] {_escaped(text)}", highlight=False)
        else:
            print(text)

    def heading(self, text: str) -> None:
        """Prints a line above a table; JSON has none."""
        if self.is_terminal:
            from rich.console import Console

            Console().print(f"[bold]{_escaped(text)}[/bold]", highlight=False)
        elif not self.as_json:
            print(text)

    def note(self, text: str) -> None:
        print(text, file=sys.stderr)

    def live(self, frame: Callable[[], Table], *, every: float, times: int | None = None) -> None:
        """Draws a table every `every` seconds until Ctrl-C or for `times` frames. Both end with status 0.

        In a pipe or as JSON the frames follow each other. SIGTERM ends the view with the status of the
        signal: without a handler it would leave the terminal on the alternate screen, without a cursor.
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
            shown = _rich_table(frame())  # an error of the first frame is printed on the ordinary screen
        # Handle signals inside Live only: an interrupted start of Live cleans up nothing.
        with Live(auto_refresh=False, screen=times is None) as live, raised():
            for count in itertools.count(1):
                live.update(shown, refresh=True)
                if count == times:
                    return
                _pause(every)
                shown = _rich_table(frame())

    @contextmanager
    def progress(self, label: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Shows a progress bar on stderr if it is a terminal. The block reports each step's size."""
        if not sys.stderr.isatty() or self.as_json:
            yield lambda step: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bars:
            task = bars.add_task(label, total=total)
            yield lambda step: bars.advance(task, step)


def _pause(seconds: float) -> None:
    """Sleeps in short steps: a signal that arrives just before a sleep does not end it."""
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
            # Wrap long names instead of cutting them.
            overflow="fold",
        )
    for row in table.rows:
        shown.add_row(*(_escaped(_text(cell)) for cell in row), style=table.colours(row))
    return shown


def _escaped(text: str) -> str:
    """Names from the cluster are not markup."""
    from rich.markup import escape

    return escape(text)
