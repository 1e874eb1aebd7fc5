"""What belongs to a producer's transaction: partitions and offsets of groups, in either version of it.

In version 1 a partition is added before it is written to (AddPartitionsToTxn), a group before its offsets are
committed (AddOffsetsToTxn); in version 2 both join by the write itself (KIP-890).
"""

from collections.abc import Callable, Collection, Mapping

from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.cluster import GROUP, TRANSACTION, Cluster
from barnabas.client.errors import BrokerError, check
from barnabas.spark.wire.attempts import tried
from barnabas.spark.wire.end_transaction import end_transaction, is_version_2
from barnabas.spark.wire.identity import ProducerIdentity, transactional_identity

_ADD_PARTITIONS, _ADD_OFFSETS = 3, 4
"""The newest versions that are for clients."""
_COMMIT_VERSION_2, _COMMIT_BEFORE = 5, 4
FENCED = (47, 90)
"""INVALID_PRODUCER_EPOCH, PRODUCER_FENCED: another producer has the transactional id."""
_OPERATION_NOT_ATTEMPTED = 55
"""Another partition of the same request is the reason."""


class Transaction:
    """Of one transactional id. `begin` makes its producer the only one; its transactions then follow."""

    def __init__(
        self, cluster: Cluster, transactional_id: str, *, timeout_ms: int, patience: float, backoff: float
    ) -> None:
        self.id: str = transactional_id
        self.identity: ProducerIdentity | None = None
        self.is_version_2: bool = False
        self._cluster: Cluster = cluster
        self._timeout_ms: int = timeout_ms
        self._patience: float = patience
        self._backoff: float = backoff
        self._partitions: set[TopicPartition] = set()
        self._groups: set[str] = set()

    def begin(self) -> ProducerIdentity:
        """Fence the producer that had this id before. Its open transaction is aborted."""
        self.identity = transactional_identity(
            self._cluster,
            self.id,
            transaction_timeout_ms=self._timeout_ms,
            timeout=self._patience,
            backoff=self._backoff,
        )
        self.is_version_2 = tried(
            self._cluster,
            lambda: is_version_2(self._cluster, self.id),
            timeout=self._patience,
            backoff=self._backoff,
        )
        return self.identity

    def add(self, partitions: Collection[TopicPartition]) -> None:
        """Before they are written to. Does nothing where they join by themselves, or have joined."""
        new = sorted(set(partitions) - self._partitions)
        if new and not self.is_version_2:
            self._request(lambda: self._add_partitions(new))
        self._partitions.update(new)

    def send_offsets(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Committed with the transaction, or not at all: for each partition the next offset, and a remark."""
        if not self.is_version_2 and group not in self._groups:
            self._request(lambda: self._add_group(group))
            self._groups.add(group)
        self._request(lambda: self._commit_offsets(group, offsets))

    def end(self, *, commit: bool) -> ProducerIdentity:
        """The identity to go on with: version 2 gives a new epoch."""
        producer_id, epoch = self._known
        self.identity = end_transaction(
            self._cluster, self.id, producer_id, epoch, commit, timeout=self._patience
        )
        self._partitions.clear()
        self._groups.clear()
        return self.identity

    def fence(self) -> None:
        """Abort by a higher epoch; `begin` comes next.

        The coordinator aborts, answers CONCURRENT_TRANSACTIONS until that is done, and then refuses the epoch
        that it has raised. It refuses it as well if another producer has the id: over in either case.
        """
        try:
            transactional_identity(
                self._cluster,
                self.id,
                transaction_timeout_ms=self._timeout_ms,
                timeout=self._patience,
                backoff=self._backoff,
                current=self._known,
            )
        except BrokerError as error:
            if error.code not in FENCED:
                raise
        self._partitions.clear()
        self._groups.clear()

    @property
    def is_open(self) -> bool:
        """Whether anything was written since the last end, so that there is something to end."""
        return bool(self._partitions or self._groups)

    @property
    def _known(self) -> ProducerIdentity:
        if self.identity is None:
            raise RuntimeError(f"{self.id}: init() comes before anything else")
        return self.identity

    def _request(self, attempt: Callable[[], None]) -> None:
        tried(self._cluster, attempt, timeout=self._patience, backoff=self._backoff)

    def _add_partitions(self, partitions: Collection[TopicPartition]) -> None:
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        answer = self._cluster.send_to_coordinator(
            TRANSACTION,
            self.id,
            "add_partitions_to_txn",
            max_version=_ADD_PARTITIONS,
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self._known.producer_id,
            v3_and_below_producer_epoch=self._known.epoch,
            v3_and_below_topics=[{"name": name, "partitions": found} for name, found in topics.items()],
        )
        failures = {
            int(each.partition_error_code): f"{topic.name}-{each.partition_index}"
            for topic in answer.results_by_topic_v3_and_below
            for each in topic.results_by_partition
            if each.partition_error_code
        }
        for code in sorted(failures, key=lambda code: code == _OPERATION_NOT_ATTEMPTED):
            raise BrokerError(code, f"{self.id}: {failures[code]}: {BrokerError(code).message}")

    def _add_group(self, group: str) -> None:
        answer = self._cluster.send_to_coordinator(
            TRANSACTION,
            self.id,
            "add_offsets_to_txn",
            max_version=_ADD_OFFSETS,
            transactional_id=self.id,
            producer_id=self._known.producer_id,
            producer_epoch=self._known.epoch,
            group_id=group,
        )
        check(answer.error_code, f"{self.id}: {BrokerError(answer.error_code).message}")

    def _commit_offsets(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        topics: dict[str, list[dict[str, object]]] = {}
        for (topic, partition), (offset, remark) in offsets.items():
            topics.setdefault(topic, []).append(
                {"partition_index": partition, "committed_offset": offset, "committed_metadata": remark}
            )
        answer = self._cluster.send_to_coordinator(
            GROUP,
            group,
            "txn_offset_commit",
            max_version=_COMMIT_VERSION_2 if self.is_version_2 else _COMMIT_BEFORE,
            transactional_id=self.id,
            group_id=group,
            producer_id=self._known.producer_id,
            producer_epoch=self._known.epoch,
            topics=[{"name": name, "partitions": found} for name, found in topics.items()],
        )
        for topic in answer.topics:
            for each in topic.partitions:
                check(each.error_code, f"{self.id}: {BrokerError(each.error_code).message}")
        self._groups.add(group)
