"""AddOffsetsToTxn (25), versions 0 to 4: a transaction is going to commit offsets of a group (KIP-98).

Adds the group's partition of `__consumer_offsets`, whether or not the group is coordinated here. Sent by
clients before transaction version 2; newer ones have it done by TxnOffsetCommit. Clients below version 2 of
the request get INVALID_PRODUCER_EPOCH for PRODUCER_FENCED (KIP-588).

If `__consumer_offsets` does not exist yet the partition is the one it would have, as in Kafka: the topic is
created before offsets are committed.
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import in_sequence
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.handlers.context import Request, TransactionContext
from barnabas.handlers.transaction_requests import code_for
from barnabas.runtime.internal_topics import CONSUMER_OFFSETS
from barnabas.runtime.partitioning import partition_for
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.add_offsets_to_txn.v4.request import AddOffsetsToTxnRequest

_FENCED_SINCE = 2
_OLD = 0
"""The transaction version of the clients that send this."""


@in_sequence
async def handle(context: TransactionContext, request: Request) -> Reply:
    body: AddOffsetsToTxnRequest = request.body
    if not body.transactional_id:
        return Reply(error_code=ErrorCode.invalid_request)
    topic = context.image.topics.get(CONSUMER_OFFSETS)
    count = context.config.offsets_topic_num_partitions if topic is None else len(topic.partitions)
    partition = TopicPartition(CONSUMER_OFFSETS, partition_for(body.group_id, count))
    try:
        await context.transactions.write(
            body.transactional_id,
            lambda shard: shard.add_partitions(
                body.transactional_id, body.producer_id, body.producer_epoch, [partition], _OLD
            ),
        )
    except KafkaError as error:
        return Reply(error_code=code_for(request, error, _FENCED_SINCE))
    return Reply(error_code=ErrorCode.none)
