"""What every test may use, and the list of tests that could not run here.

A test that needs a program, a Python module or Maven Central says so: `@pytest.mark.needs("kcat")`. Where it
is missing the test is skipped, and the end of the run lists it with the command that installs what it needs:
nothing is left out silently.
"""

import functools
import importlib.util
import re
import shutil
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.integration.clients.jars import JarsUnavailable, fetch_jars

# How long an example takes says something about the machine, not about the code.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

_PROGRAMS = {
    "kcat": "kcat",
    "java": "default-jre-headless",
    "javac": "default-jdk-headless",
    "strace": "strace",
    "mvn": "maven",
    "git": "git",
}
_REASON = re.compile(r"(?P<name>\S+) is missing; to get it: (?P<remedy>.*)")


@functools.cache
def missing(name: str) -> str | None:
    """None if `name` is there, otherwise how to get it."""
    if name == "maven":
        return _maven_missing()
    if name == "apache-kafka":
        return _apache_kafka_missing()
    if name in _PROGRAMS:
        return None if shutil.which(name) else f"sudo apt-get install {_PROGRAMS[name]}"
    return None if importlib.util.find_spec(name) else "make dev"


def _maven_missing() -> str | None:
    """Maven Central can be had if it gives the jars that the tests want."""
    if missing("mvn") is not None:
        return missing("mvn")
    try:
        fetch_jars()
    except JarsUnavailable as error:
        return f"a network that reaches Maven Central ({error})"
    return None


def _apache_kafka_missing() -> str | None:
    """The whole broker and its tools: the jars that the benchmarks keep."""
    from benchmarks.apache_kafka import ApacheKafka, ApacheKafkaUnavailable, default_cache

    program = missing("java") or missing("mvn")
    if program is not None:
        return program
    try:
        ApacheKafka.fetch(default_cache())
    except ApacheKafkaUnavailable as error:
        return f"a network that reaches Maven Central ({error})"
    return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    from tests.scheduling import OneSession

    return OneSession(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After they were shuffled, and only where they are spread over processes."""
    if hasattr(config, "workerinput"):
        from tests.scheduling import turn

        items.sort(key=lambda item: turn(item.nodeid))


def pytest_runtest_setup(item: pytest.Item) -> None:
    names = [name for marker in item.iter_markers("needs") for name in marker.args]
    if item.get_closest_marker("maven") is not None:
        names += ["java", "maven"]
    for name in names:
        remedy = missing(name)
        if remedy is not None:
            pytest.skip(f"{name} is missing; to get it: {remedy}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    unmet = _unmet(terminalreporter.stats.get("skipped", []))
    if not unmet:
        return
    terminalreporter.section("not run here, because something is missing", yellow=True)
    for need, tests in sorted(unmet.items()):
        terminalreporter.line(f"{need}: {len(tests)} test{'' if len(tests) == 1 else 's'}", yellow=True)
        for test in sorted(tests):
            terminalreporter.line(f"    {test}")


def _unmet(skipped: list[pytest.TestReport]) -> Mapping[str, list[str]]:
    """What is missing, with the tests that wanted it; from reports, for tests may run in other processes."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for report in skipped:
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        reason = _REASON.search(text)
        if reason is not None:
            found[f"{reason['name']} (to get it: {reason['remedy']})"].append(report.nodeid)
    return found


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the repository."""
    return Path(__file__).parents[1]
