"""What Spark passes to a task about itself: its number, and the query and batch it belongs to.

Spark hands these to tasks only, as local properties; they also reach the jobs that a `foreachBatch` function
starts. The driver's side of a Python sink does not see them.
"""

from pyspark import TaskContext

QUERY_ID, BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"
_RUN_ID, _JOB_GROUP = "sql.streaming.runId", "spark.jobGroup.id"
_SHORT = 8
"""Characters of an id that are recorded: enough to find it in Spark's logs."""


def task_number() -> int:
    """Of the task within its stage, the same for every attempt."""
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def local_property(name: str) -> str | None:
    context = TaskContext.get()
    return context.getLocalProperty(name) if context is not None else None


def run_id() -> str | None:
    """Of one start of a query. Spark 4.3 makes it the job group of everything that the query runs."""
    if local_property(QUERY_ID) is None:
        return None
    return short_id(local_property(_RUN_ID) or local_property(_JOB_GROUP))


def short_id(found: str | None) -> str | None:
    return None if found is None else found[:_SHORT]
