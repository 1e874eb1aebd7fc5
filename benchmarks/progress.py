"""The live line: rewritten on a terminal while a scenario runs; elsewhere a line for each finished one."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO


class Progress:
    """Writes to `stream`; `update` is transient, `line` stays."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._started = time.monotonic()

    def update(self, text: str) -> None:
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._write(f"\r\x1b[2K{self._stamped(text)[:width]}")

    def line(self, text: str) -> None:
        clear = "\r\x1b[2K" if self._live else ""
        self._write(f"{clear}{self._stamped(text)}\n")

    def _stamped(self, text: str) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        return f"{minutes:02d}:{seconds:02d}  {text}"

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
