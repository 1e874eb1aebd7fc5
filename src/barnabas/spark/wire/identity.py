"""InitProducerId: the id and epoch by which brokers identify a producer and fence its zombies."""

from typing import NamedTuple

from barnabas.client.cluster import TRANSACTION, Cluster
from barnabas.client.errors import BrokerError, check
from barnabas.spark.wire.attempts import tried

_NEWEST = 5
"""Version 6 is for transactions that are prepared first (KIP-939)."""
_INVALID_TRANSACTION_TIMEOUT = 50
_NO_TIMEOUT_MS = 60_000
"""Brokers ignore it without a transactional id."""


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int


NO_PRODUCER = ProducerIdentity(-1, -1)
"""Of a producer that is not idempotent."""


def idempotent_identity(cluster: Cluster, *, timeout: float, backoff: float) -> ProducerIdentity:
    """A new one, from any broker."""

    def attempt() -> ProducerIdentity:
        answer = cluster.request(
            "init_producer_id",
            max_version=_NEWEST,
            transactional_id=None,
            transaction_timeout=_NO_TIMEOUT_MS,
        )
        check(answer.error_code)
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    return tried(cluster, attempt, timeout=timeout, backoff=backoff)


def transactional_identity(
    cluster: Cluster,
    transactional_id: str,
    *,
    transaction_timeout_ms: int,
    timeout: float,
    backoff: float,
    current: ProducerIdentity = NO_PRODUCER,
) -> ProducerIdentity:
    """The id's own: its earlier transaction is over then, and the producer that opened it is fenced.

    With `current` only the producer that has this identity is followed (KIP-360, since 2.5).
    """

    def attempt() -> ProducerIdentity:
        answer = cluster.send_to_coordinator(
            TRANSACTION,
            transactional_id,
            "init_producer_id",
            max_version=_NEWEST,
            transactional_id=transactional_id,
            transaction_timeout=transaction_timeout_ms,
            producer_id=current.producer_id,
            producer_epoch=current.epoch,
        )
        if answer.error_code == _INVALID_TRANSACTION_TIMEOUT:
            raise BrokerError(
                answer.error_code,
                f"transaction.timeout.ms={transaction_timeout_ms} is more than the broker allows: set "
                "kafka.transaction.timeout.ms to at most its transaction.max.timeout.ms",
            )
        check(answer.error_code, f"{transactional_id}: {BrokerError(answer.error_code).message}")
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    return tried(cluster, attempt, timeout=timeout, backoff=backoff)
