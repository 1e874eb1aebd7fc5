"""AddPartitionsToTxn (24), versions 0 to 5: partitions that a transaction is going to write to (KIP-98).

Versions 0 to 3 name one transaction and come from clients before transaction version 2; internal topics are
TOPIC_AUTHORIZATION_FAILED to them, for offsets have AddOffsetsToTxn. From version 4 on there are several,
some only to be verified, and they come from brokers (KIP-890); without ACLs clients may ask too, as in Kafka.
One partition that does not exist spoils its transaction: UNKNOWN_TOPIC_OR_PARTITION, and
OPERATION_NOT_ATTEMPTED for the others.

Clients below version 2 are told INVALID_PRODUCER_EPOCH for PRODUCER_FENCED (KIP-588).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.handlers.context import Context, Request
from barnabas.handlers.transaction_requests import by_topic, code_for, places
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
"""Transaction versions of whoever asks."""
Codes = dict[TopicPartition, ErrorCode]


def handle(context: Context, request: Request) -> Deferred[Reply]:
    body: AddPartitionsToTxnRequest = request.body
    # As a Kafka map would have it: of two entries for one transaction the last counts.
    transactions = {each.transactional_id: each for each in body.transactions}
    answers = [_codes(context, request, each) for each in transactions.values()]
    return gather(answers).then(lambda results: _reply(request, list(transactions), results))


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


def _codes(context: Context, request: Request, asked: "AddPartitionsToTxnTransaction") -> Deferred[Codes]:
    """What becomes of each partition of one transaction; never fails."""
    partitions = places(asked.topics)
    refused = _refused(context, request, partitions)
    if refused is not None:
        return Deferred.of(refused)
    transactional_id, producer_id, epoch = asked.transactional_id, asked.producer_id, asked.producer_epoch
    if not transactional_id:
        return Deferred.of(dict.fromkeys(partitions, ErrorCode.invalid_request))
    if asked.verify_only:
        answer = context.transactions.read(
            transactional_id,
            lambda shard: shard.verify_partitions(transactional_id, producer_id, epoch, partitions),
        )
    else:
        version = _OLD if request.version < _FIRST_OF_BROKERS else _WITH_EPOCH_BUMP
        answer = context.transactions.write(
            transactional_id,
            lambda shard: shard.add_partitions(transactional_id, producer_id, epoch, partitions, version),
        ).then(lambda _: dict.fromkeys(partitions, ErrorCode.none))
    return answer.map(
        lambda codes: codes,
        lambda error: dict.fromkeys(partitions, code_for(request, error, _FENCED_SINCE)),
    )


def _refused(context: Context, request: Request, partitions: Sequence[TopicPartition]) -> Codes | None:
    """The codes, if any of the partitions cannot be added: then none is."""
    codes: Codes = {}
    for place in partitions:
        if request.version < _FIRST_OF_BROKERS and place.topic in INTERNAL_TOPICS:
            codes[place] = ErrorCode.topic_authorization_failed
        elif context.image.partition(*place) is None:
            codes[place] = ErrorCode.unknown_topic_or_partition
    if not codes:
        return None
    return dict.fromkeys(partitions, ErrorCode.operation_not_attempted) | codes
