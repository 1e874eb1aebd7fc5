"""Unlinks deleted files after their delay, in a thread.

Files that are still waiting when the broker stops keep their `.deleted` name. The next start unlinks them.
"""

import asyncio
import logging
from concurrent.futures import Executor

from barnabas.base.background_threads import threads_of
from barnabas.storage.deleted_files import DeletedFiles

logger = logging.getLogger("broker")


class Unlinker:
    def __init__(self, loop: asyncio.AbstractEventLoop, executor: Executor) -> None:
        self._loop: asyncio.AbstractEventLoop = loop
        self._executor: Executor = executor
        self._is_stopped: bool = False

    def __call__(self, deleted: DeletedFiles) -> None:
        """Receives a log's deleted files. Called from the loop, or from a thread during recovery."""
        self._loop.call_soon_threadsafe(self._schedule, deleted)

    def _schedule(self, deleted: DeletedFiles) -> None:
        self._loop.call_later(deleted.delay_ms / 1000, self._submit, deleted)

    def _submit(self, deleted: DeletedFiles) -> None:
        if not self._is_stopped:
            threads_of(self._executor, deleted.log_directory).submit(_run, deleted)

    def stop(self) -> None:
        self._is_stopped = True


def _run(deleted: DeletedFiles) -> None:
    try:
        deleted.run()
    except OSError as error:
        logger.warning("Cannot unlink deleted files: %s", error)
