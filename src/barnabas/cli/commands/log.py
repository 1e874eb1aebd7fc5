"""`barnabas log`: shows and checks the files of a log. It only reads, so a broker may be running."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barnabas.cli.front import json_option
from barnabas.cli.kafka_words import KafkaCommand, KafkaVerbs, Option, itself, listed
from barnabas.cli.view import Column, Table, View

if TYPE_CHECKING:
    from barnabas.cli.dump.partition_check import PartitionReport
    from barnabas.cli.dump.rows import Rows

_BLOCK = 1000
_TEXT = frozenset({"codec", "kind", "valid", "key", "value", "headers"})


_ALSO = {"list": "dump", "ls": "dump", "describe": "dump", "show": "dump", "verify": "check"}
_DUMP: dict[str, Option] = {"--print-data-log": ("--records",), "--deep-iteration": ("--records",)}


@click.group(cls=KafkaVerbs, also=_ALSO)
def log() -> None:
    """Look into the files of a log."""
    from barnabas.base.light_kio import import_kio_lightly

    import_kio_lightly()


@log.command(cls=KafkaCommand, arguments={"--files": listed}, options=_DUMP)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("-r", "--records", is_flag=True, help="Show records, decoded, instead of batches.")
@click.option("--from", "start", default=0, metavar="OFFSET", help="Begin at this offset.")
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show at most N rows of a file.")
@json_option
def dump(files: tuple[Path, ...], records: bool, start: int, limit: int | None, as_json: bool) -> None:
    """Show segments, indexes, producer snapshots and leader epochs.

    Records of internal topics are decoded by the name of their directory. With --json every row is a line.
    """
    from itertools import islice

    from barnabas.cli.dump import Unreadable
    from barnabas.cli.dump.rows import rows_of

    view = View(as_json=as_json)
    try:
        for path in files:
            shown = rows_of(path, with_records=records, start=start)
            rows = shown._replace(rows=islice(shown.rows, limit))
            if as_json:
                _print_lines(path, rows)
            else:
                _print_tables(view, path, rows, len(files) > 1)
    except Unreadable as error:
        raise click.ClickException(str(error)) from None


def _print_lines(path: Path, shown: "Rows") -> None:
    from barnabas.cli.dump.message import to_json

    for row in shown.rows:
        line = {"file": _name(path), **dict(zip(shown.columns, row, strict=True))}
        sys.stdout.write(to_json(line) + "\n")


def _print_tables(view: View, path: Path, shown: "Rows", is_one_of_several: bool) -> None:
    from barnabas.cli.dump.rows import in_blocks

    columns = [Column(name.upper(), name, is_number=name not in _TEXT) for name in shown.columns]
    title = _name(path)
    if is_one_of_several and not view.is_terminal:
        print(title)
    empty = True
    for block in in_blocks(shown.rows, _BLOCK):
        empty = False
        view.table(Table(columns, [[_cell(value) for value in row] for row in block], title=title))
    if empty:
        view.note(f"{title} is empty.")


def _name(path: Path) -> str:
    """A file name need not be valid text."""
    return os.fsencode(path).decode("utf-8", "replace")


def _cell(value: object) -> object:
    from barnabas.cli.dump.message import to_json

    if isinstance(value, list):
        value = " ".join(f"{each['key']}={'' if each['value'] is None else each['value']}" for each in value)
    elif isinstance(value, dict):
        value = to_json(value)
    if isinstance(value, str):
        # Control characters in records must not reach the terminal.
        return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in value)
    return value


@log.command(cls=KafkaCommand, arguments={"--log-dir": itself})
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--records", is_flag=True, help="Unpack every record too: slower.")
@json_option
def check(directory: Path, records: bool, as_json: bool) -> int:
    """Check a log directory, or one partition's: checksums, offsets, indexes, snapshots.

    The status is 1 if something is wrong.
    """
    from barnabas.cli.dump import Unreadable
    from barnabas.cli.dump.partition_check import check_partition, log_size, partition_directories

    view = View(as_json=as_json)
    try:
        partitions = partition_directories(directory)
        if not partitions:
            raise click.ClickException(f"No partitions in {directory}")
        with view.progress("Checking", log_size(partitions)) as step:
            reports = [check_partition(each, decodes=records, progress=step) for each in partitions]
    except Unreadable as error:
        raise click.ClickException(str(error)) from None
    _print_reports(view, reports)
    return 1 if any(report.problems for report in reports) else 0


def _print_reports(view: View, reports: "list[PartitionReport]") -> None:
    columns = [
        Column("PARTITION", "partition", style="bold"),
        Column("SEGMENTS", "segments", is_number=True),
        Column("BYTES", "bytes", is_number=True),
        Column("BATCHES", "batches", is_number=True),
        Column("RECORDS", "records", is_number=True),
        Column("START", "start", is_number=True),
        Column("END", "end", is_number=True),
        Column("GAPS", "gaps", is_number=True),
        Column("PROBLEMS", "problems", is_number=not view.as_json),
    ]
    rows = [
        (
            report.name, report.segments, report.size, report.batches, report.records, report.start_offset,
            report.end_offset, report.gaps, list(report.problems) if view.as_json else len(report.problems),
        )
        for report in reports
    ]  # fmt: skip
    view.table(Table(columns, rows, colours=lambda row: "red" if row[-1] else ""))
    if not view.as_json:
        for report in reports:
            for problem in report.problems:
                view.note(f"{report.name}/{problem}")
