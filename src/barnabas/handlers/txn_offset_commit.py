"""TxnOffsetCommit (28), versions 0 to 5: offsets of a group that count when a transaction does (KIP-98).

The group's partition of `__consumer_offsets` must be part of the transaction: from version 5 on (KIP-890) it
becomes so here, by the first commit; before, the producer has said so with AddOffsetsToTxn, which is verified
unless `transaction.partition.verification.enable` is off. Then the group's shard checks the member (from
version 3 on, KIP-447) and writes the offsets as pending ones.

An epoch that is too old is INVALID_PRODUCER_EPOCH, whichever coordinator detects it; a partition that is not
part of the transaction is TRANSACTION_ABORTABLE, INVALID_TXN_STATE before version 4. Every error is each
partition's own; unknown partitions are UNKNOWN_TOPIC_OR_PARTITION and spoil no others.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import in_sequence
from barnabas.base.errors import ErrorCode, InvalidGroupId, KafkaError
from barnabas.group.offsets.requested_topics import requested_topics
from barnabas.group.offsets.transactional_commits import INDEX_OF, commit_reply
from barnabas.handlers.context import Request, TransactionContext
from barnabas.handlers.group_requests import context_of
from barnabas.records.batch import MAGIC_V2, NO_LEADER_EPOCH, NO_SEQUENCE, TRANSACTIONAL_MASK, BatchHeader
from barnabas.replication.partition import Partition
from barnabas.runtime.internal_topics import CONSUMER_OFFSETS
from barnabas.storage.transaction_guards import Guard
from barnabas.transaction.requests import TransactionPartitions
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest

_FIRST_WITH_LOADING = 2
_FIRST_WITH_ABORTABLE = 4
_FIRST_THAT_ADDS = 5
_NONE = ErrorCode.none


@in_sequence
async def handle(context: TransactionContext, request: Request) -> Reply:
    body: TxnOffsetCommitRequest = request.body
    requested = requested_topics(context.image, body.topics, INDEX_OF, by_id=False)
    if not requested.known:
        return commit_reply(requested.answered([]))
    code = await _in_transaction(context, body, request.version) if body.group_id else InvalidGroupId.code
    if code is _NONE:
        caller = context_of(request)
        try:
            # In the turn in which the transaction was verified: nothing gets between them.
            return await context.groups.write(
                body.group_id, lambda shard: shard.commit_transactional_offsets(caller, body)
            )
        except KafkaError as error:
            code = error.code
    if code is ErrorCode.coordinator_load_in_progress and request.version < _FIRST_WITH_LOADING:
        # Producers of that time do not know it here (KAFKA-7296).
        code = ErrorCode.coordinator_not_available
    return commit_reply(requested.answered([topic.answer(code) for topic in requested.known]))


async def _in_transaction(
    context: TransactionContext, body: "TxnOffsetCommitRequest", version: int
) -> ErrorCode:
    """Make sure that the group's partition is part of the producer's open transaction."""
    adds = version >= _FIRST_THAT_ADDS
    if not adds and not context.config.transaction_partition_verification_enable:
        return _NONE
    number = context.groups.partition_for(body.group_id)
    try:
        offsets = context.partitions.get(CONSUMER_OFFSETS, number)
        offsets.check_leader()
        producers = offsets.log.producers
    except KafkaError:
        return _NONE  # the group coordinator responds with the right error
    try:
        guard = producers.begin_verification(
            _first_batch(body), adds_partition=adds, now_ms=context.clock.now_ms()
        )
    except KafkaError as error:
        return error.code
    if guard is None:
        return _NONE
    partition = offsets.topic_partition
    codes = await context.transactions.verify(
        TransactionPartitions(
            body.transactional_id, body.producer_id, body.producer_epoch, [partition], is_added=adds
        )
    )
    return _confirmed(body, offsets, guard, version, codes[partition])


def _first_batch(body: "TxnOffsetCommitRequest") -> BatchHeader:
    """What of the batch to come is known."""
    return BatchHeader(
        0, 0, NO_LEADER_EPOCH, MAGIC_V2, 0, TRANSACTIONAL_MASK, 0, 0, 0,
        body.producer_id, body.producer_epoch, NO_SEQUENCE, 0,
    )  # fmt: skip


def _confirmed(
    body: "TxnOffsetCommitRequest", offsets: Partition, guard: Guard, version: int, code: ErrorCode
) -> ErrorCode:
    """The coordinator's answer, unless the transaction has ended in the meantime."""
    if code is not _NONE:
        return _as_group_error(code, version)
    producers = offsets.log.producers
    if producers.has_ongoing(body.producer_id, body.producer_epoch):
        return _NONE  # another commit of the same transaction was quicker
    return _NONE if producers.guards.get(body.producer_id) is guard else ErrorCode.invalid_txn_state


def _as_group_error(code: ErrorCode, version: int) -> ErrorCode:
    """Converts an error of the transaction coordinator to the one a group coordinator returns."""
    if code is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if code is ErrorCode.transaction_abortable and version < _FIRST_WITH_ABORTABLE:
        return ErrorCode.invalid_txn_state
    return code
