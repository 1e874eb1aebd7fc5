"""Scans of the logs that are not open, in the threads of their directories."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

from barnabas.base.background_threads import Rounds
from barnabas.base.ids import TopicPartition
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.logs import Logs

logger = logging.getLogger("broker")


class ColdScans:
    def __init__(self, logs: Logs, executor: Executor) -> None:
        self._logs: Logs = logs
        self._rounds: Rounds = Rounds(executor)

    async def find(self, scan: Callable[[LogDirectory], list[TopicPartition]]) -> list[TopicPartition]:
        """Returns what `scan` finds in all directories that respond."""
        online = [directory for directory in self._logs.directories if directory.is_online]
        ended = await self._rounds.run({each.path: partial(scan, each) for each in online})
        found: list[TopicPartition] = []
        for path, future in ended.items():
            error = future.exception()
            if error is not None:
                logger.error("Cannot scan the logs in %s: %s", path, error)
            else:
                found += future.result()
        return found
