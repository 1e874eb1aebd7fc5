"""New offsets as CSV: `--export` prints it and `--from-file` reads it.

A line is `topic,partition,offset`, or `group,topic,partition,offset` if several groups are reset. A field is
quoted as Kafka's library quotes it: if it is long, or has a character up to the comma in ASCII.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_LONGEST_UNQUOTED = 24
_FIRST_SAFE = "-"


class ResetLine(NamedTuple):
    group: str
    topic: str
    partition: int
    offset: int


class BadResetFile(Exception):
    """A line of the file has the wrong format."""


def to_csv(lines: Iterable[ResetLine], *, with_group: bool) -> str:
    """Every line ends with a line feed."""
    text = []
    for line in lines:
        words = [_quoted(line.topic), str(line.partition), str(line.offset)]
        if with_group:
            words.insert(0, _quoted(line.group))
        text.append(",".join(words) + "\n")
    return "".join(text)


def _quoted(word: str) -> str:
    if len(word) <= _LONGEST_UNQUOTED and all(letter >= _FIRST_SAFE for letter in word):
        return word
    return '"' + word.replace('"', '""') + '"'


def from_csv(text: str, groups: Iterable[str]) -> Mapping[str, dict[tuple[str, int], int]]:
    """Offsets by group and partition. Lines without a group belong to the only group. Raises BadResetFile.

    The first line decides which of the two forms the file has.
    """
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    only = list(groups)
    is_short = len(only) == 1 and bool(rows) and _is_short(rows[0])
    plan: dict[str, dict[tuple[str, int], int]] = {}
    for number, row in enumerate(rows, 1):
        words = [only[0], *row] if is_short else row
        try:
            group, topic, partition, offset = (word.strip() for word in words)
            plan.setdefault(group, {})[topic, int(partition)] = int(offset)
        except ValueError:
            form = "topic,partition,offset" if len(only) == 1 else "group,topic,partition,offset"
            raise BadResetFile(f"line {number} is not {form}: {','.join(row)}") from None
    return plan


def _is_short(row: list[str]) -> bool:
    return len(row) == 3 and row[1].strip().isdecimal()
