"""`Batch`: one micro-batch and its exactly-once outputs, for queries that write to several outputs.

Each output remembers the batch itself: a table in its log, a topic in the transaction that carries the rows.
When a driver dies between two outputs, the batch is run again: those that have it skip it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from barnabas.pipelines.common import topics
from barnabas.pipelines.common.dead_letters import LEAST_LIMIT, LetterSizes, payloads_of
from barnabas.pipelines.common.settings import BadSetting, Settings
from barnabas.pipelines.common.table import Table
from barnabas.pipelines.common.table_lock import hold
from barnabas.pipelines.common.table_record import Change
from barnabas.pipelines.common.warehouse import open_table
from barnabas.spark.checkpoint_plans import read_plans
from barnabas.spark.wire.produce_settings import ProduceSettings


@dataclass(frozen=True, slots=True)
class Batch:
    frame: DataFrame
    number: int
    writer: str
    """The query's id: the same over restarts, another for a new checkpoint."""
    settings: Settings
    checkpoint: Path
    """The query's. Sinks recognise by it a batch that was planned anew on a restored checkpoint."""
    query: str = ""
    """Its name."""

    def to_table(self, frame: DataFrame, name: str, partition_by: Sequence[str]) -> None:
        """One file per partition of the table: micro-batches make enough of them. Raises TableRefused."""
        table = self.table(name, self.query)
        rows = frame.repartition(*partition_by).sortWithinPartitions(*partition_by)
        with table.changing():
            change = Change(offsets=self.end_offsets(), plan=self.plan())
            table.write_batch(rows, self.number, partition_by, writer=self.writer, change=change)

    def table(self, name: str, owner: str) -> Table:
        """One to write to, held by this run. Raises TableRefused, InUse."""
        table = open_table(self.settings, name, owner)
        if not table.is_remote:
            hold(Path(table.location) / "_run.lock", f"table {table.location}", str(self.checkpoint))
        return table

    def end_offsets(self) -> dict[str, dict[str, int]]:
        """By topic and partition: the first offset after the batch, as the checkpoint has it."""
        try:
            lines = (self.checkpoint / "offsets" / str(self.number)).read_text().splitlines()
        except FileNotFoundError:  # it lies where the driver's files are not
            return {}
        return offsets_of(lines[2:])

    def plan(self) -> str:
        """A digest of what Spark planned for the batch: the same when it is replayed after a crash."""
        return read_plans(str(self.checkpoint)).digests.get(self.number, "")

    def to_topic(self, frame: DataFrame, topic: str) -> None:
        topics.write_batch(frame, self.settings, topic, self.writer, self.number, self.checkpoint)

    def to_dead_letters(self, parsed: DataFrame, topic: str, pipeline: str) -> None:
        """Rows with an `error`. Those too large for the topic are put aside first, in a table."""
        limit = topics.max_message_bytes(self.settings.bootstrap_server, topic)
        if limit < LEAST_LIMIT:
            raise BadSetting(
                f"topic {topic} takes records of {limit} bytes: "
                f"set its max.message.bytes to {LEAST_LIMIT} or more"
            )
        sizes = LetterSizes(min(limit, ProduceSettings().max_request_size), payloads_of(pipeline))
        payloads = sizes.payloads(parsed, pipeline)
        if not payloads.isEmpty():
            self.to_table(payloads, sizes.table, ("date",))
        self.to_topic(sizes.letters(parsed, pipeline), topic)


def query_id(checkpoint: Path) -> str:
    """The id Spark gave to the query of a checkpoint, from its first start on."""
    identity: str = json.loads((checkpoint / "metadata").read_text())["id"]
    return identity


def offsets_of(sources: Sequence[str]) -> dict[str, dict[str, int]]:
    """From the lines that a checkpoint has for its sources. What is no topic begins with `@`."""
    found: dict[str, dict[str, int]] = {}
    for line in sources:
        for topic, ends in json.loads(line).items() if line.startswith("{") else ():
            if not topic.startswith("@"):
                found[topic] = {
                    partition: offset for partition, offset in ends.items() if partition.isdigit()
                }
    return found
