"""The documentation against the code: examples run, tables are complete, links lead somewhere."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from tests.patience import PROGRAM_PATIENCE
from tools import front_page_chart
from tools.file_map import render

from barnabas.base.config.broker_keys import BROKER_KEYS
from barnabas.base.config.topic_keys import TOPIC_KEYS
from barnabas.cli.kafka.server_start import _parse
from barnabas.cli.main import barnabas
from barnabas.handlers.registry import APIS, Api
from barnabas.testing import Broker

_ROOT = Path(__file__).parents[3]
_PAGES = sorted(
    [*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")], key=lambda path: path.relative_to(_ROOT)
)
_PACKAGE = _ROOT / "src" / "barnabas"
_EXAMPLES = ("README.md", "docs/clients.md", "docs/testing.md")
_WITH_SUITES = ("README.md", "docs/testing.md")
_ADDRESS = "127.0.0.1:9092"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CLIENTS = ("confluent_kafka", "kafka", "aiokafka")


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str
    output: str | None
    """What a `text` block right behind a Python block says it prints."""

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_suite(self) -> bool:
        return self.language == "python" and re.search(r"^def test_", self.text, re.MULTILINE) is not None


def _blocks(page: str) -> Iterator[Block]:
    source = (_ROOT / page).read_text()
    fences = list(_FENCE.finditer(source))
    for number, fence in enumerate(fences):
        following = fences[number + 1] if number + 1 < len(fences) else None
        output = None
        if following is not None and following[1] == "text":
            between = source[fence.end() : following.start()]
            output = following[2] if not between.strip() else None
        yield Block(page, source.count("\n", 0, fence.start()) + 2, fence[1], fence[2], output)


_BLOCKS = [block for page in _EXAMPLES for block in _blocks(page)]
_SUITES = [block for block in _BLOCKS if block.is_suite]
_SCRIPTS = [block for block in _BLOCKS if block.language == "python" and not block.is_suite]
_COMMANDS = [
    (block.name, line)
    for block in _BLOCKS
    if block.language == "sh"
    for line in block.text.splitlines()
    if line
]


def _named(blocks: list[Block]) -> list[object]:
    """Each block as a parameter that needs the clients it imports."""
    return [pytest.param(block, id=block.name, marks=pytest.mark.needs(*_needs(block))) for block in blocks]


def _needs(block: Block) -> list[str]:
    return [name for name in _CLIENTS if re.search(rf"^from {name} import", block.text, re.MULTILINE)]


# Examples


@pytest.mark.parametrize("block", _named(_SCRIPTS))
def test_script_runs_and_prints_what_the_page_says(
    block: Block, kafka_broker: Broker, tmp_path: Path
) -> None:
    script = tmp_path / "example.py"
    script.write_text(block.text.replace(_ADDRESS, kafka_broker.bootstrap_servers))
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=PROGRAM_PATIENCE, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    if block.output is not None:
        assert run.stdout == block.output


@pytest.mark.needs("confluent_kafka")
@pytest.mark.parametrize("page", _WITH_SUITES)
def test_suites_pass(page: str, pytester: pytest.Pytester) -> None:
    suites = {f"test_line_{block.line}": block.text for block in _SUITES if block.page == page}
    pytester.makepyfile(**suites)
    wanted = sum(len(re.findall(r"^def test_", text, re.MULTILINE)) for text in suites.values())
    run = pytester.runpytest_subprocess("-p", "no:randomly", "-p", "no:cacheprovider", "--strict-markers")
    assert wanted
    run.assert_outcomes(passed=wanted)


def test_ini_options_of_the_page_are_known(pytester: pytest.Pytester) -> None:
    (ini,) = [block for block in _BLOCKS if block.language == "toml"]
    pytester.makepyprojecttoml(ini.text)
    pytester.makepyfile("def test_topics(kafka_broker):\n    assert 'process' in repr(kafka_broker)\n")
    pytester.runpytest_subprocess("-p", "no:randomly", "--strict-config").assert_outcomes(passed=1)


def _parse_command_line(words: list[str]) -> None:
    """Raises what the command line would complain about."""
    command: click.Command = barnabas
    context = click.Context(barnabas)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None
        command = found
    command.make_context(command.name, words, parent=context)


@pytest.mark.parametrize(("where", "command"), _COMMANDS)
def test_command_exists_as_it_is_written(where: str, command: str) -> None:
    words = shlex.split(command, comments=True)
    match words[0]:
        case "make":
            targets = re.findall(r"^([a-z]+):", (_ROOT / "Makefile").read_text(), re.MULTILINE)
            assert set(words[1:]) <= set(targets)
        case "barnabas":
            _parse_command_line(words[1:])
        case "kafka-server-start":
            _parse(words[1:])
        case "pip" | "echo" | "kcat" | "kafka-server-stop":
            pass
        case unknown:
            pytest.fail(f"{where}: no check for {unknown}")
    for word in words:
        if word.startswith("config/"):
            assert (_ROOT / word).is_file()


# Tables


def test_table_of_apis_is_the_registry() -> None:
    expected = [_row(api) for api in APIS.values() if api.is_advertised]
    rows = _rows(_section("docs/compatibility.md", "APIs served"))
    assert [row[:3] for row in rows] == expected


def test_apis_that_are_not_advertised_are_named() -> None:
    rows = _rows(_section("docs/compatibility.md", "APIs not served yet"))
    named = {name for row in rows for name in re.findall(r"\b[A-Z]\w+[a-z][A-Z]\w+", row[1])}
    hidden = {api.name for api in APIS.values() if not api.is_advertised}
    assert named == {name for name in hidden if name not in _between_brokers()}


def test_apis_between_brokers_are_named() -> None:
    rows = _rows(_section("docs/compatibility.md", "APIs between brokers"))
    assert {row[1] for row in rows} == _between_brokers()


def _between_brokers() -> set[str]:
    return {api.name for api in APIS.values() if api.is_between_brokers}


def _row(api: Api) -> list[str]:
    highest = api.max_version - 1 if api.opened_by else api.max_version
    versions = str(api.min_version) if api.min_version == highest else f"{api.min_version}-{highest}"
    if api.opened_by:
        versions += f", {api.max_version}"
    return [str(api.key), api.name, versions]


def _rows(text: str) -> list[list[str]]:
    """The cells of each row of the tables in `text`, without heads and rules."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rule = next(number for number, line in enumerate(lines) if set(line) <= set("|-: "))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[rule + 1 :]]


