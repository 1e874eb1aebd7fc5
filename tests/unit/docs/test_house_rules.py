"""The rules of CONTRIBUTING.md that can be counted: lengths, folders of tests, no sleeping in unit tests."""

import ast
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_FOLDERS = ("src", "tests", "benchmarks", "tools")
_FILE_LINES = 500
_FUNCTION_LINES = 40
_FOLDERS_OF_FUNCTIONS = ("src", "benchmarks", "tools")
"""Not those of tests, where a function may be a table of values."""

_LONG_FUNCTIONS = {
    # One loop over the bytes of a batch: a call for each record or field would cost more than the work in it.
    "src/barnabas/records/record.py:decode_payload",
    "src/barnabas/records/record.py:record_offsets_and_timestamps",
    "src/barnabas/records/record_scan.py:_read",
    "src/barnabas/group/survivors.py:_take_plain",
    # The passes of recovery, in their order.
    "src/barnabas/storage/log_loader.py:load",
}
"""Functions that may be longer, with the reason."""

_TESTED_ELSEWHERE = {
    # Tables of constants: the tests of what reads them cover them.
    "base/config/tables",
    "cli/dump/schemas",
    # Needs a Spark session: tests/integration/pipelines.
    "pipelines/activity_tracking",
    "pipelines/common",
    "pipelines/generator",
    "pipelines/log_collection",
    "pipelines/metrics_alerts",
    "pipelines/report/transformations",
    # Drawn by the page: tests/unit/pipelines/report.
    "pipelines/report/charts",
}
_TESTS_OF_OTHERS = {"benchmarks", "docs"}
"""Folders of tests/unit that test what is not in src/barnabas."""


def _sources(*folders: str) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(_ROOT)), path.read_text()


def long_functions(source: str, limit: int = _FUNCTION_LINES) -> list[tuple[str, int]]:
    """Functions whose body has more lines than the limit; docstrings and signatures do not count."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            body = function.body[1:] if ast.get_docstring(function) else function.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body and body[-1].end_lineno else 0
            if lines > limit:
                found.append((function.name, lines))
    return found


def sleeps(source: str) -> list[int]:
    """Lines that sleep for a time. Inside `while`, a sleep is between two looks at a condition."""
    tree = ast.parse(source)
    polling = {
        id(inner) for loop in ast.walk(tree) if isinstance(loop, ast.While) for inner in ast.walk(loop)
    }
    found = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("time.sleep", "asyncio.sleep"):
            is_turn = ast.unparse(call) == "asyncio.sleep(0)"
            if not is_turn and id(call) not in polling:
                found.append(call.lineno)
    return found


def test_files_are_short() -> None:
    long = [file for file, source in _sources(*_FOLDERS) if len(source.splitlines()) > _FILE_LINES]
    assert long == []


def test_functions_are_short() -> None:
    long = {
        f"{file}:{name}": lines
        for file, source in _sources(*_FOLDERS_OF_FUNCTIONS)
        for name, lines in long_functions(source)
    }
    assert {name: lines for name, lines in long.items() if name not in _LONG_FUNCTIONS} == {}
    assert long.keys() >= _LONG_FUNCTIONS, "an exception that is not needed any more"


def test_unit_tests_mirror_the_packages() -> None:
    packages = {
        str(path.parent.relative_to(_ROOT / "src/barnabas"))
        for path in (_ROOT / "src/barnabas").rglob("*.py")
        if path.name != "__init__.py"
    }
    folders = {
        str(path.parent.relative_to(_ROOT / "tests/unit"))
        for path in (_ROOT / "tests/unit").rglob("test_*.py")
    }
    assert folders - packages - _TESTS_OF_OTHERS == set()
    assert packages - folders == _TESTED_ELSEWHERE


def test_unit_tests_do_not_sleep() -> None:
    found = [f"{file}:{line}" for file, source in _sources("tests/unit") for line in sleeps(source)]
    assert found == []


def test_finds_long_functions_without_counting_docstrings() -> None:
    body = "    x = 1\n" * 3
    assert long_functions(f"def f():\n    '''a\n    b\n    c'''\n{body}", 3) == []
    assert long_functions(f"def f():\n    '''a'''\n{body}    return x\n", 3) == [("f", 4)]


def test_finds_sleeps_outside_of_loops_that_wait() -> None:
    waits = "while x():\n    time.sleep(0.1)\n"
    turns = "async def f():\n    await asyncio.sleep(0)\n    await asyncio.sleep(2)\n"
    source = f"time.sleep(1)\n{waits}{turns}"
    assert sleeps(source) == [1, 6]
