import json
import os
import subprocess
import sys
from collections.abc import Mapping

import pytest
from tests.fakes.scripted_broker import Answer, ScriptedBroker

from barnabas import __version__
from barnabas.cli.main import main


def test_help_loads_nothing_of_the_broker() -> None:
    program = (
        "import sys\n"
        "from barnabas.cli.main import main\n"
        "main(['--help'])\n"
        "heavy = {'kio', 'asyncio', 'uvloop', 'sqlite3', 'socket', 'logging', 'rich', 'confluent_kafka'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "serve" in result.stdout
    assert "topic" in result.stdout
    assert result.stdout.endswith("loaded: []\n")


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith(f"barnabas {__version__} ")


def test_version_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["barnabas"] == __version__


def test_no_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage: barnabas" in capsys.readouterr().err


def test_unknown_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    assert capsys.readouterr().err == "barnabas: No such command 'nonsense'. (see 'barnabas --help')\n"


def test_ctrl_c_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("barnabas.cli.serve.serve", interrupted)
    assert main(["serve"]) == 130


def test_reader_that_has_enough_is_no_failure() -> None:
    program = "import sys; from barnabas.cli.main import main; sys.exit(main(['version']))"
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-c", program], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")


# --- completion --------------------------------------------------------------------------------------


def _complete(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What bash would be offered for the last word of `line`."""
    monkeypatch.setenv("_BARNABAS_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    assert main([]) == 0
    return [row.partition(",")[2] for row in capsys.readouterr().out.splitlines() if row]


ANSWERS: Mapping[str, Answer] = {
    "metadata": {"topics": [{"name": "orders"}, {"name": "others"}, {"name": "payments"}]},
}


def test_commands_are_completed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _complete("barnabas to", monkeypatch, capsys) == ["topic"]
    assert _complete("barnabas topic de", monkeypatch, capsys) == ["delete", "describe"]


def test_topics_of_the_cluster_are_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedBroker(ANSWERS) as broker:
        line = f"barnabas topic describe -b {broker.address} o"
        assert _complete(line, monkeypatch, capsys) == ["orders", "others"]


@pytest.mark.parametrize("option", ["-b {host} : {port}", "--bootstrap-server = {host} : {port}"])
def test_words_that_bash_broke_are_put_together(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedBroker(ANSWERS) as broker:
        address = option.format(host="127.0.0.1", port=broker.port)
        assert _complete(f"barnabas topic describe {address} o", monkeypatch, capsys) == ["orders", "others"]
        assert _complete(f"barnabas topic describe {address} ", monkeypatch, capsys) == [
            "orders",
            "others",
            "payments",
        ]
        line = f"barnabas group reset readers {address} --topic = p"
        assert _complete(line, monkeypatch, capsys) == ["payments"]
        assert "payments" in _complete(line.removesuffix(" p") + " ", monkeypatch, capsys)


def test_groups_of_the_cluster_are_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    groups: Answer = {"groups": [{"group_id": "readers", "protocol_type": "consumer"}]}
    with ScriptedBroker({"list_groups": groups}) as broker:
        line = f"barnabas group describe -b {broker.address} r"
        assert _complete(line, monkeypatch, capsys) == ["readers"]


def test_address_for_completion_may_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedBroker(ANSWERS) as broker:
        monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVER", broker.address)
        assert _complete("barnabas topic delete p", monkeypatch, capsys) == ["payments"]


def test_cluster_that_is_away_completes_to_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _complete("barnabas topic describe -b 127.0.0.1:1 o", monkeypatch, capsys) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_for_a_shell_ends_with_how_to_install_it(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(f"_BARNABAS_COMPLETE={shell}_complete" in line for line in lines)
    assert lines[-1].startswith("# To install: ")
    assert f"barnabas completion {shell}" in lines[-1]
