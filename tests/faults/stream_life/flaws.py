"""The defects that a life of streams is there to find, planted one by one in the source and the sinks.

Each puts back, as far as a few lines can, what they did before the defect was fixed.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest
from tests.faults.stream_life.slow_upstream import SlowUpstream

from barnabas.client.admin.group_offsets import commit_offsets
from barnabas.spark import exactly_once, stream_reader
from barnabas.spark.wire.partition_fetch import PartitionFetcher
from barnabas.spark.wire.producer import Producer


def batch_older_than_the_decided_one_is_skipped(patch: pytest.MonkeyPatch) -> None:
    is_decided = exactly_once._is_decided

    def skip(task: Any, coordinators: Any) -> bool:
        decided = coordinators.decision(task.sink.group)
        if decided is not None and decided.batch > task.batch:
            return True
        return bool(is_decided(task, coordinators))

    patch.setattr(exactly_once, "_is_decided", skip)
    patch.setattr(exactly_once, "check_lineage", lambda *_: None)
    patch.setattr(exactly_once, "_is_committed", lambda task, next_batch: next_batch > task.batch)


def _sink_identity() -> Any:
    return import_module("barnabas.spark.sink_identity").SinkIdentity


def names_of_groups_collide(patch: pytest.MonkeyPatch) -> None:
    def base(sink: Any) -> str:
        return f"{sink.prefix}-{sink.application}"

    patch.setattr(_sink_identity(), "group", property(base))
    patch.setattr(_sink_identity(), "transactional_id", lambda sink, task: f"{base(sink)}-{task}")
    patch.setattr(exactly_once, "_is_committed", lambda task, next_batch: next_batch > task.batch)


def targets_of_an_application_share_an_identity(patch: pytest.MonkeyPatch) -> None:
    def base(sink: Any) -> str:
        return f"{sink.prefix}-{sink.application}-{sink.is_stream}"

    patch.setattr(_sink_identity(), "_base", property(base))


def id_of_a_topic_is_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stream_reader, "topic_ids_of", lambda _: {})


def three_answers_without_records_end_a_range(patch: pytest.MonkeyPatch) -> None:
    def has_no_more(fetcher: Any, position: int) -> bool:
        fetcher._empty_answers += 1
        return bool(fetcher._empty_answers >= 3)

    patch.setattr(PartitionFetcher, "_has_no_more", has_no_more)


def progress_is_not_in_the_transaction(patch: pytest.MonkeyPatch) -> None:
    def send_offsets(producer: Any, group: str, offsets: Mapping[tuple[str, int], tuple[int, str]]) -> None:
        commit_offsets(
            producer._cluster,
            group,
            {topic_partition: offset for topic_partition, (offset, _) in offsets.items()},
        )

    patch.setattr(Producer, "send_offsets", send_offsets)


def new_partitions_begin_at_their_end(patch: pytest.MonkeyPatch) -> None:
    plan_ranges = stream_reader.__dict__["plan_ranges"]

    def plan(start: Mapping[Any, int], end: Mapping[Any, int], earliest: Mapping[Any, int]) -> Any:
        return plan_ranges(
            {**{topic_partition: end[topic_partition] for topic_partition in end}, **start}, end, earliest
        )

    patch.setattr(stream_reader, "plan_ranges", plan)


def nothing_is_sent_while_rows_are_awaited(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Producer, "attend", lambda _: None)
    patch.setattr(SlowUpstream, "patience", 1.0)
