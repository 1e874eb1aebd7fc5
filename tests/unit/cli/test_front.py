import io

import click
import pytest
from tests.fakes.scripted_broker import ScriptedBroker

from barnabas.cli.front import FrontDoor, confirm, on_cluster, pairs, run
from barnabas.cli.tool_errors import ToolError
from barnabas.cli.view import View
from barnabas.client.cluster import Cluster


@click.group(cls=FrontDoor)
def door() -> None:
    pass


@door.command()
@on_cluster
def show(cluster: Cluster, view: View) -> None:
    view.done("shown", cluster=cluster.cluster_id)


@door.command()
@on_cluster
def fail(cluster: Cluster, view: View) -> int:
    return 3


@door.command()
def refuse() -> None:
    raise ToolError("It cannot be done.")


@door.command()
@click.option("--set", "settings", multiple=True, callback=pairs)
def keep(settings: dict[str, str]) -> None:
    click.echo(settings)


def test_command_gets_the_cluster_and_the_view(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedBroker() as broker:
        assert run(door, ["show", "-b", broker.address, "--json"]) == 0
    assert capsys.readouterr().out == '{"cluster": "scripted"}\n'


def test_broker_may_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedBroker() as broker:
        monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVER", broker.address)
        assert run(door, ["show"]) == 0
    assert capsys.readouterr().out == "shown\n"


def test_status_of_a_command_is_the_exit_status() -> None:
    assert run(door, ["fail", "-b", "localhost:1"]) == 3


@pytest.mark.parametrize(
    ("arguments", "line", "code"),
    [
        (["show", "-b", "nowhere"], "'nowhere' is not an address of a broker", 1),
        (["show", "--command-config", "no-such-file"], "no-such-file: No such file or directory", 1),
        (["refuse"], "It cannot be done.", 1),
        (["refuse", "--loudly"], "No such option", 2),
        (["keep", "--set", "x"], "'x' is not KEY=VALUE", 2),
    ],
)
def test_error_is_one_line(
    arguments: list[str], line: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(door, arguments) == code
    error = capsys.readouterr().err
    assert error.startswith("barnabas: ")
    assert line in error
    assert error.count("\n") == 1


def test_pairs_may_have_more_equal_signs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(door, ["keep", "--set", "a=b=c", "--set", "d="]) == 0
    assert capsys.readouterr().out == "{'a': 'b=c', 'd': ''}\n"


def test_error_of_the_program_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(refuse, "callback", broken)
    with pytest.raises(ZeroDivisionError):
        run(door, ["refuse"])


def test_nothing_is_confirmed_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    confirm("Really?", yes=True)
    with pytest.raises(click.UsageError, match="confirm with --yes"):
        confirm("Really?", yes=False)


@pytest.mark.parametrize(("answer", "goes_on"), [("y", True), ("n", False), ("", False)])
def test_user_on_a_terminal_is_prompted(answer: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    if goes_on:
        confirm("Really?", yes=False)
    else:
        with pytest.raises(click.ClickException, match="Nothing was changed") as refusal:
            confirm("Really?", yes=False)
        assert refusal.value.exit_code == 1


def test_ctrl_c_at_the_question_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(""))  # the end of input, as Ctrl-D gives it
    with pytest.raises(click.Abort):
        confirm("Really?", yes=False)
