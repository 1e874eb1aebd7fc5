"""What a shard of transactions is asked, and what it answers, where that is more than one value."""

from typing import NamedTuple

from barnabas.coordinator.transactions.transaction import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class InitProducerId(NamedTuple):
    transactional_id: str
    timeout_ms: int
    producer_id: int = NO_PRODUCER_ID
    """Who the producer is so far (KIP-360), or -1 for a new one."""
    producer_epoch: int = NO_PRODUCER_EPOCH
    enable_two_phase: bool = False
    keep_prepared: bool = False
    client_version: int = 0
    """Not written down: the version that counts is the one a client adds partitions or ends with."""


class InitResult(NamedTuple):
    producer_id: int
    producer_epoch: int
    ongoing_producer_id: int = NO_PRODUCER_ID
    """Of the transaction that was kept (KIP-939), or -1."""
    ongoing_epoch: int = NO_PRODUCER_EPOCH


class EndResult(NamedTuple):
    producer_id: int = NO_PRODUCER_ID
    """Whom the producer is to be from now on; -1 for clients below version 2, who stay who they are."""
    producer_epoch: int = NO_PRODUCER_EPOCH


class TransactionFilter(NamedTuple):
    """The filters of ListTransactions but the pattern; an empty one lets everything through."""

    states: tuple[str, ...] = ()
    """By Kafka's names."""
    producer_ids: tuple[int, ...] = ()
    running_longer_than_ms: int = -1
    """Negative: any duration."""
