"""Every shell session in the documentation prints what the page says."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.integration.tools.console_blocks import Command, Section, sections

from barnabas.testing import Broker

_ROOT = Path(__file__).parents[3]
_SECTIONS = [each for page in ("README.md", "docs/tools.md") for each in sections(_ROOT / page)]
_ADDRESS = "localhost:9092"


@pytest.mark.parametrize("section", [pytest.param(each, id=each.name) for each in _SECTIONS])
def test_session_prints_what_the_page_says(section: Section, tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with Broker(process=True, config={"group.initial.rebalance.delay.ms": 0}) as broker:
        environment = {**os.environ, "PATH": path, "BARNABAS_BOOTSTRAP_SERVER": broker.bootstrap_servers}
        for command in section.commands:
            text = command.text.replace(_ADDRESS, broker.bootstrap_servers)
            ran = subprocess.run(
                ["bash", "-c", text],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                timeout=60,
                cwd=tmp_path,
                env=environment,
            )
            printed = ran.stdout.replace(broker.bootstrap_servers, _ADDRESS)
            assert command.matches(printed), (
                f"$ {command.text}\n{printed}\n--- the page says ---\n{command.output}"
            )


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
