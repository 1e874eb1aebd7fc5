"""Runs a scenario the four ways (our tools and Apache Kafka's, on both brokers) and compares what they print.

The output of Apache Kafka's tool on Apache Kafka's broker is the reference, or else that of the next way
in the order of `Way`. All ways are run to the end before anything is compared, so that a failure names
every way and step that differs. Two ways run at a time, never two with one broker or one kind of tools: ours
run in the main thread (they have the process's standard streams), theirs, which mostly wait, beside them.
"""

import difflib
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from tests.integration.tools import programs
from tests.integration.tools.apache_tools import ApacheTools
from tests.integration.tools.normalise import Names, normalise, write_files
from tests.integration.tools.programs import Ran
from tests.integration.tools.scenario import Scenario, Step, Way
from tests.patience import PATIENCE

from barnabas.testing.admin import Admin

_PAIRS: Final = (
    (Way.THEIRS_AT_APACHE, Way.OURS_AT_BARNABAS),
    (Way.THEIRS_AT_BARNABAS, Way.OURS_AT_APACHE),
)
"""What runs at the same time."""
# A way that cannot run (a missing program, one that hangs) does not affect the others.
_CANNOT_RUN: Final = (
    programs.UnknownProgram,
    programs.ProgramTimeout,
    ImportError,
    TimeoutError,
    subprocess.TimeoutExpired,
    AssertionError,
)


class RunningBroker(Protocol):
    """What a scenario knows of a broker: ours and Apache Kafka's both have it."""

    @property
    def bootstrap_servers(self) -> str: ...
    @property
    def log_dir(self) -> Path: ...


class _Background(Protocol):
    def wait_for_line(self, part: str = "", timeout: float = PATIENCE) -> str: ...


class Tools(Protocol):
    """A set of command-line tools."""

    def run(self, step: Step, arguments: Sequence[str], stdin: str) -> Ran: ...
    def start(self, step: Step, arguments: Sequence[str]) -> AbstractContextManager[_Background]: ...


class OurTools:
    def run(self, step: Step, arguments: Sequence[str], stdin: str) -> Ran:
        runner = programs.run if step.in_process else programs.run_inside
        return runner(step.program, *arguments, stdin=stdin, timeout=step.timeout)

    def start(self, step: Step, arguments: Sequence[str]) -> AbstractContextManager[_Background]:
        return programs.start(step.program, *arguments)


class TheirTools:
    def __init__(self, tools: ApacheTools) -> None:
        self._tools = tools

    def run(self, step: Step, arguments: Sequence[str], stdin: str) -> Ran:
        return self._tools.run(step.program, *arguments, stdin=stdin, timeout=step.timeout)

    def start(self, step: Step, arguments: Sequence[str]) -> AbstractContextManager[_Background]:
        return self._tools.start(step.program, *arguments)


@dataclass(frozen=True, slots=True)
class Setup:
    """One of the four ways, ready to run scenarios."""

    tools: Tools
    broker: RunningBroker


def check_parity(scenario: Scenario, setups: Mapping[Way, Setup], directory: Path) -> None:
    """Every way prints what Apache Kafka's tool prints with Apache Kafka's broker; AssertionError if not."""
    played: dict[Way, list[Ran] | str] = {}
    with ThreadPoolExecutor(1) as beside:
        for pair in _PAIRS:
            theirs, ours = (way if way in scenario.ways else None for way in pair)
            waiting = beside.submit(_attempt, scenario, theirs, setups, directory) if theirs else None
            if ours is not None:
                played[ours] = _attempt(scenario, ours, setups, directory)
            if theirs is not None and waiting is not None:
                played[theirs] = waiting.result()
    found = {way: played[way] for way in scenario.ways}
    results = {way: each for way, each in found.items() if not isinstance(each, str)}
    problems = [each for each in found.values() if isinstance(each, str)]
    for number, step in enumerate(scenario.steps):
        problems += _compare_all(step, {way: steps[number] for way, steps in results.items()})
    _report(scenario, problems)


def _attempt(scenario: Scenario, way: Way, setups: Mapping[Way, Setup], directory: Path) -> list[Ran] | str:
    """What each step left behind, or why the way could not be run."""
    where = directory / way.value
    where.mkdir()
    try:
        return play(scenario, setups[way], where)
    except _CANNOT_RUN as error:
        return f"{way.value} could not be run: {type(error).__name__}: {error}"


def _compare_all(step: Step, results: Mapping[Way, Ran]) -> list[str]:
    problems = []
    reference = next(iter(results), None)
    for way, found in results.items():
        if reference is not None and way is not reference:
            problems += _compare(step, way, results[reference], found, against=reference.value)
        if way not in step.deviates:
            problems += _check_expected(step, way, found)
    return problems


