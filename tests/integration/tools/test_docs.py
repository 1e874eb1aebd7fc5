"""Every shell session in the documentation prints the output on the page."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.tools.console_blocks import Command, Section, sections
from tests.integration.tools.programs import run_inside
from tests.patience import PROGRAM_PATIENCE

from barnabas.cli.bootstrap import open_cluster
from barnabas.client.admin.groups import delete_groups, list_groups
from barnabas.client.admin.topics import delete_topics, list_topics
from barnabas.testing import Broker

_ROOT = Path(__file__).parents[3]
_SECTIONS = [each for page in ("README.md", "docs/tools.md") for each in sections(_ROOT / page)]
_ADDRESS = "localhost:9092"
_IN_A_SHELL = ("README.md",)
"""Pages whose every command is run as a user runs it; of the others, those that need a shell."""
_SHELL_SIGNS = re.compile(r"[|<>$`;&]")
_EVERY_FIVE_SECONDS = re.compile(
    r"^\d+ records sent, [\d.]+ records/sec \([\d.]+ MB/sec\), "
    r"[\d.]+ ms avg latency, [\d.]+ ms max latency\.\n",
    re.MULTILINE,
)
"""What kafka-producer-perf-test prints on the way where it takes that long: on a busy machine."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True, config={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture
def empty_broker(broker: Broker) -> Iterator[Broker]:
    """As it was before the first section: each page begins with nothing there."""
    yield broker
    with open_cluster(broker.bootstrap_servers) as cluster:
        delete_groups(cluster, [group.id for group in list_groups(cluster)])
        delete_topics(cluster, [topic.name for topic in list_topics(cluster) if not topic.is_internal])


@pytest.mark.parametrize("section", [pytest.param(each, id=each.name) for each in _SECTIONS])
def test_session_prints_what_the_page_says(
    section: Section, empty_broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = empty_broker.bootstrap_servers
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVER", address)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    needs_shell = section.page in _IN_A_SHELL
    for command in section.commands:
        text = command.text.replace(_ADDRESS, address)
        if needs_shell or _SHELL_SIGNS.search(text):
            printed = _in_shell(text)
        else:
            printed = run_inside(*shlex.split(text), in_one=True).stdout
        printed = _EVERY_FIVE_SECONDS.sub("", printed).replace(address, _ADDRESS)
        assert command.matches(printed), (
            f"$ {command.text}\n{printed}\n--- expected by the page ---\n{command.output}"
        )


def _in_shell(text: str) -> str:
    ran = subprocess.run(
        ["bash", "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=PROGRAM_PATIENCE,
        check=False,
    )
    return ran.stdout


def _tools() -> list[str]:
    scripts = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    return sorted(name for name in scripts if name.startswith("kafka-") and not name.endswith(".sh"))


@pytest.mark.parametrize("program", _tools())
def test_every_tool_has_its_section(program: str) -> None:
    assert f"\n## {program}\n" in (_ROOT / "docs" / "tools.md").read_text()


def test_a_command_that_prints_something_else_does_not_match() -> None:
    command = Command("x", "Created topic a.\n...\nid: ... done")
    assert command.matches("Created topic a.\nb\nc\nid: 17 done\n")
    assert command.matches("Created topic a.\n\nid: 17 done")
    assert not command.matches("Created topic a.\nid: 17 done")
    assert not command.matches("Created topic b.\nx\nid: 17 done")
    assert not command.matches("Created topic a.\nx\nid: 17 done\nmore")
