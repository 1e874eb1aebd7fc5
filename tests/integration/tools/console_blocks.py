"""Shell sessions in the documentation: commands and their expected output.

In a block of the language `console` a line that begins with `$ ` is a command; what follows is its output.
`...` stands for a part of a line that varies; a line that is only `...` stands for any number of lines.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


class Command(NamedTuple):
    text: str
    output: str

    def matches(self, printed: str) -> bool:
        return re.fullmatch(_pattern(self.output), printed.rstrip("\n")) is not None


class Section(NamedTuple):
    page: str
    title: str
    commands: tuple[Command, ...]

    @property
    def name(self) -> str:
        return f"{self.page}: {self.title}"


def sections(path: Path) -> Iterator[Section]:
    """The parts of a page that have commands, each to be run on a broker of its own, in order."""
    source = path.read_text()
    marks = [*_HEADING.finditer(source)]
    for number, mark in enumerate(marks):
        end = marks[number + 1].start() if number + 1 < len(marks) else len(source)
        blocks = _FENCE.findall(source[mark.end() : end])
        commands = tuple(command for block in blocks for command in _commands(block))
        if commands:
            yield Section(path.name, mark[1], commands)


def _commands(block: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        count = 1
        while lines[count - 1].endswith("\\"):
            count += 1
        yield Command("\n".join(lines[:count]), "\n".join(lines[count:]))


def _pattern(output: str) -> str:
    lines = []
    for line in output.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?.*")
        else:
            lines.append(".*?".join(re.escape(part) for part in line.split("...")))
    return "\n".join(lines)
