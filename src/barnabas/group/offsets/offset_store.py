"""All offsets of one shard, committed and pending in transactions. Only `replay` changes them."""

from barnabas.group.offsets.committed_offsets import CommittedOffsets
from barnabas.group.offsets.transactional_offsets import PartitionKey, TransactionalOffsets
from barnabas.group.records import OffsetCommit, TopicCommit

NO_PRODUCER_ID = -1


class OffsetStore:
    def __init__(self) -> None:
        self.committed: CommittedOffsets = CommittedOffsets()
        self.transactional: TransactionalOffsets = TransactionalOffsets()

    def has_group(self, group_id: str) -> bool:
        return group_id in self.committed or self.transactional.has_group(group_id)

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        return self.committed.get(group_id, topic, partition) is not None or self.transactional.has(
            group_id, topic, partition
        )

    def tombstones_of(self, group_id: str) -> list[OffsetCommit]:
        """The tombstones of every offset of a group."""
        committed = self.committed.of_group(group_id)
        records = [
            OffsetCommit(group_id, topic, partition, None)
            for topic, partitions in committed.items()
            for partition in partitions
        ]
        if self.transactional:
            records.extend(
                OffsetCommit(*key, None)
                for key in self.transactional.of_group(group_id)
                if self.committed.get(*key) is None
            )
        return records

    # --- changes -----------------------------------------------------------------------------------------

    def replay(self, record: OffsetCommit, producer_id: int) -> None:
        group_id, topic, partition, value = record
        if value is None:
            self.committed.remove(group_id, topic, partition)
            if self.transactional:
                self.transactional.discard(PartitionKey(group_id, topic, partition))
        elif producer_id == NO_PRODUCER_ID:
            self.committed.put(group_id, topic, partition, value)
            if self.transactional:
                self.transactional.overtake(PartitionKey(group_id, topic, partition))
        else:
            self.transactional.put(producer_id, PartitionKey(group_id, topic, partition), value)

    def replay_topic(self, record: TopicCommit) -> None:
        self.committed.put_topic(*record)
        if self.transactional:
            for partition, _ in record.offsets:
                self.transactional.overtake(PartitionKey(record.group_id, record.topic, partition))

    def replay_end_marker(self, producer_id: int, *, is_commit: bool) -> None:
        for key, value in self.transactional.end(producer_id, is_commit=is_commit):
            self.committed.put(*key, value)
