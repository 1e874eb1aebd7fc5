"""The records that a test sends: random letters of one size, lines of a file in random order, or numbers."""

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

_LETTERS = bytes(range(ord("A"), ord("Z") + 1))
_STOCK = 1 << 20


def random_letters(size: int) -> Iterator[bytes]:
    """Capital letters from a megabyte of prepared data: generating each would distort the measurement."""
    chance = random.Random(0)  # every run sends the same
    stock = bytes(chance.choices(_LETTERS, k=_STOCK + size))
    start = chance.randrange
    while True:
        at = start(_STOCK)
        yield stock[at : at + size]


def from_file(path: Path, delimiter: str) -> list[bytes]:
    """Raises ValueError with the text of Kafka's tool."""
    if not path.is_file() or path.stat().st_size == 0:
        raise ValueError("File does not exist or empty file provided.")
    parts = path.read_text(encoding="utf-8", errors="replace").split(delimiter)
    if parts[-1] == "":
        parts.pop()
    return [part.encode() for part in parts]


def any_of(choices: list[bytes]) -> Iterator[bytes]:
    chance = random.Random(0)
    while True:
        yield chance.choice(choices)


def numbers() -> Iterator[bytes]:
    for number in count():
        yield b"%d" % number
