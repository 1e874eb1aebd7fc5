"""A sink as planned on the driver, and what its tasks and its driver do with it.

The plan is pickled to the tasks. Connections are not: each process keeps its own until it ends, because Spark
reuses its Python workers from batch to batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.client.errors import BadSettings
from barnabas.client.settings import ClientSettings
from barnabas.spark.coordinators import ClusterCoordinators
from barnabas.spark.exactly_once import BatchTask, Outcome, abort_all, commit_all, write_once
from barnabas.spark.planning.sink_columns import SinkColumns
from barnabas.spark.planning.sink_options import SinkOptions
from barnabas.spark.sink_identity import SinkIdentity
from barnabas.spark.wire.cluster_settings import client_settings, produce_settings
from barnabas.spark.wire.connections import cluster_for
from barnabas.spark.wire.produce_settings import check_produce_settings
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
    def of(cls, fields: Sequence[tuple[str, str]], options: Mapping[str, str], *, is_stream: bool) -> "Sink":
        """For columns of these names and types. Raises ValueError, or BadSettings for properties of Kafka."""
        given = SinkOptions.of(options)
        _check_properties(given, is_once=given.exactly_once if is_stream else given.application is not None)
        columns = SinkColumns.of(fields, given.topic, write_timestamp=given.write_timestamp)
        return cls(given, columns, client_settings(given.kafka))

    def identity(self, application: str, *, is_stream: bool) -> SinkIdentity:
        return SinkIdentity(self.options.prefix, application, self.options.topic, is_stream)

    # --- in a task -------------------------------------------------------------------------------------

    def write(self, batches: "Iterator[pa.RecordBatch]", turn: int) -> Outcome:
        """At least once: rows are visible as they are written, and written again if the task is."""
        with Producer(cluster_for(self.client), produce_settings(self.options.kafka)) as producer:
            written = RowWriter(producer, self.columns, self.options.topic, turn).write(batches)
            producer.flush()
        return Outcome(written.rows)

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


def _check_properties(options: SinkOptions, *, is_once: bool) -> None:
    """Refuse on the driver what the producer of the first task would refuse."""
    settings = produce_settings(options.kafka, transactional_id=options.prefix if is_once else None)
    try:
        check_produce_settings(settings)
    except BadSettings as error:
        if not is_once:
            raise
        raise BadSettings(
            f"{error} Exactly once needs an idempotent producer: leave out kafka.acks, "
            "kafka.enable.idempotence and kafka.max.in.flight.requests.per.connection, or write at least "
            "once (exactlyOnce=false for a stream, no txnAppId for a batch)."
        ) from error
