"""Checkpoints are written in the threads of their log directories: one that hangs delays no other."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from barnabas.base.background_threads import PATIENCE_SECONDS, threads_of
from barnabas.storage.checkpoints import CheckpointWrite
from barnabas.storage.log_checkpoints import LogCheckpoints


async def write_checkpoints(
    writes: Sequence[CheckpointWrite], checkpoints: LogCheckpoints, executor: Executor
) -> None:
    """Returns when all are written, or after a time limit. Failures are recorded then, too."""
    loop = asyncio.get_running_loop()

    async def run(write: CheckpointWrite) -> None:
        try:
            await loop.run_in_executor(threads_of(executor, write.file.path.parent), write.run)
        except OSError as error:
            checkpoints.failed(write, error)

    if writes:
        await asyncio.wait([loop.create_task(run(write)) for write in writes], timeout=PATIENCE_SECONDS)
