"""Requests and results of a transaction shard that have more than one value."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.base.ids import TopicPartition
from barnabas.transaction.transaction import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class InitProducerId(NamedTuple):
    transactional_id: str
    timeout_ms: int
    producer_id: int = NO_PRODUCER_ID
    """The current producer id and epoch of the client (KIP-360), or -1 for a new producer."""
    producer_epoch: int = NO_PRODUCER_EPOCH
    enable_two_phase: bool = False
    keep_prepared: bool = False
    client_version: int = 0
    """Not stored: the version of AddPartitionsToTxn or EndTxn counts."""


class InitResult(NamedTuple):
    producer_id: int
    producer_epoch: int
    ongoing_producer_id: int = NO_PRODUCER_ID
    """Producer id of the kept transaction (KIP-939), or -1."""
    ongoing_epoch: int = NO_PRODUCER_EPOCH


class EndResult(NamedTuple):
    producer_id: int = NO_PRODUCER_ID
    """The producer id and epoch to continue with. -1 for clients below version 2, which keep theirs."""
    producer_epoch: int = NO_PRODUCER_EPOCH


class TransactionFilter(NamedTuple):
    """The filters of ListTransactions except the pattern. An empty filter matches everything."""

    states: tuple[str, ...] = ()
    """By Kafka's names."""
    producer_ids: tuple[int, ...] = ()
    running_longer_than_ms: int = -1
    """Negative: any duration."""


class TransactionPartitions(NamedTuple):
    """Partitions of one transaction, to be added to it or to be verified (KIP-890)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: Sequence[TopicPartition]
    is_added: bool
    """Add them, for a client of transaction version 2. Otherwise only verify that they are part of it."""
