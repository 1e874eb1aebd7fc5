"""AddPartitionsToTxn (24), versions 0 to 5: partitions that a transaction is going to write to (KIP-98).

Versions 0 to 3 name one transaction and come from clients before transaction version 2; internal topics are
TOPIC_AUTHORIZATION_FAILED to them, for offsets have AddOffsetsToTxn. From version 4 on there are several,
some only to be verified, and they come from brokers (KIP-890); without ACLs clients may send it too, as in
Kafka.
If one partition does not exist, none is added to its transaction: the response has UNKNOWN_TOPIC_OR_PARTITION
for that one and OPERATION_NOT_ATTEMPTED for the others.

Clients below version 2 get INVALID_PRODUCER_EPOCH for PRODUCER_FENCED (KIP-588).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.base.deferred import gather, in_sequence
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.handlers.context import Request, TransactionContext
from barnabas.handlers.transaction_requests import by_topic, code_for, topic_partitions
from barnabas.metadata.image import INTERNAL_TOPICS
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.add_partitions_to_txn.v5.request import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnTransaction,
    )

_FENCED_SINCE = 2
_FIRST_OF_BROKERS = 4
_OLD, _WITH_EPOCH_BUMP = 0, 2
"""Transaction versions of the client."""
Codes = dict[TopicPartition, ErrorCode]


@in_sequence
async def handle(context: TransactionContext, request: Request) -> Reply:
    body: AddPartitionsToTxnRequest = request.body
    # As a Kafka map would have it: of two entries for one transaction the last counts.
    transactions = {each.transactional_id: each for each in body.transactions}
    results = await gather([_codes(context, request, each) for each in transactions.values()])
    return _reply(request, list(transactions), results)


def _reply(request: Request, transactional_ids: list[str], results: list[Codes]) -> Reply:
    topics = [by_topic(codes.items(), _topic) for codes in results]
    if request.version < _FIRST_OF_BROKERS:
        return Reply(results_by_topic_v3_and_below=topics[0])
    return Reply(
        error_code=ErrorCode.none,
        results_by_transaction=[
            Reply(transactional_id=transactional_id, topic_results=each)
            for transactional_id, each in zip(transactional_ids, topics, strict=True)
        ],
    )


def _topic(name: str, partitions: list[Reply]) -> Reply:
    return Reply(name=name, results_by_partition=partitions)


@in_sequence
async def _codes(
    context: TransactionContext, request: Request, requested: "AddPartitionsToTxnTransaction"
) -> Codes:
    """What becomes of each partition of one transaction; never fails."""
    partitions = topic_partitions(requested.topics)
    refused = _refused(context, request, partitions)
    if refused is not None:
        return refused
    transactional_id, producer_id, epoch = (
        requested.transactional_id,
        requested.producer_id,
        requested.producer_epoch,
    )
    if not transactional_id:
        return dict.fromkeys(partitions, ErrorCode.invalid_request)
    version = _OLD if request.version < _FIRST_OF_BROKERS else _WITH_EPOCH_BUMP
    try:
        if requested.verify_only:
            return await context.transactions.read(
                transactional_id,
                lambda shard: shard.verify_partitions(transactional_id, producer_id, epoch, partitions),
            )
        await context.transactions.write(
            transactional_id,
            lambda shard: shard.add_partitions(transactional_id, producer_id, epoch, partitions, version),
        )
    except KafkaError as error:
        return dict.fromkeys(partitions, code_for(request, error, _FENCED_SINCE))
    return dict.fromkeys(partitions, ErrorCode.none)


def _refused(
    context: TransactionContext, request: Request, partitions: Sequence[TopicPartition]
) -> Codes | None:
    """The codes, if any of the partitions cannot be added: then none is."""
    codes: Codes = {}
    for partition in partitions:
        if request.version < _FIRST_OF_BROKERS and partition.topic in INTERNAL_TOPICS:
            codes[partition] = ErrorCode.topic_authorization_failed
        elif context.image.partition(*partition) is None:
            codes[partition] = ErrorCode.unknown_topic_or_partition
    if not codes:
        return None
    return dict.fromkeys(partitions, ErrorCode.operation_not_attempted) | codes
