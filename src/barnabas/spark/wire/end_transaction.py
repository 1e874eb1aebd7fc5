"""EndTxn, for callers that have the producer's id and epoch: the producer itself, or a remote driver.

Ending a transaction twice in the same way succeeds twice, so a request without a response is sent again. An
epoch that is no longer the newest is refused (PRODUCER_FENCED, INVALID_PRODUCER_EPOCH): zombies end nothing.
"""

from barnabas.client.admin.features import describe_features
from barnabas.client.cluster import TRANSACTION, Cluster
from barnabas.client.errors import BrokerError, check
from barnabas.spark.wire.attempts import tried
from barnabas.spark.wire.identity import ProducerIdentity

_FEATURE = "transaction.version"
_VERSION_2, _BEFORE_VERSION_2 = 5, 4
"""Versions of EndTxn: the former gives the producer a new epoch with each transaction (KIP-890)."""
_BACKOFF = 0.1


def is_version_2(cluster: Cluster, transactional_id: str) -> bool:
    """Whether partitions join a transaction by being written to; as its coordinator says."""
    coordinator = cluster.coordinator(TRANSACTION, transactional_id)
    features = describe_features(cluster, coordinator).features
    finalized = max((each.finalized for each in features if each.name == _FEATURE), default=0)
    return finalized >= 2 and cluster.version_of("end_txn", to=coordinator) >= _VERSION_2


def end_transaction(
    cluster: Cluster,
    transactional_id: str,
    producer_id: int,
    epoch: int,
    commit: bool,
    *,
    timeout: float | None = None,
) -> ProducerIdentity:
    """Commit, or abort; returns what the producer goes on with. Raises BrokerError, or the last failure.

    `timeout` is in seconds, the cluster's own for calls if it is not given.
    """

    def attempt() -> ProducerIdentity:
        newest = _VERSION_2 if is_version_2(cluster, transactional_id) else _BEFORE_VERSION_2
        answer = cluster.send_to_coordinator(
            TRANSACTION,
            transactional_id,
            "end_txn",
            max_version=newest,
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=commit,
        )
        check(answer.error_code, f"{transactional_id}: {BrokerError(answer.error_code).message}")
        if newest < _VERSION_2 or answer.producer_id < 0:
            return ProducerIdentity(producer_id, epoch)
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    timeout = cluster.settings.api_timeout if timeout is None else timeout
    return tried(cluster, attempt, timeout=timeout, backoff=_BACKOFF)
