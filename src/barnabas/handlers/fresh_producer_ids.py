"""New producer ids: at once from the broker's block, or when the next block is allocated."""

from barnabas.base.deferred import Deferred
from barnabas.base.deferred_tasks import started
from barnabas.handlers.context import TransactionContext


def fresh_producer_id(context: TransactionContext) -> Deferred[int]:
    """Done at once unless the metadata store has to allocate the next block. Fails if it cannot."""
    producer_id = context.producer_ids.next_if_ready()
    if producer_id is not None:
        return Deferred.of(producer_id)
    return started(context.store.run(context.producer_ids.next_producer_id))
