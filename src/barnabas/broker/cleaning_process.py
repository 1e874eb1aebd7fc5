"""Runs a cleaning in a process of its own, or, if that is not possible, in a thread of the broker.

Cleaning is pure Python work: on a thread beside the event loop it would delay every request. The process is
started for the first job. It ends with the broker in any case (it reads the end of the pipe), and is stopped
after an idle time. The thread that communicates with it calls `swap` for every cleaned segment.
"""

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

import barnabas
from barnabas.base.errors import CorruptMessage
from barnabas.base.filesystem import FileSystem
from barnabas.storage.cleaning.cleaner import Cleaner
from barnabas.storage.cleaning.job import CleanedSegment, CleaningAborted, CleaningJob, CleaningStats

Swap = Callable[[CleanedSegment], None]

_PATIENCE_SECONDS = 1.0
"""How long a process may take to end by itself. A frozen process is killed."""


class WorkerDied(Exception):
    """The process ended in the middle of a job."""


class Worker(Protocol):
    def clean(self, job: CleaningJob, swap: Swap) -> CleaningStats:
        """Run a job to its end. Blocks. Raises `CleaningAborted`, `KafkaError`, `OSError`, `WorkerDied`."""

    def abort(self) -> None:
        """Let the job end soon. From any thread, without waiting."""

    def kill(self) -> None:
        """End the job now, if that is possible. From any thread, without waiting."""

    def close(self) -> None: ...


class WorkerThread:
    """Cleans in this process, on any file system."""

    def __init__(self, fs: FileSystem) -> None:
        self._fs: FileSystem = fs
        self._is_aborted: threading.Event = threading.Event()

    def clean(self, job: CleaningJob, swap: Swap) -> CleaningStats:
        self._is_aborted.clear()
        return Cleaner(job, self._fs, swap, check=self._check).clean()

    def _check(self) -> None:
        if self._is_aborted.is_set():
            raise CleaningAborted

    def abort(self) -> None:
        self._is_aborted.set()

    def kill(self) -> None:
        self.abort()

    def close(self) -> None:
        self.abort()


class WorkerProcess:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            # -P: a module in the working directory must not replace one of Barnabas.
            [sys.executable, "-P", "-m", "barnabas.storage.cleaning"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
            bufsize=0,
            start_new_session=True,
        )
        self._lock: threading.Lock = threading.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    def clean(self, job: CleaningJob, swap: Swap) -> CleaningStats:
        self._send({"clean": job.to_json()})
        output = self._pipe(self._process.stdout)
        unread = b""
        while True:
            while b"\n" not in unread:
                received = output.read(1 << 16)
                if not received:
                    raise WorkerDied(f"the cleaning process ended with {self._process.wait()}")
                unread += received
            line, _, unread = unread.partition(b"\n")
            message: dict[str, Any] = json.loads(line)
            if "cleaned" in message:
                self._swap(swap, message["cleaned"])
            else:
                return _outcome(message)

    def _swap(self, swap: Swap, cleaned: list[Any]) -> None:
        base_offset, size, has_txn_index, replaced = cleaned
        try:
            swap(CleanedSegment(base_offset, size, has_txn_index, tuple(replaced)))
        except BaseException:
            self.close()
            raise
        self._send({"swapped": True})

    def abort(self) -> None:
        if not self._can_send():
            return  # The process does not read, so it would not obey: a caller that cannot wait kills it.
        try:
            self._send({"abort": True})
        except WorkerDied:
            self._process.poll()

    def _can_send(self) -> bool:
        """Whether a short message can be sent without waiting for a process that may be frozen."""
        if self._lock.locked():
            return False
        poll = select.poll()
        try:
            poll.register(self._pipe(self._process.stdin), select.POLLOUT)
        except ValueError:
            return False  # Already closed.
        return bool(poll.poll(0))

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """End the process, at once if it is idle."""
        self._pipe(self._process.stdin).close()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._pipe(self._process.stdout).close()

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        with self._lock:
            try:
                pipe = self._pipe(self._process.stdin)
                rest = memoryview(data)
                while rest:
                    rest = rest[pipe.write(rest) :]
            except (BrokenPipeError, ValueError) as error:
                raise WorkerDied("the cleaning process has ended") from error

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


def _outcome(message: dict[str, Any]) -> CleaningStats:
    if "done" in message:
        return CleaningStats.from_json(message["done"])
    if "aborted" in message:
        raise CleaningAborted
    if message["corrupt"]:
        raise CorruptMessage(message["failed"])
    raise OSError(message["errno"], message["failed"])


def _environment() -> dict[str, str]:
    """The child imports the same package as the parent."""
    home = str(Path(barnabas.__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (home, inherited)))}
