"""A broker in a child process (`barnabas.testing.child`), from the parent's side.

The child gets its configuration as one line of JSON on its standard input and answers with one line:
`ready <port>`, or `failed <why>`. Its input stays open: the end of input stops the child. The kernel closes
it however the parent ends. A further line is a command in JSON (`barnabas.testing.control`), which the child
answers with a line of JSON, `{"value": ...}` or `{"error": "..."}`. Its log goes to a file.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import barnabas
from barnabas.testing.broker import BrokerStartError

_START_TIMEOUT = 30.0
_STOP_TIMEOUT = 30.0
_ANSWER_TIMEOUT = 30.0
_LOG_TAIL = 20
# The parent may import the package from a path that the child lacks, for example pytest's pythonpath.
_PROGRAM = (
    "import sys; sys.path.append(sys.argv[1]); from barnabas.testing.child import main; sys.exit(main())"
)


class ProcessHost:
    def __init__(self, log: Path) -> None:
        self._log: Path = log
        self._process: subprocess.Popen[bytes] | None = None
        self._commands: threading.Lock = threading.Lock()
        self._is_paused: bool = False

    def start(self, properties: Mapping[str, str]) -> int:
        with self._log.open("ab") as log:
            process = self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, str(Path(barnabas.__file__).parents[1])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                # Ctrl-C in a terminal is for the tests; they stop the broker.
                start_new_session=True,
            )
        try:
            return self._greet(process, properties)
        except BaseException:
            self.kill()
            raise

    def _greet(self, process: "subprocess.Popen[bytes]", properties: Mapping[str, str]) -> int:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # it has ended already: the error below includes its log
            process.stdin.write(json.dumps(dict(properties)).encode() + b"\n")
        word, _, rest = _read_line(process.stdout, _START_TIMEOUT).partition(" ")
        if word == "ready":
            return int(rest)
        if word == "failed":
            raise BrokerStartError(rest)
        with suppress(subprocess.TimeoutExpired):  # its output ends a moment before the process does
            process.wait(0.5)
        how = "did not get ready in time" if process.poll() is None else "ended before it was ready"
        raise BrokerStartError(f"the broker's process {how}; the end of its log:\n{self._tail()}")

    def stop(self) -> None:
        process = self._process
        if process is None:
            return
        process.terminate()
        self.resume()
        try:
            process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            late = f"the broker did not stop within {_STOP_TIMEOUT:.0f} s and was killed"
            raise RuntimeError(f"{late}; the end of its log:\n{self._tail()}") from None
        self._close()

    def command(self, **command: Any) -> Any:
        """Raises RuntimeError with the reason if the child refuses the command or does not answer."""
        with self._commands:
            process = self._process
            if process is None or process.stdin is None or process.stdout is None:
                raise RuntimeError("the broker is not running")
            if self._is_paused:
                raise RuntimeError("the broker is paused: resume it first")
            try:
                process.stdin.write(json.dumps(command).encode() + b"\n")
                answer = json.loads(_read_line(process.stdout, _ANSWER_TIMEOUT))
            except (OSError, ValueError):
                raise RuntimeError(
                    f"the broker does not answer; the end of its log:\n{self._tail()}"
                ) from None
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)
        self._is_paused = True

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self._is_paused = False

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close()

    def _close(self) -> None:
        process, self._process = self._process, None
        self._is_paused = False
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _tail(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return "\n".join("  " + line for line in lines[-_LOG_TAIL:]) or "  (empty)"


def _read_line(pipe: IO[bytes], timeout: float) -> str:
    """One line, or the part of it that arrived before the pipe ended or the timeout."""
    deadline = time.monotonic() + timeout
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not line.endswith(b"\n") and selector.select(max(0.0, deadline - time.monotonic())):
            part = os.read(pipe.fileno(), 65536)
            if not part:
                break
            line += part
    return line.decode(errors="replace").strip()
