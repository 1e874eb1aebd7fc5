"""`Batch`: one micro-batch and its exactly-once outputs, for queries that write to several places.

Each output remembers the batch itself: a table in its commit log, a topic in the transaction that carries the
rows. When a driver dies between two outputs, the batch is run again: those that have it skip it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from barnabas.pipelines.common import topics
from barnabas.pipelines.common.settings import Settings
from barnabas.pipelines.common.table import ParquetTable


@dataclass(frozen=True, slots=True)
class Batch:
    frame: DataFrame
    number: int
    writer: str
    """The query's id: the same over restarts, another for a new checkpoint."""
    settings: Settings

    def to_table(self, frame: DataFrame, name: str, partition_by: Sequence[str]) -> None:
        """One file per partition of the table: micro-batches make enough of them."""
        table = ParquetTable(self.settings.table(name))
        table.write_batch(frame.repartition(*partition_by), self.number, partition_by, writer=self.writer)

    def to_topic(self, frame: DataFrame, topic: str) -> None:
        topics.write_batch(frame, self.settings, topic, self.writer, self.number)


def query_id(checkpoint: Path) -> str:
    """The id Spark gave to the query of a checkpoint, from its first start on."""
    identity: str = json.loads((checkpoint / "metadata").read_text())["id"]
    return identity
