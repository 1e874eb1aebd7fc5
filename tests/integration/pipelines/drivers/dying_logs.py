"""Log collection in a process that dies (kill -9, with its JVM) at a chosen point of a chosen batch.
Only its first query runs: the one that has two outputs.

dying_logs.py <point> <batch> <arguments of the pipeline>...
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from barnabas.pipelines.common import topics
from barnabas.pipelines.common.commit_log import Commit, CommitLog
from barnabas.pipelines.common.delta_table import DeltaLakeTable
from barnabas.pipelines.common.table_record import TableRecord
from barnabas.pipelines.log_collection import pipeline


def die() -> NoReturn:
    os.killpg(0, signal.SIGKILL)
    raise AssertionError("still alive")


def arm_delta(point: str, batch: int) -> None:
    commit = DeltaLakeTable._commit

    def dying(self: DeltaLakeTable, *given: object) -> None:
        record = next(each for each in given if isinstance(each, TableRecord))
        if point == "staged" and batch in record.writers.values():
            die()
        commit(self, *given)  # type: ignore[arg-type]
        if point == "committed" and batch in record.writers.values():
            die()

    DeltaLakeTable._commit = dying  # type: ignore[assignment,method-assign]


def arm(point: str, batch: int) -> None:
    arm_delta(point, batch)
    commit, finish, write = CommitLog.commit, CommitLog._finish, topics.write_batch
    tables: dict[str, tuple[str, Callable[[CommitLog, Commit], None]]] = {
        "staged": ("commit", commit),
        "decided": ("_finish", finish),
    }
    if point in tables:
        name, real = tables[point]

        def dying(self: CommitLog, change: Commit) -> None:
            if change.batch_id == batch:
                die()
            real(self, change)

        setattr(CommitLog, name, dying)
        return

    def dying_write(
        frame: object, settings: object, topic: str, writer: str, number: int, *rest: object
    ) -> None:
        if point == "between-outputs" and number == batch:
            die()
        write(frame, settings, topic, writer, number, *rest)  # type: ignore[arg-type]
        if point == "written" and number == batch:
            die()

    topics.write_batch = dying_write  # type: ignore[assignment]


if __name__ == "__main__":
    arm(sys.argv[1], int(sys.argv[2]))
    all_queries = pipeline.queries
    pipeline.queries = lambda *given: all_queries(*given)[:1]
    raise SystemExit(pipeline.main(sys.argv[3:]))
