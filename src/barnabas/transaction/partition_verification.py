"""Has the coordinator of a transaction add or verify partitions: this broker, or another one (`peers`).

Leaders of a transaction's partitions, and the group coordinator for its offsets, do so before the first
append of a transaction (KIP-890).
"""

from typing import TYPE_CHECKING

from barnabas.base.deferred import Deferred, in_sequence
from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.metadata.image import NO_LEADER, ClusterImage
from barnabas.transaction.peers import Codes, Peers
from barnabas.transaction.requests import TransactionPartitions
from barnabas.transaction.transaction import EPOCH_BUMP_VERSION

if TYPE_CHECKING:
    from barnabas.runtime.coordinator import Coordinator
    from barnabas.transaction.shard import TransactionShard


class PartitionVerification:
    """The coordinator is looked up at each call: a retry finds a new one."""

    def __init__(
        self, broker_id: int, local: "Coordinator[TransactionShard]", peers: Peers | None = None
    ) -> None:
        self.image: ClusterImage = ClusterImage()
        """The current cluster image. The coordinator replaces it."""
        self._broker_id: int = broker_id
        self._local: Coordinator[TransactionShard] = local
        self._peers: Peers | None = peers

    def verify(self, requested: TransactionPartitions) -> Deferred[Codes]:
        """The result of each partition. Never fails: an error of the coordinator is that of each one."""
        number = self._local.partition_for(requested.transactional_id)
        partition = self.image.partition(self._local.topic, number)
        leader = NO_LEADER if partition is None else partition.leader
        if leader == self._broker_id:
            return verify_here(self._local, requested)
        if self._peers is None:
            return _all(requested, ErrorCode.not_coordinator)
        if leader == NO_LEADER:
            return _all(requested, ErrorCode.coordinator_not_available)
        return self._peers.verify_partitions(leader, requested)


@in_sequence
async def verify_here(
    coordinator: "Coordinator[TransactionShard]", requested: TransactionPartitions
) -> Codes:
    """For a transaction that this broker coordinates."""
    transactional_id, producer_id, epoch, partitions, is_added = requested
    try:
        if not is_added:
            return await coordinator.read(
                transactional_id,
                lambda shard: shard.verify_partitions(transactional_id, producer_id, epoch, partitions),
            )
        await coordinator.write(
            transactional_id,
            lambda shard: shard.add_partitions(
                transactional_id, producer_id, epoch, partitions, EPOCH_BUMP_VERSION
            ),
        )
    except KafkaError as error:
        return dict.fromkeys(partitions, error.code)
    return dict.fromkeys(partitions, ErrorCode.none)


def _all(requested: TransactionPartitions, code: ErrorCode) -> Deferred[Codes]:
    return Deferred.of(dict.fromkeys(requested.partitions, code))
