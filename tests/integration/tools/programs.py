"""Our command-line programs, run as a user runs them or inside the test's own process.

The names come from pyproject.toml's table of console scripts, and the entry point is called directly: what is
tested is the tree at hand, whatever is installed.

- `run`: a process of its own, to the end.
- `start`: a process that goes on until it is interrupted.
- `run_inside`: no process (a tenth of the time); for programs that neither are interrupted nor change how
  this process works.
"""

import fcntl
import functools
import importlib
import io
import os
import queue
import signal
import subprocess
import sys
import termios
import threading
import time
import tomllib
import traceback
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, cast

from tests.patience import PATIENCE

_ROOT = Path(__file__).parents[3]
_CALL = (
    "import importlib, sys; sys.path.insert(0, sys.argv[1]); module, _, name = sys.argv[2].partition(':'); "
    "sys.argv = sys.argv[3:]; sys.exit(getattr(importlib.import_module(module), name)())"
)
EntryPoint = Callable[[Sequence[str] | None], int | None]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program left behind."""

    stdout: str
    stderr: str
    code: int

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()


class UnknownProgram(Exception):
    """pyproject.toml declares no console script of that name."""


@functools.cache
def _scripts() -> Mapping[str, str]:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    return cast(Mapping[str, str], project["scripts"])


def is_declared(program: str) -> bool:
    return program in _scripts()


def _target(program: str) -> str:
    if program not in _scripts():
        raise UnknownProgram(f"{program} is not in [project.scripts] of pyproject.toml")
    return _scripts()[program]


def _command(program: str, arguments: Sequence[str]) -> list[str]:
    source = str(_ROOT / "src")
    return [sys.executable, "-P", "-c", _CALL, source, _target(program), program, *arguments]


def _environment(changes: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1", **(changes or {})}


def run(
    program: str,
    *arguments: str,
    stdin: str = "",
    timeout: float = PATIENCE,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Ran:
    """Run a console script in a process of its own, to its end; `env` is added to this environment."""
    done = subprocess.run(
        _command(program, arguments),
        input=stdin.encode(),
        capture_output=True,
        timeout=timeout,
        env=_environment(env),
        cwd=cwd,
        check=False,
    )
    return Ran(done.stdout.decode(), done.stderr.decode(), done.returncode)


class Running:
    """A program that runs until it ends or is stopped. Its output is read as it comes, by two threads."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin: IO[bytes] = process.stdin
        self._fresh: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._stdout: list[bytes] = []
        self._stderr: list[bytes] = []
        self._readers = [
            threading.Thread(target=_collect, args=(process.stdout, self._stdout, self._fresh)),
            threading.Thread(target=_collect, args=(process.stderr, self._stderr, None)),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def write(self, text: str) -> None:
        self._stdin.write(text.encode())
        self._stdin.flush()

    def until_input_is_read(self) -> None:
        """Waits until the program has read everything that was written. It may still be working on it."""
        unread = array("i", [1])
        deadline = time.monotonic() + PATIENCE
        while unread[0]:
            assert time.monotonic() < deadline, f"{unread[0]} bytes of input are not read; {self._so_far()}"
            time.sleep(0.01)
            fcntl.ioctl(self._stdin, termios.FIONREAD, unread)

    def end_input(self) -> None:
        self._stdin.close()

    def wait_for_line(self, part: str = "", timeout: float = PATIENCE) -> str:
        """The next line of standard output that has `part` in it; earlier lines are passed over."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._fresh.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line with {part!r} in {timeout} s; {self._so_far()}") from None
            if not line:
                raise AssertionError(f"the program ended without a line with {part!r}; {self._so_far()}")
            if part in line.decode():
                return line.decode().rstrip("\n")

    def interrupt(self, timeout: float = PATIENCE, signal_number: signal.Signals = signal.SIGINT) -> Ran:
        """Ctrl-C, and what the program left behind."""
        self._process.send_signal(signal_number)
        return self.wait(timeout)

    def wait(self, timeout: float = PATIENCE) -> Ran:
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the program goes on after {timeout} s; {self._so_far()}") from None
        for reader in self._readers:
            reader.join()
        return Ran(b"".join(self._stdout).decode(), b"".join(self._stderr).decode(), code)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _so_far(self) -> str:
        out, err = b"".join(self._stdout).decode(), b"".join(self._stderr).decode()
        return f"so far:\n{out}\nand on standard error:\n{err}"


def _collect(pipe: IO[bytes], into: list[bytes], fresh: "queue.SimpleQueue[bytes] | None") -> None:
    for line in pipe:
        into.append(line)
        if fresh is not None:
            fresh.put(line)
    if fresh is not None:
        fresh.put(b"")


@contextmanager
def start(
    program: str, *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Iterator[Running]:
    """Run a console script until it ends, is interrupted, or the block is left (then it is killed)."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        _command(program, arguments), stdin=pipe, stdout=pipe, stderr=pipe, env=_environment(env), cwd=cwd
    )
    running = Running(process)
    try:
        yield running
    finally:
        running.close()


def run_inside(
    program: str, *arguments: str, stdin: str = "", timeout: float = PATIENCE, in_one: bool = False
) -> Ran:
    """Call a console script's entry point here, with its own standard streams (or both `in_one`)."""
    module, _, name = _target(program).partition(":")
    main: EntryPoint = getattr(importlib.import_module(module), name)
    return call(main, program, arguments, stdin, timeout, in_one=in_one)


def call(
    main: EntryPoint,
    program: str,
    arguments: Sequence[str],
    stdin: str,
    timeout: float,
    *,
    in_one: bool = False,
) -> Ran:
    """`main(arguments)` with captured streams; an exception is printed as the interpreter prints it.

    With `in_one` both streams are one, `stdout`, as on a terminal.
    """
    out = _Capture()
    err = out if in_one else _Capture()
    kept = sys.argv, sys.stdin
    sys.argv = [program, *arguments]
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err), _time_limit(program, timeout):
            code = _code_of(main, arguments)
    finally:
        sys.argv, sys.stdin = kept
    return Ran(out.text(), "" if in_one else err.text(), code)


def _code_of(main: EntryPoint, arguments: Sequence[str]) -> int:
    try:
        return main(list(arguments)) or 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    except Exception:  # noqa: BLE001  the interpreter would end the process like this
        traceback.print_exc()
        return 1


class ProgramTimeout(BaseException):
    """A program that was called in this process did not come to an end. No `except Exception` stops it."""


@contextmanager
def _time_limit(program: str, seconds: float) -> Iterator[None]:
    """Only the main thread can be stopped; a program that is called in another one runs without a limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise ProgramTimeout(f"{program} goes on after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _Capture(io.TextIOWrapper):
    """Standard output for a program: text through it, bytes through its `buffer`."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding="utf-8", write_through=True)

    def text(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode()

    def close(self) -> None:
        """A program may close what it takes for standard output; what it wrote is still wanted."""
