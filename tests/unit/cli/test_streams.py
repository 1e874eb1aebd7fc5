"""Streams that fail, in Kafka's tools and in barnabas: in a process of their own, with real descriptors."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

import pytest

from barnabas.cli.streams import failure_of

TOOL = (
    "import sys\n"
    "from barnabas.cli.kafka.options import Options\n"
    "from barnabas.cli.kafka.tool_runner import run_tool\n"
    "def work(given):\n"
    "    print(sys.stdin.read() + chr(9731) * {times})\n"
    "sys.exit(run_tool(Options('p', 'x'), work, ['word']))\n"
)
FRONT = "import sys\nfrom barnabas.cli.main import main\nsys.exit(main({arguments!r}))\n"


def _run(
    program: str, shell: str = "", env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[bytes]":
    """`shell` are redirections."""
    command = f'exec "$0" -c "$1" {shell}'
    return subprocess.run(
        ["bash", "-c", command, sys.executable, program],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        check=False,
    )


@pytest.mark.parametrize("times", [1, 100_000])
def test_tool_on_a_full_disk_is_one_line(times: int) -> None:
    ran = _run(TOOL.format(times=times), ">/dev/full")
    assert ran.stderr == b"The output cannot be written: No space left on device\n"
    assert ran.returncode == 1


@pytest.mark.parametrize("arguments", [["version"], ["--help"], ["topic", "--help"], ["version", "--json"]])
def test_barnabas_on_a_full_disk_is_one_line(arguments: Sequence[str]) -> None:
    ran = _run(FRONT.format(arguments=arguments), ">/dev/full")
    assert ran.stderr == b"barnabas: The output cannot be written: No space left on device\n"
    assert ran.returncode == 1


@pytest.mark.parametrize("shell", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_no_failure(shell: str) -> None:
    for program in (TOOL.format(times=1), FRONT.format(arguments=["version"])):
        ran = _run(program, shell)
        assert (ran.stderr, ran.returncode) == (b"", 0)


def test_letters_that_the_locale_lacks_are_escaped() -> None:
    ran = _run(TOOL.format(times=1), env={"PYTHONIOENCODING": "ascii"})
    assert (ran.stdout, ran.stderr, ran.returncode) == (b"\\u2603\n", b"", 0)


def test_file_that_cannot_be_used_is_named() -> None:
    with pytest.raises(FileNotFoundError) as failure:
        open("no-such-file")  # noqa: SIM115  it is not opened
    assert failure_of(failure.value) == "no-such-file: No such file or directory"
