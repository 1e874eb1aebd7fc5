"""Sources and documents use Kafka's vocabulary: each word below has another that readers search for."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]

_WORDS = {
    "place": "topic partition, offset, field",
    "places": "topic partitions",
    "told": "answered, acknowledged, reported",
    "asked": "requested",
    "nobody": "no broker, no client, no member",
    "whoever": "the client that",
    "passing": "retriable",
    "gone": "deleted, removed, expired",
    "buried": "deleted, removed, expired",
    "bury": "delete, remove",
    "hire": "start",
    "foresaw": "unexpected error",
    "the living": "live brokers",
    "front door": "the command barnabas",
    "front doors": "the command lines",
    "consent": "verify",
    "consents": "verifies",
    "where there is none": "if the topic does not exist",
}
"""Words that are not used, and what to write instead."""

_ALLOWED = (
    # Plain English without another meaning here.
    r"in[ _]place(?![a-z])",
    # Names in tests of users, groups, topics and fields that do not exist.
    r"(?<=[\"'-:])(nobody|gone)(?=[\"'])",
    r"User:nobody\b",
    r"string gone = 2",
    # The name of a file.
    r"test_front_doors\.py",
    # Kafka's own messages, which its tools print.
    r"but you asked for only one",
    r"provided in different places",
    # Replica placement: to place replicas on brokers.
    r"\bplace\(",
    r"\bplace_new_topic\b",
    r"\bplace_partitions\b",
    r"\b_place_one\b",
    r"Places the partitions",
)
_UNWANTED = re.compile(
    r"(?<![a-z])(" + "|".join(word.replace(" ", r"[\s_-]+") for word in _WORDS) + r")(?![a-z])", re.IGNORECASE
)


def _files(folder: str) -> list[str]:
    """Those with words of ours, below a folder or beside the README."""
    below = _ROOT / folder
    found = [
        path
        for name in ("*.py", "*.md", "*.toml", "Makefile")
        for path in (below.rglob if folder else below.glob)(name)
    ]
    return sorted(str(path.relative_to(_ROOT)) for path in found)


def unwanted(text: str) -> Iterator[str]:
    """Line and word of each use that no exception allows."""
    for pattern in _ALLOWED:
        text = re.sub(pattern, lambda found: "\n" * found[0].count("\n"), text)
    for found in _UNWANTED.finditer(text):
        word = re.sub(r"[\s_-]+", " ", found[1].lower())
        yield f"line {text.count(chr(10), 0, found.start()) + 1}: {word} ({_WORDS[word]})"


@pytest.mark.parametrize("folder", ["", "docs", "src", "tests", "tools", "benchmarks"])
def test_words_are_kafkas(folder: str) -> None:
    files = [file for file in _files(folder) if not file.endswith(Path(__file__).name)]
    assert files
    assert [f"{file}, {each}" for file in files for each in unwanted((_ROOT / file).read_text())] == []


@pytest.mark.parametrize(
    "text",
    ["a Place in the log", "_PASSING = {3}", "is told\nso", "place_of(x)", "two-front-doors", "the\nliving"],
)
def test_finds_a_word_in_text_and_names(text: str) -> None:
    assert len(list(unwanted(text))) == 1


@pytest.mark.parametrize("text", ["replaced", "placement", "changed in place", "untold", "compassing"])
def test_leaves_other_words_alone(text: str) -> None:
    assert list(unwanted(text)) == []
