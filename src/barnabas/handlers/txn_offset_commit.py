"""TxnOffsetCommit (28), versions 0 to 5: offsets of a group that count when a transaction does (KIP-98).

The group's partition of `__consumer_offsets` must be part of the transaction: from version 5 on (KIP-890) it
becomes so here, by the first commit; before, the producer has said so with AddOffsetsToTxn, which is verified
unless `transaction.partition.verification.enable` is off. Then the group's shard checks the member (from
version 3 on, KIP-447) and writes the offsets as pending ones.

An epoch that is too old is INVALID_PRODUCER_EPOCH, whoever noticed it; a partition that is not part of the
transaction is TRANSACTION_ABORTABLE, INVALID_TXN_STATE before version 4. Every error is each partition's own;
unknown partitions are UNKNOWN_TOPIC_OR_PARTITION and spoil no others.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, InvalidGroupId, KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.coordinator.internal_topics import CONSUMER_OFFSETS
from barnabas.coordinator.offsets.requested_topics import requested_topics
from barnabas.coordinator.offsets.transactional_commits import INDEX_OF, commit_reply
from barnabas.handlers.context import Context, Request
from barnabas.handlers.group_requests import context_of, same
from barnabas.records.batch import MAGIC_V2, NO_LEADER_EPOCH, NO_SEQUENCE, TRANSACTIONAL_MASK, BatchHeader
from barnabas.replication.partition import Partition
from barnabas.storage.transaction_guards import Guard
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequest

_FIRST_WITH_LOADING = 2
_FIRST_WITH_ABORTABLE = 4
_FIRST_THAT_ADDS = 5
_TRANSACTION_VERSION_2 = 2
_NONE = ErrorCode.none


def handle(context: Context, request: Request) -> Deferred[Reply]:
    body: TxnOffsetCommitRequest = request.body
    requested = requested_topics(context.image, body.topics, INDEX_OF, by_id=False)
    if not requested.known:
        return Deferred.of(commit_reply(requested.answered([])))

    def refused(code: ErrorCode) -> Reply:
        if code is ErrorCode.coordinator_load_in_progress and request.version < _FIRST_WITH_LOADING:
            # Producers of that time do not know it here (KAFKA-7296).
            code = ErrorCode.coordinator_not_available
        return commit_reply(requested.answered([topic.answer(code) for topic in requested.known]))

    if not body.group_id:
        return Deferred.of(refused(InvalidGroupId.code))
    caller = context_of(request)

    def commit() -> "Deferred[Reply]":
        answer = context.groups.write(
            body.group_id, lambda shard: shard.commit_transactional_offsets(caller, body)
        )
        return answer.map(same, lambda error: refused(error.code))

    return _go_on(_in_transaction(context, body, request.version), commit, refused)


def _go_on(
    verdict: Deferred[ErrorCode], go_on: Callable[[], Deferred[Reply]], refused: Callable[[ErrorCode], Reply]
) -> Deferred[Reply]:
    """The answer of `go_on`, called in the turn in which the verdict comes: nothing gets between them."""
    if verdict.is_done and verdict.result() is _NONE:
        return go_on()
    answer: Deferred[Reply] = Deferred()

    def on_verdict(done: "Deferred[ErrorCode]") -> None:
        code = done.result()
        if code is _NONE:
            go_on().when_done(lambda told: answer.complete(told.result()))
        else:
            answer.complete(refused(code))

    verdict.when_done(on_verdict)
    return answer


# --- the transaction ---------------------------------------------------------------------------------------


def _in_transaction(context: Context, body: "TxnOffsetCommitRequest", version: int) -> Deferred[ErrorCode]:
    """Make sure that the group's partition is part of the producer's open transaction. Never fails."""
    adds = version >= _FIRST_THAT_ADDS
    if not adds and not context.config.transaction_partition_verification_enable:
        return Deferred.of(_NONE)
    number = context.groups.partition_for(body.group_id)
    try:
        offsets = context.partitions.get(CONSUMER_OFFSETS, number)
        offsets.check_leader()
        producers = offsets.log.producers
    except KafkaError:
        return Deferred.of(_NONE)  # the group coordinator says who is asked instead
    try:
        guard = producers.begin_verification(
            _first_batch(body), adds_partition=adds, now_ms=context.clock.now_ms()
        )
    except KafkaError as error:
        return Deferred.of(error.code)
    if guard is None:
        return Deferred.of(_NONE)
    ask = _add if adds else _verify
    return ask(context, body, offsets.topic_partition).map(
        partial(_confirmed, body, offsets, guard, version), lambda error: _told(error.code, version)
    )


def _first_batch(body: "TxnOffsetCommitRequest") -> BatchHeader:
    """What of the batch to come is known."""
    return BatchHeader(
        0, 0, NO_LEADER_EPOCH, MAGIC_V2, 0, TRANSACTIONAL_MASK, 0, 0, 0,
        body.producer_id, body.producer_epoch, NO_SEQUENCE, 0,
    )  # fmt: skip


def _add(context: Context, body: "TxnOffsetCommitRequest", offsets: TopicPartition) -> Deferred[ErrorCode]:
    added = context.transactions.write(
        body.transactional_id,
        lambda shard: shard.add_partitions(
            body.transactional_id, body.producer_id, body.producer_epoch, [offsets], _TRANSACTION_VERSION_2
        ),
    )
    return added.then(lambda _: _NONE)


def _verify(context: Context, body: "TxnOffsetCommitRequest", offsets: TopicPartition) -> Deferred[ErrorCode]:
    found = context.transactions.read(
        body.transactional_id,
        lambda shard: shard.verify_partitions(
            body.transactional_id, body.producer_id, body.producer_epoch, [offsets]
        ),
    )
    return found.then(lambda codes: codes[offsets])


def _confirmed(
    body: "TxnOffsetCommitRequest", offsets: Partition, guard: Guard, version: int, code: ErrorCode
) -> ErrorCode:
    """The coordinator's answer, unless the transaction has ended in the meantime."""
    if code is not _NONE:
        return _told(code, version)
    producers = offsets.log.producers
    if producers.has_ongoing(body.producer_id, body.producer_epoch):
        return _NONE  # another commit of the same transaction was quicker
    return _NONE if producers.guards.get(body.producer_id) is guard else ErrorCode.invalid_txn_state


def _told(code: ErrorCode, version: int) -> ErrorCode:
    """An error of the transaction coordinator as producers expect it of a group's."""
    if code is ErrorCode.producer_fenced:
        return ErrorCode.invalid_producer_epoch
    if code is ErrorCode.transaction_abortable and version < _FIRST_WITH_ABORTABLE:
        return ErrorCode.invalid_txn_state
    return code
