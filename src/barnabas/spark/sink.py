"""A sink as planned on the driver, and what its tasks and its driver do with it.

The plan is pickled to the tasks; connections are not: each process keeps its own for as long as it lives,
because Spark uses its Python workers again from batch to batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.client.settings import ClientSettings
from barnabas.spark.coordinators import ClusterCoordinators
from barnabas.spark.exactly_once import BatchTask, Outcome, abort_all, commit_all, write_once
from barnabas.spark.planning.sink_columns import SinkColumns
from barnabas.spark.planning.sink_options import SinkOptions
from barnabas.spark.wire.cluster_settings import client_settings, produce_settings
from barnabas.spark.wire.connections import cluster_for
from barnabas.spark.wire.producer import Producer
from barnabas.spark.writing import RowWriter

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Sink:
    options: SinkOptions
    columns: SinkColumns
    client: ClientSettings

    @classmethod
    def of(cls, fields: Sequence[tuple[str, str]], options: Mapping[str, str]) -> "Sink":
        """For columns of these names and types. Raises ValueError, or BadSettings for properties of Kafka."""
        given = SinkOptions.of(options)
        produce_settings(given.kafka)  # refused now rather than in the first task
        return cls(given, SinkColumns.of(fields, given.topic), client_settings(given.kafka))

    # --- in a task -------------------------------------------------------------------------------------

    def write(self, batches: "Iterator[pa.RecordBatch]", turn: int) -> Outcome:
        """At least once: rows are visible as they are written, and written again if the task is."""
        with Producer(cluster_for(self.client), produce_settings(self.options.kafka)) as producer:
            written = RowWriter(producer, self.columns, self.options.topic, turn).write(batches)
            producer.flush()
        return Outcome("", written.rows)

    def write_once(self, batches: "Iterator[pa.RecordBatch]", task: BatchTask) -> Outcome:
        settings = produce_settings(self.options.kafka, transactional_id=task.transactional_id)
        with Producer(cluster_for(self.client), settings) as producer:
            writer = RowWriter(producer, self.columns, self.options.topic, task.batch + task.task)
            filled = (batch for batch in batches if batch.num_rows)
            return write_once(task, filled, producer, self._coordinators(), writer.write)

    # --- on the driver ---------------------------------------------------------------------------------

    def commit(self, outcomes: Sequence[Outcome], batch: int) -> None:
        commit_all(outcomes, batch, self._coordinators())

    def abort(self, outcomes: Sequence[Outcome], batch: int) -> None:
        abort_all(outcomes, batch, self._coordinators())

    def _coordinators(self) -> ClusterCoordinators:
        patience = produce_settings(self.options.kafka).delivery_timeout
        return ClusterCoordinators(cluster_for(self.client), patience)
