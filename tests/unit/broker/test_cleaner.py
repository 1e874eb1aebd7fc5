"""The cleaner on a disk that hangs."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from tests.fakes.blocking_filesystem import BlockingFileSystem
from tests.patience import PATIENCE

from barnabas.broker.cleaner import LogCleaner
from barnabas.broker.cleaning_process import WorkerDied, WorkerThread
from barnabas.broker.maintenance_context import MaintenanceContext
from barnabas.storage.cleaning.plan import CleaningPlan
from barnabas.storage.deleted_files import unlink_now


def test_files_of_a_compaction_that_failed_are_removed_in_a_thread_before_the_next(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    left = directory / "0.log.cleaned"
    left.touch()
    log = SimpleNamespace(
        directory=directory, topic_partition="t-0", is_being_cleaned=True, is_closed=False, is_offline=False
    )
    plan = cast(CleaningPlan, SimpleNamespace(log=log, is_valid=True))

    async def scenario() -> None:
        fs = BlockingFileSystem()
        with ThreadPoolExecutor(1) as threads:
            context = cast(MaintenanceContext, SimpleNamespace(executor=threads, logs=None))
            cleaner = LogCleaner(context, fs, unlink_now, lambda _: None)
            with fs.hanging(tmp_path):
                cleaner._failed(plan, WorkerThread(fs), WorkerDied("killed"))
                async with asyncio.timeout(PATIENCE):
                    while not fs.blocked:
                        await asyncio.sleep(0.001)
                assert threading.current_thread().name not in fs.blocked
                assert log.is_being_cleaned
                assert left.exists()
            async with asyncio.timeout(PATIENCE):
                while log.is_being_cleaned:
                    await asyncio.sleep(0.001)
            assert not left.exists()

    asyncio.run(scenario())
