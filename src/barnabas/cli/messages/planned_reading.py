"""Reads for `barnabas consume`: the offset ranges of a plan, or as a member of a group.

Both yield batches until all partitions are at their end, or without end when following. Closing the iterator
closes the consumer, and commits the offsets of a member.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.messages.consuming import Intake
from barnabas.cli.messages.interruption import Stop
from barnabas.cli.messages.librdkafka_clients import check_reachable, open_consumer

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

    from barnabas.cli.messages.reading_plan import Stretch

_NO_GROUP = "barnabas-consume"
"""librdkafka requires a group id even if no group is joined and nothing is committed."""


def read_plan(
    properties: Mapping[str, str], plan: "Sequence[Stretch]", stop: Stop, *, follow: bool
) -> "Iterator[list[Message]]":
    from confluent_kafka import TopicPartition

    wanted = [each for each in plan if follow or each.start < each.end]
    if not wanted:
        return
    own = {"group.id": _NO_GROUP, "enable.auto.commit": "false", "auto.offset.reset": "earliest"}
    consumer = open_consumer({**properties, **own}, enable_partition_eof=not follow)
    ends = _Ends({} if follow else {(each.topic, each.partition): each.end for each in wanted})
    try:
        consumer.assign([TopicPartition(each.topic, each.partition, each.start) for each in wanted])
        yield from _until(consumer, stop, ends, follow=follow)
    finally:
        consumer.close()


def read_as_member(
    properties: Mapping[str, str], topics: Sequence[str], stop: Stop, *, follow: bool, limit: int | None
) -> "Iterator[list[Message]]":
    check_reachable(properties)
    consumer = open_consumer(properties, enable_partition_eof=not follow)
    ends = _Ends({})

    def assigned(_consumer: "Consumer", partitions: "list[TopicPartition]") -> None:
        ends.expect(partitions)

    try:
        consumer.subscribe(list(topics), on_assign=assigned)
        # With a limit take no more records than are shown: taken records are committed.
        yield from _until(consumer, stop, ends, follow=follow, limit=limit)
    finally:
        consumer.close()


class _Ends:
    """The partitions that are still to be read, each with its end if it is known."""

    def __init__(self, ends: dict[tuple[str, int], int]) -> None:
        self._ends: dict[tuple[str, int], int] = ends
        self._open: set[tuple[str, int]] = set(ends)
        self._is_known: bool = bool(ends)

    @property
    def is_reached(self) -> bool:
        return self._is_known and not self._open

    def expect(self, partitions: "Sequence[TopicPartition]") -> None:
        self._is_known = True
        self._open.update((each.topic, each.partition) for each in partitions)

    def reached(self, topic: str, partition: int) -> None:
        self._open.discard((topic, partition))

    def within(self, batch: "list[Message]") -> "list[Message]":
        """Drops records that were written after the plan was made."""
        kept = []
        for record in batch:
            topic_partition = (record.topic() or "", record.partition() or 0)
            end = self._ends.get(topic_partition)
            offset = record.offset() or 0
            if end is None or offset < end:
                kept.append(record)
            if end is not None and offset >= end - 1:
                self._open.discard(topic_partition)
        return kept


def _until(
    consumer: "Consumer", stop: Stop, ends: _Ends, *, follow: bool, limit: int | None = None
) -> "Iterator[list[Message]]":
    if follow:
        yield from Intake(consumer, stop, limit=limit).batches()
        return
    intake = Intake(consumer, stop, limit=limit, on_end=ends.reached, gives_nothing=True)
    for batch in intake.batches():
        kept = ends.within(batch)
        if kept:
            yield kept
        if ends.is_reached:
            return
