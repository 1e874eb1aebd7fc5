"""The harness itself: it runs programs as a shell would, and a tool that prints something else fails."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.processes import BrokerProcess
from tests.integration.tools import programs
from tests.integration.tools.apache_tools import MAIN_CLASSES, ApacheTools
from tests.integration.tools.normalise import Names, normalise
from tests.integration.tools.parity import Setup, check_expected, check_parity
from tests.integration.tools.programs import Ran
from tests.integration.tools.scenario import Scenario, Step, Way, step

from barnabas.testing import Broker

_SAY = Scenario("greet", (step("greet {topic}", expected="hello {topic}\n", code=0),))


class _Says:
    """Tools that print the same for all arguments."""

    def __init__(self, text: str, code: int = 0, stderr: str = "") -> None:
        self._text = text
        self._code = code
        self._stderr = stderr

    def run(self, step: Step, arguments: Sequence[str], stdin: str) -> Ran:
        return Ran(self._text.format(*arguments), self._stderr, self._code)

    def start(self, step: Step, arguments: Sequence[str]) -> AbstractContextManager[programs.Running]:
        raise NotImplementedError


def _setups(broker: Broker, **others: _Says) -> dict[Way, Setup]:
    """All ways print hello, except the named ones."""
    return {way: Setup(others.get(way.name, _Says("hello {}\n")), broker) for way in Way}


def test_equal_output_passes(barnabas_broker: Broker, tmp_path: Path) -> None:
    check_parity(_SAY, _setups(barnabas_broker), tmp_path)


@pytest.mark.parametrize("way", Way)
def test_the_way_that_prints_something_else_is_named(
    way: Way, barnabas_broker: Broker, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError) as failure:
        check_parity(_SAY, _setups(barnabas_broker, **{way.name: _Says("goodbye {}\n")}), tmp_path)
    message = str(failure.value)
    assert f"+++ {way.value}" in message
    assert "+goodbye {topic}" in message
    assert "-hello {topic}" in message


def test_another_exit_code_is_a_difference(barnabas_broker: Broker, tmp_path: Path) -> None:
    setups = _setups(barnabas_broker, OURS_AT_APACHE=_Says("hello {}\n", code=1, stderr="no luck\n"))
    with pytest.raises(AssertionError, match=r"ours@apache differs .* exit code 1, not 0\n    no luck"):
        check_parity(_SAY, setups, tmp_path)


def test_standard_error_counts_where_the_step_says_so(barnabas_broker: Broker, tmp_path: Path) -> None:
    setups = _setups(barnabas_broker, OURS_AT_BARNABAS=_Says("hello {}\n", stderr="a warning\n"))
    check_parity(_SAY, setups, tmp_path)
    strict = Scenario("greet", (step("greet {topic}", compare_stderr=True),))
    (tmp_path / "strict").mkdir()
    with pytest.raises(AssertionError, match="ours@barnabas differs from theirs@apache in stderr"):
        check_parity(strict, setups, tmp_path / "strict")


def test_a_stated_deviation_passes_only_while_there_is_one(barnabas_broker: Broker, tmp_path: Path) -> None:
    excused = step("greet {topic}", deviates={Way.OURS_AT_APACHE: "it is shy"})
    scenario = Scenario("greet", (excused,))
    for name, text in (("shy", "hm\n"), ("bold", "hello {}\n")):
        (tmp_path / name).mkdir()
        setups = _setups(barnabas_broker, OURS_AT_APACHE=_Says(text))
        if name == "shy":
            check_parity(scenario, setups, tmp_path / name)
        else:
            with pytest.raises(AssertionError, match=r"no longer differs .* it is shy"):
                check_parity(scenario, setups, tmp_path / name)


def test_a_way_that_is_left_out_is_not_run(barnabas_broker: Broker, tmp_path: Path) -> None:
    scenario = replace(_SAY, without={Way.THEIRS_AT_APACHE: "it prints something else"})
    check_parity(scenario, _setups(barnabas_broker, THEIRS_AT_APACHE=_Says("goodbye\n")), tmp_path)


def test_a_way_that_cannot_be_run_does_not_hide_the_others(barnabas_broker: Broker, tmp_path: Path) -> None:
    class Missing(_Says):
        def run(self, step: Step, arguments: Sequence[str], stdin: str) -> Ran:
            raise programs.UnknownProgram("greet")

    setups = _setups(barnabas_broker, OURS_AT_APACHE=Missing(""), OURS_AT_BARNABAS=_Says("goodbye\n"))
    with pytest.raises(AssertionError) as failure:
        check_parity(_SAY, setups, tmp_path)
    assert "ours@apache could not be run: UnknownProgram: greet" in str(failure.value)
    assert "+++ ours@barnabas" in str(failure.value)


def test_expected_text_is_checked_without_apache_kafka(barnabas_broker: Broker, tmp_path: Path) -> None:
    check_expected(_SAY, Setup(_Says("hello {}\n"), barnabas_broker), tmp_path)
    with pytest.raises(AssertionError, match="ours@barnabas differs from the expected text in stdout"):
        check_expected(_SAY, Setup(_Says("goodbye {}\n"), barnabas_broker), tmp_path)


def test_missing_end_of_line_and_trailing_spaces_can_be_seen(barnabas_broker: Broker, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"\+hello \{topic\}··  \(no end of line\)"):
        check_expected(_SAY, Setup(_Says("hello {}  "), barnabas_broker), tmp_path)


def test_what_differs_by_nature_is_hidden(tmp_path: Path) -> None:
    names = Names.fresh("127.0.0.1:45678", Path("/logs"), tmp_path)
    line = "{topic} {topic2} {group} {file:plan.json} {log_dir}/{topic}-0 {bootstrap} {not-ours}"
    assert normalise(names.fill(line), names) == line
    text = (
        "sGys91rzQj-Ws0sobrp71A console-consumer-8a9d680f-0072-498b-b515-e6b465357b97 localhost:9092 "
        "[2026-11-16 13:41:45,574] CreateTime:1794836505574 Partition: 12"
    )
    assert normalise(text, names) == (
        "{id} console-consumer-{uuid} {bootstrap} [{time}] CreateTime:{timestamp} Partition: 12"
    )


def test_a_program_gives_its_output_and_exit_code() -> None:
    for runner in (programs.run, programs.run_inside):
        good = runner("barnabas", "--version")
        assert good.stdout.startswith("barnabas")
        assert (good.stderr, good.code) == ("", 0)
        bad = runner("barnabas", "--no-such-option")
        assert "--no-such-option" in bad.stderr
        assert (bad.stdout, bad.code) == ("", 2)


def test_a_program_inside_reads_and_writes_its_own_streams() -> None:
    def main(arguments: Sequence[str] | None = None) -> int:
        sys.stdout.buffer.write(sys.stdin.buffer.readline())
        print(sys.stdin.read())
        print(arguments, file=sys.stderr)
        raise SystemExit("over")

    ran = programs.call(main, "echo", ["-x"], "grüße\nzurück", 10.0)
    assert ran == Ran("grüße\nzurück\n", "['-x']\nover\n", 1)


def test_a_program_inside_that_fails_leaves_a_traceback() -> None:
    def main(arguments: Sequence[str] | None = None) -> int:
        raise ValueError("broken")

    ran = programs.call(main, "broken", [], "", 10.0)
    assert ran.code == 1
    assert ran.stderr.endswith("ValueError: broken\n")


def test_a_program_inside_that_hangs_is_stopped() -> None:
    def main(arguments: Sequence[str] | None = None) -> int:
        while True:
            with suppress(Exception):
                asyncio.run(asyncio.sleep(60))

    with pytest.raises(programs.ProgramTimeout):
        programs.call(main, "hang", [], "", 0.05)


def test_a_program_that_runs_on_can_be_watched_and_interrupted(tmp_path: Path) -> None:
    settings = ("listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={tmp_path}")
    overrides = [word for setting in settings for word in ("--override", setting)]
    with programs.start("barnabas", "serve", *overrides, env={"TMPDIR": str(tmp_path)}) as running:
        assert "127.0.0.1" in running.wait_for_line("Listens on")
        ran = running.interrupt()
    assert ran.code == 0
    assert "Listens on" in ran.stdout


def test_every_tool_of_apache_kafka_is_there(apache_tools: ApacheTools) -> None:
    for program in MAIN_CLASSES:
        ran = apache_tools.run(program, "--help")
        assert ran.stdout + ran.stderr != "", program
        assert "ClassNotFoundException" not in ran.stderr, program


def test_apache_kafkas_tools_exit_where_they_call_exit(apache_tools: ApacheTools) -> None:
    ran = apache_tools.run("kafka-topics.sh", "--list", "--create", "--bootstrap-server", "127.0.0.1:1")
    assert ran.code == 1
    assert ran.stderr.startswith("Command must include exactly one action")
    assert "ToolRun" not in ran.stderr


def test_a_tool_of_apache_kafka_that_runs_on_is_stopped(
    apache_tools: ApacheTools, apache_broker: BrokerProcess
) -> None:
    where = ("--bootstrap-server", apache_broker.bootstrap_servers, "--topic", "endless")
    endless = ("kafka-console-consumer", *where, "--partition", "0")  # a group would take its time to be left
    assert apache_tools.run("kafka-console-producer", *where, stdin="one\n").code == 0
    with pytest.raises(TimeoutError):
        apache_tools.run(*endless, timeout=0.5)
    with apache_tools.start(*endless) as running:
        assert apache_tools.run("kafka-console-producer", *where, stdin="two\n").code == 0
        ran = running.interrupt()
    assert ran.code == 128 + signal.SIGINT
    assert "Processed a total of" in ran.stderr