def check_expected(scenario: Scenario, setup: Setup, directory: Path) -> None:
    """Our tool with our broker prints the scenario's expected text; needs nothing of Apache Kafka's."""
    way = Way.OURS_AT_BARNABAS
    results = play(scenario, setup, directory)
    problems = []
    for step, ran in zip(scenario.steps, results, strict=True):
        if way not in step.deviates:
            problems += _check_expected(step, way, ran)
    _report(scenario, problems)


def _report(scenario: Scenario, problems: Sequence[str]) -> None:
    if problems:
        raise AssertionError(f"scenario {scenario.name!r}\n\n" + "\n\n".join(problems))


def play(scenario: Scenario, setup: Setup, directory: Path) -> list[Ran]:
    """Run all steps one way, with fresh names; their output is normalised."""
    names = Names.fresh(setup.broker.bootstrap_servers, setup.broker.log_dir, directory)
    write_files(scenario.files, names)
    try:
        with ExitStack() as background:
            return [_play_step(scenario, step, setup, names, background) for step in scenario.steps]
    finally:
        _delete_topics(names)


def _play_step(scenario: Scenario, step: Step, setup: Setup, names: Names, background: ExitStack) -> Ran:
    arguments = [names.fill(argument) for argument in step.arguments]
    if step.in_background:
        running = background.enter_context(setup.tools.start(step, arguments))
        if step.until is not None:
            running.wait_for_line(names.fill(step.until))
        return Ran("", "", 0)
    deadline = time.monotonic() + PATIENCE
    while True:
        ran = setup.tools.run(step, arguments, names.fill(step.stdin))
        seen = Ran(
            normalise(_chosen(ran.stdout, step, names), names, scenario.rules),
            normalise(ran.stderr, names, scenario.rules),
            ran.code,
        )
        if step.until is None or re.search(step.until, seen.stdout + seen.stderr) is not None:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"`{step}` never printed {step.until!r}; last{_heard(seen)}")
        time.sleep(0.02)


def _chosen(text: str, step: Step, names: Names) -> str:
    lines = text.splitlines(keepends=True)
    if step.lines_with is not None:
        lines = [line for line in lines if re.search(names.fill(step.lines_with), line)]
    return "".join(sorted(lines) if step.in_any_order else lines)


def _delete_topics(names: Names) -> None:
    """Scenarios share their brokers: what one leaves behind slows the next ones down."""
    host, _, port = names.bootstrap.rpartition(":")
    admin = Admin(host, int(port))
    admin.delete_topics([topic for topic in admin.list_topics() if names.salt in topic])


def _compare(step: Step, way: Way, right: Ran, found: Ran, *, against: str) -> list[str]:
    if step.in_background:
        return []
    problems = _difference(step, way, "stdout", right.stdout, found.stdout, against)
    if step.compare_stderr:
        problems += _difference(step, way, "stderr", right.stderr, found.stderr, against)
    if right.code != found.code:
        problems.append(
            f"{way.value} differs from {against} in `{step}`: exit code {found.code}, not {right.code}"
            f"{_heard(found)}"
        )
    if way not in step.deviates:
        return problems
    if problems:
        return []
    return [f"{way.value} no longer differs in `{step}`, though it should: {step.deviates[way]}"]


def _check_expected(step: Step, way: Way, found: Ran) -> list[str]:
    problems = []
    if step.expected is not None:
        problems += _difference(step, way, "stdout", step.expected, found.stdout, "the expected text")
    if step.expected_stderr is not None:
        problems += _difference(step, way, "stderr", step.expected_stderr, found.stderr, "the expected text")
    if step.code is not None and step.code != found.code:
        problems.append(f"{way.value}: `{step}` has exit code {found.code}, not {step.code}{_heard(found)}")
    return problems


def _difference(step: Step, way: Way, stream: str, right: str, found: str, against: str) -> list[str]:
    if right == found:
        return []
    lines = difflib.unified_diff(
        _visible(right), _visible(found), fromfile=against, tofile=way.value, lineterm=""
    )
    diff = "\n".join(f"    {line}" for line in lines)
    return [f"{way.value} differs from {against} in {stream} of `{step}`:\n{diff}"]


def _visible(text: str) -> list[str]:
    """Lines in which tabs, trailing spaces and a missing end of line can be seen."""
    return [
        re.sub(r" +(?=$|\n)", lambda spaces: "·" * len(spaces[0]), line).replace("\t", "→").rstrip("\n")
        + ("" if line.endswith("\n") else "  (no end of line)")
        for line in text.splitlines(keepends=True)
    ]


def _heard(ran: Ran) -> str:
    lines = (ran.stderr or ran.stdout).splitlines()
    return "".join(f"\n    {line}" for line in lines[:8])
