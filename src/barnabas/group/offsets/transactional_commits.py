"""TxnOffsetCommit, versions 0 to 5: validation of transactional commits, and their records.

The records are a transactional batch of the producer: they are pending until the marker ends its transaction.
Checked as OffsetCommit is, with these differences, all of them Kafka's: versions before 3 have no member id,
so none is required. A rebalance does not refuse the commit. An error of a member's epoch is
ILLEGAL_GENERATION for members of either protocol, because producers handle that error. The commit does not
renew the member's session. Topic ids are not stored.

The caller has verified that the producer has an ongoing transaction that includes this partition.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ErrorCode,
    IllegalGeneration,
    KafkaError,
    StaleMemberEpoch,
    UnknownServerError,
)
from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.group import ALLOW, CommitValidator
from barnabas.group.groups import Groups
from barnabas.group.offsets.offset_commits import is_metadata_too_large
from barnabas.group.offsets.requested_topics import KnownTopic, requested_topics
from barnabas.group.records import CommittedOffset, OffsetCommit
from barnabas.runtime.outcome import Outcome, TransactionalProducer
from barnabas.wire import Reply
from barnabas.wire.offset_commit import CommitPartitionResult, CommitTopicResult

if TYPE_CHECKING:
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest

INDEX_OF = attrgetter("partition_index")


class TransactionalCommits:
    def __init__(self, groups: Groups, environment: ShardEnvironment) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment

    def commit(self, context: RequestContext, body: "TxnOffsetCommitRequest") -> Outcome[Reply]:
        """An error of the member is the error of every existing partition."""
        requested = requested_topics(self._environment.image, body.topics, INDEX_OF, by_id=False)
        answers: list[CommitTopicResult] = []
        records: list[OffsetCommit] = []
        if requested.known:
            try:
                self._commit_known(context, body, requested.known, answers, records)
            except KafkaError as error:
                if not requested.unknown:
                    raise
                answers = [topic.answer(error.code) for topic in requested.known]
                records = []
        return Outcome(
            commit_reply(requested.answered(answers)),
            records,
            producer=TransactionalProducer(body.producer_id, body.producer_epoch),
        )

    def _commit_known(
        self,
        context: RequestContext,
        body: "TxnOffsetCommitRequest",
        known: list[KnownTopic],
        answers: list[CommitTopicResult],
        records: list[OffsetCommit],
    ) -> None:
        if body.producer_id < 0 or body.producer_epoch < 0:
            # Possible only without verification of transactions. Kafka cannot create such a batch.
            raise UnknownServerError("A transaction needs a producer id and an epoch.")
        validate = self._validated(context, body)
        now_ms = self._environment.clock.now_ms()
        longest = self._environment.settings.offset_metadata_max_bytes
        for topic, partitions, _ in known:
            name = topic.name
            results: list[CommitPartitionResult] = []
            for each in partitions:
                index, metadata = each.partition_index, each.committed_metadata or ""
                if is_metadata_too_large(metadata, longest):
                    results.append((index, ErrorCode.offset_metadata_too_large))
                    continue
                _check_partition(validate, name, index)
                value = CommittedOffset(each.committed_offset, each.committed_leader_epoch, metadata, now_ms)
                records.append(OffsetCommit(body.group_id, name, index, value))
                results.append((index, ErrorCode.none))
            answers.append(CommitTopicResult(name, topic.topic_id, results))

    def _validated(self, context: RequestContext, body: "TxnOffsetCommitRequest") -> CommitValidator:
        group = self._groups.find(body.group_id)
        if group is None:
            if body.generation_id < 0:
                return ALLOW  # The records themselves create the group when they are replayed.
            raise IllegalGeneration(
                f"Group {body.group_id} has no generation {body.generation_id}: it does not exist."
            )
        try:
            return group.validate_offset_commit(
                body.member_id,
                body.group_instance_id,
                body.generation_id,
                context.version,
                is_transactional=True,
            )
        except StaleMemberEpoch as error:
            raise IllegalGeneration(error.message) from error


def _check_partition(validate: CommitValidator, topic: str, partition: int) -> None:
    try:
        validate(topic, partition)
    except StaleMemberEpoch as error:
        raise IllegalGeneration(error.message) from error


def commit_reply(topics: Iterable[CommitTopicResult]) -> Reply:
    return Reply(
        topics=[
            Reply(
                name=name,
                partitions=[Reply(partition_index=index, error_code=code) for index, code in partitions],
            )
            for name, _, partitions in topics
        ]
    )
