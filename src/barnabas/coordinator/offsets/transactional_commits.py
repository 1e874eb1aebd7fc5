"""TxnOffsetCommit, versions 0 to 5: who may commit offsets in a transaction, and the records that come of it.

The records are a transactional batch of the producer: they wait, pending, for the marker that ends its
transaction. Checked as OffsetCommit is, with these differences, all of them Kafka's: versions before 3 do not
say who commits, so nobody is asked for it; a rebalance under way is no obstacle; an error of a member's epoch
is ILLEGAL_GENERATION for members of either protocol, which is what a producer understands; the commit is no
sign of life of the member; topic ids are not recorded.

That the producer is in a transaction of which this partition is part was made sure of before.
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
from barnabas.coordinator.environment import RequestContext, ShardEnvironment
from barnabas.coordinator.group import ALLOW, CommitValidator
from barnabas.coordinator.group_records import CommittedOffset, OffsetCommit
from barnabas.coordinator.groups import Groups
from barnabas.coordinator.offsets.offset_commits import is_metadata_too_large
from barnabas.coordinator.offsets.requested_topics import KnownTopic, requested_topics
from barnabas.coordinator.outcome import Outcome, TransactionalProducer
from barnabas.wire import Reply
from barnabas.wire.offset_commit import PartitionResult, TopicResult

if TYPE_CHECKING:
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest

INDEX_OF = attrgetter("partition_index")


class TransactionalCommits:
    def __init__(self, groups: Groups, environment: ShardEnvironment) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment

    def commit(self, context: RequestContext, body: "TxnOffsetCommitRequest") -> Outcome[Reply]:
        """An error of the member is that of every partition that exists."""
        requested = requested_topics(self._environment.image, body.topics, INDEX_OF, by_id=False)
        answers: list[TopicResult] = []
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
        answers: list[TopicResult],
        records: list[OffsetCommit],
    ) -> None:
        if body.producer_id < 0 or body.producer_epoch < 0:
            # Seen only where partitions of transactions are not verified; Kafka cannot make such a batch.
            raise UnknownServerError("A transaction needs a producer id and an epoch.")
        validate = self._validated(context, body)
        now_ms = self._environment.clock.now_ms()
        longest = self._environment.settings.offset_metadata_max_bytes
        for topic, partitions, _ in known:
            name = topic.name
            results: list[PartitionResult] = []
            for each in partitions:
                index, metadata = each.partition_index, each.committed_metadata or ""
                if is_metadata_too_large(metadata, longest):
                    results.append((index, ErrorCode.offset_metadata_too_large))
                    continue
                _check_partition(validate, name, index)
                value = CommittedOffset(each.committed_offset, each.committed_leader_epoch, metadata, now_ms)
                records.append(OffsetCommit(body.group_id, name, index, value))
                results.append((index, ErrorCode.none))
            answers.append(TopicResult(name, topic.topic_id, results))

    def _validated(self, context: RequestContext, body: "TxnOffsetCommitRequest") -> CommitValidator:
        group = self._groups.find(body.group_id)
        if group is None:
            if body.generation_id < 0:
                return ALLOW  # the records themselves make the group when they are replayed
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


def commit_reply(topics: Iterable[TopicResult]) -> Reply:
    return Reply(
        topics=[
            Reply(
                name=name,
                partitions=[Reply(partition_index=index, error_code=code) for index, code in partitions],
            )
            for name, _, partitions in topics
        ]
    )
