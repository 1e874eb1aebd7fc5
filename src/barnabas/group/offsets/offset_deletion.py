"""Deletion of offsets before their expiration: by OffsetDelete, or because their topic was deleted."""

from collections.abc import Collection
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, InvalidGroupId
from barnabas.base.ids import ZERO_UUID
from barnabas.group.environment import ShardEnvironment
from barnabas.group.groups import Groups
from barnabas.group.offsets.offset_store import OffsetStore
from barnabas.group.offsets.requested_topics import KnownTopic, requested_topics
from barnabas.group.records import CommittedOffset, OffsetCommit
from barnabas.metadata.image import TopicImage
from barnabas.runtime.outcome import NOTHING, Outcome, written
from barnabas.wire import Reply
from barnabas.wire.offset_commit import CommitTopicResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest

STEP = 5_000
"""The maximum of tombstones that are written in one step. Other work on the loop runs in between."""
_RETRY_MS = 500

_INDEX_OF = attrgetter("partition_index")


class OffsetDeletion:
    def __init__(self, groups: Groups, environment: ShardEnvironment, store: OffsetStore) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self._store: OffsetStore = store

    # --- OffsetDelete --------------------------------------------------------------------------------------

    def delete(self, body: "OffsetDeleteRequest") -> Outcome[Reply]:
        if not body.group_id:
            raise InvalidGroupId("The group id is empty.")
        group = self._groups.get(body.group_id)
        group.validate_offset_delete()
        requested = requested_topics(self._environment.image, body.topics, _INDEX_OF, by_id=False)
        answers: list[CommitTopicResult] = []
        records: list[OffsetCommit] = []
        for known in requested.known:
            if group.is_subscribed_to(known.topic.name):
                answers.append(known.answer(ErrorCode.group_subscribed_to_topic))
            else:
                answers.append(known.answer(ErrorCode.none))
                records.extend(self._tombstones_of(group.group_id, known))
        topics = [
            Reply(
                name=name,
                partitions=[Reply(partition_index=index, error_code=code) for index, code in partitions],
            )
            for name, _, partitions in requested.answered(answers)
        ]
        return Outcome(Reply(error_code=ErrorCode.none, topics=topics), records)

    def _tombstones_of(self, group_id: str, known: KnownTopic) -> list[OffsetCommit]:
        name = known.topic.name
        indexes = dict.fromkeys(map(_INDEX_OF, known.partitions))
        return [
            OffsetCommit(group_id, name, index, None)
            for index in indexes
            if self._store.has(group_id, name, index)
        ]

    # --- deleted topics ------------------------------------------------------------------------------------

    def on_topics_deleted(self, topics: Collection[TopicImage]) -> Outcome[None]:
        """Delete every offset of these topics in steps.

        `topics` are those of the last image that had them.
        """
        tombstones = list(islice(self._of_deleted_topics(topics), STEP))
        if not tombstones:
            return NOTHING
        # A partition may be both committed and pending. One tombstone covers both.
        records = list(dict.fromkeys(tombstones))
        return Outcome(
            None,
            records,
            is_atomic=False,
            written=written(partial(self._go_on, topics, len(tombstones) == STEP)),
        )

    def _go_on(self, topics: Collection[TopicImage], has_more: bool, done: Deferred[None]) -> None:
        if has_more or done.error is not None:
            key = ("offsets-of-deleted-topics", *sorted(topic.name for topic in topics))
            delay_ms = 0 if done.error is None else _RETRY_MS
            self._environment.timers.schedule(key, delay_ms, partial(self.on_topics_deleted, topics))

    def _of_deleted_topics(self, topics: Collection[TopicImage]) -> "Iterator[OffsetCommit]":
        ids = {topic.name: topic.topic_id for topic in topics}
        committed = (
            (group_id, name, index, value)
            for group_id in self._store.committed
            for name in ids
            for index, value in self._store.committed.of_group(group_id).get(name, {}).items()
        )
        pending = ((*key, value) for key, value in self._store.transactional if key.topic in ids)
        for group_id, name, index, value in chain(committed, pending):
            if _is_of(value, ids[name]):
                yield OffsetCommit(group_id, name, index, None)


def _is_of(value: CommittedOffset, topic_id: object) -> bool:
    """An offset without a topic id belongs to any topic of the name."""
    return value.topic_id in (topic_id, ZERO_UUID)
