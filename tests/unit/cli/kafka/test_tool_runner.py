import os
import subprocess
import sys

import pytest

from barnabas import __version__
from barnabas.cli.kafka.options import Given, Options, UsageError
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError
from barnabas.client.errors import BrokerError


def _tool(
    error: BaseException | None = None, *arguments: str, status: int | None = None, **how: object
) -> int:
    options = Options("kafka-thing", "Does things.")
    options.flag("list", "List.")

    def work(given: Given) -> int | None:
        print("working")
        if error is not None:
            raise error
        return status

    return run_tool(options, work, arguments or ("--list",), **how)  # type: ignore[arg-type]


def test_status_of_the_work_is_the_exit_status() -> None:
    assert _tool() == 0
    assert _tool(status=2) == 2


def test_help_goes_to_stdout_and_nothing_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert _tool(None, "--list", "--help") == 0
    out, err = capsys.readouterr()
    assert out.startswith("Does things.\n")
    assert "working" not in out
    assert err == ""


def test_no_argument_at_all_is_answered_with_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    options = Options("kafka-thing", "Does things.")
    assert run_tool(options, lambda given: 0, []) == 1
    assert capsys.readouterr().err.startswith("Does things.\n")


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert _tool(None, "--version") == 0
    assert capsys.readouterr().out == f"{__version__}\n"


def test_wrong_usage_points_to_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert _tool(UsageError("Wrong.")) == 1
    assert capsys.readouterr().err == "Wrong.\nTry 'kafka-thing --help'.\n"
    assert _tool(None, "--nonsense") == 1
    assert capsys.readouterr().err == "nonsense is not a recognized option\nTry 'kafka-thing --help'.\n"


@pytest.mark.parametrize("error", [ToolError("No."), BrokerError(36, "No.")])
def test_error_is_one_line_after_what_was_printed(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _tool(error, prefix="Error: ") == 1
    assert capsys.readouterr() == ("working\n", "Error: No.\n")
    assert _tool(error, prefix="Error: ", errors_on_stdout=True) == 1
    assert capsys.readouterr() == ("working\nError: No.\n", "")


def test_ctrl_c_is_no_traceback() -> None:
    assert _tool(KeyboardInterrupt()) == 130


def test_error_of_the_program_itself_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        _tool(ZeroDivisionError())


def test_reader_that_has_enough_is_no_failure() -> None:
    program = (
        "import sys\n"
        "from barnabas.cli.kafka.options import Options\n"
        "from barnabas.cli.kafka.tool_runner import run_tool\n"
        "sys.exit(run_tool(Options('p', 'x'), lambda given: print('y' * 100000), ['word']))\n"
    )
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-c", program], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")
