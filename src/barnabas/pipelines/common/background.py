"""Work on tables beside their streams: one thread of the process, one piece of work for each table at a time.

A stream that compacts its table does not wait for it: a batch is written while the files of earlier ones are
joined. Work that fails is logged and changes nothing for the stream; the next occasion tries again. The end
of the process waits for what is under way.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

_log = logging.getLogger("barnabas.pipelines")
_guard = threading.Lock()
_thread = ThreadPoolExecutor(1, "table-maintenance")
_under_way: dict[str, Future[None]] = {}


def in_background(table: str, work: Callable[[], None]) -> bool:
    """False if the last work on the table is not done yet; then this one is not started."""

    def logged() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  (the stream goes on, whatever it is)
            _log.warning(
                "Compaction of table %s failed. The stream goes on and tries again later: %s", table, error
            )

    with _guard:
        last = _under_way.get(table)
        if last is not None and not last.done():
            return False
        _under_way[table] = _thread.submit(logged)
        return True


def wait_for(table: str) -> None:
    """Return when nothing is under way on the table."""
    with _guard:
        last = _under_way.get(table)
    if last is not None:
        last.result()
