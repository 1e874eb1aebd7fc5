"""`spark.readStream.format("barnabas")`: where each micro-batch begins and ends, and its tasks.

One reader lives on the driver for as long as its query runs, in a process of its own; others are only made to
be pickled for tasks, so the constructor opens nothing. Spark keeps the offsets. What is promised:

- The first batch, run again, reads what it read before (`planning.offset_json` says how).
- A stream without new records returns the offset it was given, as it was, and no batch runs.
- A topic that was deleted and created anew is known by its id, which is in the offsets: `failOnDataLoss`
  decides whether the query fails or reads the new topic from its beginning.
- Loss is found before Spark writes the batch down where that is possible: a query that failed for a topic
  that was away goes on when the topic is back.
- Spark requests a new end only when the batch before is done, so that is when progress is shown: the group is
  exact also at the end of an AvailableNow run, where Spark's own `commit` comes a batch late.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from barnabas.spark.offset_reader import OffsetReader
from barnabas.spark.planning import Offsets, TopicPartition
from barnabas.spark.planning.admission import TriggerDelay, limited, waiting
from barnabas.spark.planning.data_loss import (
    Loss,
    Recreation,
    plan_ranges,
    readable,
    recreations,
    report,
    without_recreated,
)
from barnabas.spark.planning.offset_json import (
    OffsetDict,
    TopicIds,
    initial_offsets,
    offset_dict,
    offsets_of,
    topic_ids_of,
)
from barnabas.spark.planning.options import SourceOptions
from barnabas.spark.planning.ranges import split
from barnabas.spark.progress_group import ProgressGroup
from barnabas.spark.wire.cluster_settings import client_settings

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("barnabas.spark")


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options: SourceOptions = options
        self._columns: tuple[str, ...] = columns
        self._offsets: OffsetReader = OffsetReader(options)
        self._group: ProgressGroup = ProgressGroup(
            client_settings(options.kafka), options.group_prefix, options.group_id
        )
        self._delay: TriggerDelay | None = None
        if options.min_offsets_per_trigger is not None:
            self._delay = TriggerDelay(options.min_offsets_per_trigger, options.max_trigger_delay_ms)
        self._initial: OffsetDict | None = None
        self._is_under_way: bool = False
        """Whether a batch was planned: then the next one is not the first."""
        self._latest: Offsets = {}
        self._ids: TopicIds = {}
        """Of the topics in `_latest`."""
        self._is_available_now: bool = False
        self._targets: Offsets | None = None

    # --- where to -------------------------------------------------------------------------------------

    def initialOffset(self) -> OffsetDict:  # noqa: N802
        if self._initial is None:
            for warning in self._options.warnings:
                _log.warning(warning)
            initial = self._offsets.initial()
            self._initial = offset_dict(initial, ids=self._offsets.topic_ids)
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """There is no limit made of two: the smaller number and the delay are applied here in any case."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._is_available_now = True

    def latestOffset(self, start: OffsetDict, limit: ReadLimit) -> OffsetDict:  # noqa: N802
        known = offsets_of(start)
        self._group.commit(known)
        self._latest = self._reachable(known, topic_ids_of(start))
        left = without_recreated(known, recreations(topic_ids_of(start), self._ids))
        end = self._admitted(left, limit)
        if start == self._initial and not self._is_under_way:
            return offset_dict(end, initial=left, ids=self._ids)  # the first batch runs even if it is empty
        if end is left or end == left == known:
            return start
        return offset_dict(end, ids=self._ids)

    def reportLatestOffset(self) -> OffsetDict | None:  # noqa: N802
        return offset_dict(self._latest) or None

    def _reachable(self, known: Offsets, known_ids: TopicIds) -> Offsets:
        """The ends of now, or of when an AvailableNow run began."""
        if self._targets is not None:
            return self._targets
        latest = self._offsets.latest(known)
        self._ids = self._offsets.topic_ids
        if self._options.fail_on_data_loss:
            # Planning reports it too, but by then Spark has recorded the end and does not give it up.
            report(recreations(known_ids, self._ids), fails=True, warn=_log.warning)
            losses = plan_ranges(known, latest, dict.fromkeys(latest, 0)).losses
            report(losses, fails=True, warn=_log.warning)
        if self._is_available_now:
            self._targets = latest
        return latest

    def _admitted(self, known: Offsets, limit: ReadLimit) -> Offsets:
        latest = self._latest
        if isinstance(limit, ReadAllAvailable):
            return latest
        beginnings = self._offsets.earliest(latest.keys() - known.keys())
        if self._delay is not None and not self._is_available_now:
            available = sum(waiting(known, latest, beginnings).values())
            if self._delay.must_wait(available, time.monotonic() * 1000):
                return known
        if isinstance(limit, ReadMaxRows):
            return limited(limit.max_rows, known, latest, beginnings)
        return latest

    # --- what to read ---------------------------------------------------------------------------------

    def partitions(self, start: OffsetDict, end: OffsetDict) -> list[InputPartition]:
        from barnabas.spark.reading import RangePartition

        self._is_under_way = True
        if start == end:
            return []
        ids, stop, first = topic_ids_of(end), offsets_of(end), initial_offsets(end)
        recreated: list[Recreation] = []
        if first is None:
            recreated = recreations(topic_ids_of(start), ids)
            first = without_recreated(offsets_of(start), recreated)
        earliest = self._offsets.earliest(stop.keys())
        planned = plan_ranges(first, stop, earliest)
        losses: list[Loss | Recreation] = [*recreated, *planned.losses]
        report(losses, fails=self._options.fail_on_data_loss, warn=_log.warning)
        options = self._options
        ranges = split(planned.ranges, options.min_partitions, options.max_records_per_partition)
        parts = [RangePartition.of(each, ids.get(each.topic)) for each in readable(ranges, earliest)]
        if parts and (meeting := self._group.meeting_group) is not None:
            parts[0] = replace(parts[0], meeting_group=meeting)
        return list(parts)

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        from barnabas.spark.reading import read_range

        return read_range(self._options, self._columns, partition)

    def commit(self, end: Mapping[str, Mapping[str, int]]) -> None:
        offsets: Mapping[TopicPartition, int] = offsets_of(end)
        self._group.commit(offsets)
