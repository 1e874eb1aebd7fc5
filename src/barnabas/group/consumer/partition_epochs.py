"""The owners of partitions: the member epoch of the owner, by partition. No partition has two owners.

A member owns its assigned partitions and those it has still to revoke.
"""

from uuid import UUID

from barnabas.group.consumer.member import ConsumerMember
from barnabas.group.records import EpochedAssignment


class PartitionEpochs:
    def __init__(self) -> None:
        self._epochs: dict[UUID, dict[int, int]] = {}

    def get(self, topic_id: UUID, partition: int) -> int | None:
        """Returns None if the partition has no owner."""
        partitions = self._epochs.get(topic_id)
        return None if partitions is None else partitions.get(partition)

    def owned(self, topic_id: UUID) -> dict[int, int]:
        """Owned partitions of a topic. The caller must not change it."""
        return self._epochs.get(topic_id, {})

    def replace(self, old: ConsumerMember | None, new: ConsumerMember | None) -> None:
        """Replace the member's partitions by those of `new`. AssertionError if another member owns one."""
        if old is not None and new is not None and old.current is new.current:
            return
        if old is not None:
            self._release(old.assigned, old.epoch)
            self._release(old.pending_revocation, old.epoch)
        if new is not None:
            self._take(new.assigned, new.epoch)
            self._take(new.pending_revocation, new.epoch)

    def _release(self, assignment: EpochedAssignment, epoch: int) -> None:
        for topic_id, partitions in assignment.items():
            epochs = self._epochs.get(topic_id)
            if epochs is None:
                continue
            for partition in partitions:
                # In a compacted log a newer owner may already be known.
                if epochs.get(partition) == epoch:
                    del epochs[partition]
            if not epochs:
                del self._epochs[topic_id]

    def _take(self, assignment: EpochedAssignment, epoch: int) -> None:
        for topic_id, partitions in assignment.items():
            epochs = self._epochs.setdefault(topic_id, {})
            for partition in partitions:
                owner = epochs.get(partition)
                if owner is not None and owner >= epoch:
                    raise AssertionError(
                        f"partition {topic_id}-{partition} cannot be taken at epoch {epoch}: "
                        f"it is still owned at epoch {owner}"
                    )
                epochs[partition] = epoch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionEpochs) and self._epochs == other._epochs

    __hash__ = None  # type: ignore[assignment]
