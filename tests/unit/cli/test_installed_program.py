import sys
from pathlib import Path

import pytest

from barnabas.cli.installed_program import command_of, python_command


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual environment in a project, whose `barnabas` runs; the shell does not know it."""
    scripts = tmp_path / "project" / ".venv" / "bin"
    scripts.mkdir(parents=True)
    for name in ("barnabas", "python"):
        (scripts / name).write_text("#!/bin/sh\n")
        (scripts / name).chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(scripts / "barnabas"), "serve"])
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path / "project")
    return scripts


def test_program_of_an_environment_is_called_by_its_relative_path(scripts: Path) -> None:
    assert command_of("barnabas") == ".venv/bin/barnabas"
    assert python_command() == ".venv/bin/python"


def test_program_that_the_shell_finds_is_called_by_its_name(
    scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(scripts), prepend=":")
    assert command_of("barnabas") == "barnabas"
    assert python_command() == "python"


def test_another_program_of_that_name_in_front_is_not_meant(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "barnabas").symlink_to(scripts / "barnabas")
    monkeypatch.setenv("PATH", f"{other}:{scripts}")
    assert command_of("barnabas") == ".venv/bin/barnabas"


def test_elsewhere_it_is_called_by_its_whole_path(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert command_of("barnabas") == str(scripts / "barnabas")


def test_path_is_quoted_and_a_file_of_this_directory_is_named_as_one(
    scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scripts)
    assert command_of("barnabas") == "./barnabas"
    spaced = scripts / "my tools"
    spaced.mkdir()
    (spaced / "barnabas").write_text("")
    monkeypatch.setattr(sys, "argv", [str(spaced / "barnabas")])
    assert command_of("barnabas") == "'my tools/barnabas'"


def test_program_that_is_not_installed_has_no_command(scripts: Path) -> None:
    assert command_of("kafka-server-stop") is None