def _section(page: str, title: str) -> str:
    """A page from one heading to the next of the same or a higher level."""
    source = (_ROOT / page).read_text()
    found = re.search(rf"^(#+) {re.escape(title)}$", source, re.MULTILINE)
    assert found is not None, f"{page} has no section {title!r}"
    rest = source[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def test_configuration_keys_of_the_page_exist() -> None:
    text = _section("docs/compatibility.md", "Configuration")
    named = {name for name in re.findall(r"`([a-z0-9]+(?:\.[a-z0-9]+)+)`", text) if not name.endswith(".md")}
    assert len(named) > 50
    assert named <= BROKER_KEYS.keys() | TOPIC_KEYS.keys()


def test_page_of_files_is_up_to_date() -> None:
    assert (_ROOT / "docs" / "files.md").read_text() == render(), "`make docs` writes it anew"


def test_chart_of_the_front_page_shows_its_table() -> None:
    source = (_ROOT / "README.md").read_text()
    chart = (_ROOT / "docs" / "images" / "benchmark.svg").read_text()
    assert chart == front_page_chart.render(source), "`make docs` draws it anew"
    assert chart.count('class="beside"') == 10


# Links


@pytest.mark.parametrize("page", [str(path.relative_to(_ROOT)) for path in _PAGES])
def test_links_resolve(page: str) -> None:
    source = _FENCE.sub("", (_ROOT / page).read_text())
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", source):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        file = (_ROOT / page).parent / path if path else _ROOT / page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            broken.append(target)
    assert broken == []


def _anchors(page: Path) -> set[str]:
    """Headings as GitHub names them."""
    titles = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_files_named_by_the_guide_to_a_new_api_exist() -> None:
    text = (_ROOT / "docs" / "add-an-api.md").read_text()
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text))
    assert len(named) > 20
    assert [name for name in named if not any((at / name).exists() for at in (_ROOT, _PACKAGE))] == []


@pytest.mark.parametrize("page", [str(path.relative_to(_ROOT)) for path in _PAGES])
def test_source_files_named_by_a_page_exist(page: str) -> None:
    """Below the package, below the root, or beside the other tests."""
    named = set(re.findall(r"`((?:[\w-]+/)+[\w-]+\.py)`", (_ROOT / page).read_text()))
    assert [name for name in named if not any((at / name).exists() for at in (_ROOT, _PACKAGE))] == []


def test_every_decision_is_listed() -> None:
    directory = _ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\]\((\d{4}-[a-z0-9-]+\.md)\)", (directory / "README.md").read_text()))
    assert listed == {path.name for path in directory.glob("[0-9]*.md")}


@pytest.mark.parametrize("page", [str(path.relative_to(_ROOT)) for path in _PAGES])
def test_page_names_no_path_of_a_machine(page: str) -> None:
    assert (
        re.findall(
            rf"/(?:home|root|Users|tmp|work)/[\w.-]+|{re.escape(os.sep)}mnt/", (_ROOT / page).read_text()
        )
        == []
    )
