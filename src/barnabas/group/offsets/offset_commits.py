"""OffsetCommit, versions 2 to 10: validation of commits, and their records.

The group validates the member. A commit without a generation, as standalone consumers and admin clients send
it, creates a group that does not exist: the record itself creates it when it is replayed. Unknown partitions
and metadata that is too long are errors of their partition. All other errors fail the commit as a whole.
"""

import logging
from collections.abc import Callable, Sequence
from operator import itemgetter
from uuid import UUID

from barnabas.base.errors import ErrorCode, GroupIdNotFound, IllegalGeneration, KafkaError
from barnabas.base.ids import ZERO_UUID
from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.group import ALLOW, CLASSIC, CommitValidator, Group
from barnabas.group.groups import Groups
from barnabas.group.offsets.requested_topics import KnownTopic, requested_topics
from barnabas.group.records import CommittedOffset, TopicCommit
from barnabas.metadata.image import TopicImage
from barnabas.runtime.outcome import Outcome
from barnabas.wire import Reply
from barnabas.wire.offset_commit import (
    FIRST_WITH_TOPIC_IDS,
    NO_RETENTION_TIME,
    CommitPartitionResult,
    CommitTopicResult,
    OffsetCommitRequest,
)

logger = logging.getLogger("coordinator")

FIRST_WITH_GROUP_ID_NOT_FOUND = 9
NO_TIMESTAMP = -1

RenewSession = Callable[[Group, str], None]
"""Called with the classic group and the member of an accepted commit: a commit renews the session."""

_INDEX_OF = itemgetter(0)
_new_tuple = tuple.__new__
"""Creates a named tuple in half the time."""
_NO_ERROR = ErrorCode.none
_TOO_LARGE = ErrorCode.offset_metadata_too_large


class OffsetCommits:
    def __init__(self, groups: Groups, environment: ShardEnvironment, renew_session: RenewSession) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self._renew_session: RenewSession = renew_session

    def commit(self, context: RequestContext, body: OffsetCommitRequest) -> Outcome[Reply]:
        """Version 10 has topic ids, earlier versions have names."""
        requested = requested_topics(
            self._environment.image, body.topics, _INDEX_OF, by_id=context.version >= FIRST_WITH_TOPIC_IDS
        )
        answers: list[CommitTopicResult] = []
        records: list[TopicCommit] = []
        if requested.known:
            try:
                self._commit_known(context, body, requested.known, answers, records)
            except KafkaError as error:
                if not requested.unknown:
                    raise
                answers = [topic.answer(error.code) for topic in requested.known]
                records = []
        return Outcome(Reply(topics=requested.answered(answers)), records)

    def commit_again(
        self,
        context: RequestContext,
        body: OffsetCommitRequest,
        topic: TopicImage,
        indexes: Sequence[int],
        offsets: Sequence[int],
        epochs: Sequence[int],
    ) -> Outcome[None]:
        """The same member commits the same partitions of an existing topic, without metadata."""
        validate = self._validated(context, body)
        if validate is not ALLOW:
            for index in indexes:
                validate(topic.name, index)
        now_ms, topic_id = self._environment.clock.now_ms(), topic.topic_id
        committed = [
            (index, _new_tuple(CommittedOffset, (offset, epoch, "", now_ms, NO_TIMESTAMP, topic_id)))
            for index, offset, epoch in zip(indexes, offsets, epochs, strict=True)
        ]
        return Outcome(None, [TopicCommit(body.group_id, topic.name, committed)])

    def _commit_known(
        self,
        context: RequestContext,
        body: OffsetCommitRequest,
        known: list[KnownTopic],
        answers: list[CommitTopicResult],
        records: list[TopicCommit],
    ) -> None:
        validate = self._validated(context, body)
        now_ms = self._environment.clock.now_ms()
        expire_ms = _expire_timestamp(body.retention_time_ms, now_ms)
        longest = self._environment.settings.offset_metadata_max_bytes
        for topic, partitions, _ in known:
            name, topic_id = topic.name, _recorded_id(topic.topic_id, expire_ms)
            results: list[CommitPartitionResult] = []
            offsets: list[tuple[int, CommittedOffset]] = []
            for index, offset, epoch, metadata in partitions:
                if metadata and is_metadata_too_large(metadata, longest):
                    results.append((index, _TOO_LARGE))
                    continue
                if validate is not ALLOW:
                    validate(name, index)
                fields = (offset, epoch, metadata or "", now_ms, expire_ms, topic_id)
                offsets.append((index, _new_tuple(CommittedOffset, fields)))
                results.append((index, _NO_ERROR))
            answers.append(CommitTopicResult(name, topic.topic_id, results))
            if offsets:
                records.append(TopicCommit(body.group_id, name, offsets))

    def _validated(self, context: RequestContext, body: OffsetCommitRequest) -> CommitValidator:
        group = self._groups.find(body.group_id)
        generation, member_id = body.generation_id_or_member_epoch, body.member_id
        if group is None:
            return _validated_without_group(context, body.group_id, generation)
        validate = group.validate_offset_commit(
            member_id, body.group_instance_id, generation, context.version, is_transactional=False
        )
        if group.type == CLASSIC:
            self._renew_session(group, member_id)
        return validate


def _validated_without_group(context: RequestContext, group_id: str, generation: int) -> CommitValidator:
    if generation < 0:
        logger.info("Group %s is created by a commit without membership", group_id)
        return ALLOW
    if context.version >= FIRST_WITH_GROUP_ID_NOT_FOUND:
        raise GroupIdNotFound(f"Group {group_id} not found.")
    raise IllegalGeneration(f"Group {group_id} has no generation {generation}: it does not exist.")


def _expire_timestamp(retention_ms: int, now_ms: int) -> int:
    """Versions 2 to 4 may have a retention of their own. -1 is the broker's."""
    return NO_TIMESTAMP if retention_ms == NO_RETENTION_TIME else now_ms + retention_ms


def _recorded_id(topic_id: UUID, expire_ms: int) -> UUID:
    """A record with an expire timestamp has an old version without a topic id field."""
    return topic_id if expire_ms == NO_TIMESTAMP else ZERO_UUID


def is_metadata_too_large(text: str, longest: int) -> bool:
    """The length as in Kafka: in UTF-16 units."""
    length = len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
    return length > longest
