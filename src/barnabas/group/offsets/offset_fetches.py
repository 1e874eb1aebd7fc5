"""OffsetFetch for one group, versions 1 to 10: given partitions, or all that have an offset.

A partition without a committed offset has offset -1 and no error, and so has every partition of a group that
does not exist. With `require_stable`, a partition in an open transaction gets UNSTABLE_OFFSET_COMMIT: its
offset is about to change. An offset that was committed to an earlier topic of the same name is not returned
for the requested topic.
"""

from typing import Any
from uuid import UUID

from barnabas.base.errors import ErrorCode, GroupIdNotFound
from barnabas.base.ids import ZERO_UUID
from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.groups import Groups
from barnabas.group.offsets.committed_offsets import TopicOffsets
from barnabas.group.offsets.offset_store import OffsetStore
from barnabas.group.records import CommittedOffset
from barnabas.wire import Reply

FIRST_WITH_TOPIC_IDS = 10
NO_OFFSET = -1


class OffsetFetches:
    def __init__(self, groups: Groups, environment: ShardEnvironment, store: OffsetStore) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self._store: OffsetStore = store

    def fetch(self, context: RequestContext, group: Any, *, require_stable: bool) -> Reply:
        """`group` is one group of the request. Up to version 7 it is the request itself."""
        offsets = self._offsets_of(group)
        by_id = context.version >= FIRST_WITH_TOPIC_IDS
        require_stable = require_stable and self._store.transactional.has_group(group.group_id)
        if group.topics is None:
            topics = self._fetch_all(group.group_id, offsets, require_stable, by_id=by_id)
        elif by_id:
            topics = self._fetch_by_id(group, offsets, require_stable)
        else:
            topics = [
                self._fetch_topic(
                    group.group_id, requested.name, ZERO_UUID, requested, offsets, require_stable
                )
                for requested in group.topics
            ]
        return Reply(group_id=group.group_id, topics=topics, error_code=ErrorCode.none)

    def _offsets_of(self, group: Any) -> TopicOffsets:
        """Raises if the group exists and the member may not fetch offsets."""
        try:
            found = self._groups.get(group.group_id)
            found.validate_offset_fetch(getattr(group, "member_id", None), getattr(group, "member_epoch", -1))
        except GroupIdNotFound:
            return {}
        return self._store.committed.of_group(group.group_id)

    def _fetch_by_id(self, group: Any, offsets: TopicOffsets, require_stable: bool) -> list[Reply]:
        topics: list[Reply] = []
        unknown: list[Reply] = []
        for requested in group.topics:
            topic = self._environment.image.topic_by_id.get(requested.topic_id)
            if topic is None:
                unknown.append(_unknown_topic(requested))
            else:
                topics.append(
                    self._fetch_topic(
                        group.group_id, topic.name, topic.topic_id, requested, offsets, require_stable
                    )
                )
        return topics + unknown

    def _fetch_topic(
        self,
        group_id: str,
        name: str,
        topic_id: UUID,
        requested: Any,
        offsets: TopicOffsets,
        require_stable: bool,
    ) -> Reply:
        committed = offsets.get(name, {})
        partitions: list[Reply] = []
        for index in requested.partition_indexes:
            if require_stable and self._store.transactional.has(group_id, name, index):
                partitions.append(_without_offset(index, ErrorCode.unstable_offset_commit))
                continue
            value = committed.get(index)
            if value is None or not _is_same_topic(value.topic_id, topic_id):
                partitions.append(_without_offset(index, ErrorCode.none))
            else:
                partitions.append(_with_offset(index, value))
        return Reply(name=name, topic_id=topic_id, partitions=partitions)

    def _fetch_all(
        self, group_id: str, offsets: TopicOffsets, require_stable: bool, *, by_id: bool
    ) -> list[Reply]:
        topics: list[Reply] = []
        for name, committed in offsets.items():
            topic = self._environment.image.topics.get(name)
            if topic is None and by_id:
                continue  # Version 10 cannot name it.
            partitions = [
                _without_offset(index, ErrorCode.unstable_offset_commit)
                if require_stable and self._store.transactional.has(group_id, name, index)
                else _with_offset(index, value)
                for index, value in committed.items()
            ]
            topic_id = ZERO_UUID if topic is None else topic.topic_id
            topics.append(Reply(name=name, topic_id=topic_id, partitions=partitions))
        return topics


def _is_same_topic(committed: UUID, requested: UUID) -> bool:
    return committed == requested or ZERO_UUID in (committed, requested)


def _with_offset(index: int, value: CommittedOffset) -> Reply:
    return Reply(
        partition_index=index,
        committed_offset=value.offset,
        committed_leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        error_code=ErrorCode.none,
    )


def _without_offset(index: int, error: ErrorCode) -> Reply:
    return Reply(
        partition_index=index,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=-1,
        metadata="",
        error_code=error,
    )


def _unknown_topic(requested: Any) -> Reply:
    partitions = [_without_offset(index, ErrorCode.unknown_topic_id) for index in requested.partition_indexes]
    return Reply(name="", topic_id=requested.topic_id or ZERO_UUID, partitions=partitions)
