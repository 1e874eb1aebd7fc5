"""The shards of one internal topic that this broker leads, and the lookup of the shard that owns a key.

It follows the cluster metadata. A partition that this broker leads in a new leader epoch gets a new shard.
The shard is loaded from the log before it answers requests: up to the log end, and until the high watermark
has reached it. Meanwhile every request fails with COORDINATOR_LOAD_IN_PROGRESS. A partition that this broker
no longer leads, or leads in a newer epoch, loses its shard: requests that wait in it, and later ones, fail
with NOT_COORDINATOR.
"""

from collections.abc import Callable, Collection
from typing import Generic, TypeVar

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import CoordinatorNotAvailable, KafkaError, NotCoordinator
from barnabas.metadata.image import ClusterImage
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions
from barnabas.runtime.alarm import Alarm, CallLater, CallSoon
from barnabas.runtime.hosted_shard import COMMIT_TIMEOUT_MS, HostedShard, S, ShardState
from barnabas.runtime.outcome import Outcome
from barnabas.runtime.partition_log import PartitionLog
from barnabas.runtime.partitioning import partition_for

T = TypeVar("T")
Load = Callable[[HostedShard[S], Partition], None]
"""Replay the partition's log into the shard and activate it, asynchronously."""


class Coordinator(Generic[S]):
    def __init__(
        self,
        topic: str,
        broker_id: int,
        partitions: Partitions,
        make_shard: Callable[[], S],
        make_log: Callable[[Partition], PartitionLog],
        load: Load[S],
        call_later: CallLater,
        call_soon: CallSoon,
        commit_timeout_ms: int = COMMIT_TIMEOUT_MS,
    ) -> None:
        self.topic: str = topic
        self._commit_timeout_ms: int = commit_timeout_ms
        self._broker_id: int = broker_id
        self._partitions: Partitions = partitions
        self._make_shard: Callable[[], S] = make_shard
        self._make_log: Callable[[Partition], PartitionLog] = make_log
        self._load: Load[S] = load
        self._call_later: CallLater = call_later
        self._call_soon: CallSoon = call_soon
        self._hosted: dict[int, HostedShard[S]] = {}
        self._epochs: dict[int, int] = {}
        self._partition_count: int = 0
        self._is_stopped: bool = False

    # --- following the cluster -----------------------------------------------------------------------------

    def follow(self, image: ClusterImage, changed: Collection[str] = ()) -> None:
        """Take over and give up shards as the image requires. Called after `Partitions` has followed it.

        `changed` has the topics that were created, changed or deleted since the last image.
        """
        topic = None if self._is_stopped else image.topics.get(self.topic)
        partitions = {} if topic is None else topic.partitions
        self._partition_count = len(partitions)
        for number in list(self._hosted):
            partition = partitions.get(number)
            if (
                partition is None
                or partition.leader != self._broker_id
                or partition.leader_epoch > self._epochs[number]
            ):
                self._give_up(number, NotCoordinator("Another broker is the coordinator now"))
        for number, partition in partitions.items():
            if partition.leader == self._broker_id and number not in self._hosted:
                self._take_over(number, partition.leader_epoch)

    def _take_over(self, number: int, epoch: int) -> None:
        partition = self._partitions.get(self.topic, number)
        hosted: HostedShard[S] = HostedShard(
            self._make_shard(),
            self._make_log(partition),
            Alarm(self._call_later),
            self._call_soon,
            on_broken=lambda: self._load_anew(number, epoch),
            commit_timeout_ms=self._commit_timeout_ms,
        )
        self._hosted[number], self._epochs[number] = hosted, epoch
        self._load(hosted, partition)

    def _load_anew(self, number: int, epoch: int) -> None:
        if self._epochs.get(number) == epoch and not self._is_stopped:
            self._take_over(number, epoch)

    def _give_up(self, number: int, error: KafkaError) -> None:
        del self._epochs[number]
        self._hosted.pop(number).close(error)

    def stop(self) -> None:
        """The broker stops: waiting requests fail with NOT_COORDINATOR, so that clients look it up again."""
        self._is_stopped = True
        for number in list(self._hosted):
            self._give_up(number, NotCoordinator("The coordinator is shutting down"))

    # --- operations ----------------------------------------------------------------------------------------

    def write(self, key: str, operation: Callable[[S], Outcome[T]]) -> Deferred[T]:
        """Run an operation on the shard that owns `key`. Never raises: an error is the answer."""
        hosted = self._hosted.get(self.partition_for(key))
        return self._no_shard() if hosted is None else hosted.write(operation)

    def gather(self, key: str, operation: Callable[[S], Outcome[T]]) -> Deferred[T]:
        """Like `write`, for operations that are independent of each other. They share a batch."""
        hosted = self._hosted.get(self.partition_for(key))
        return self._no_shard() if hosted is None else hosted.gather(operation)

    def read(self, key: str, operation: Callable[[S], T]) -> Deferred[T]:
        """Like `write`, for a read. The answer is given once every record it may have seen is committed."""
        hosted = self._hosted.get(self.partition_for(key))
        return self._no_shard() if hosted is None else hosted.read(operation)

    def read_all(self, operation: Callable[[S], T]) -> Deferred[list[T]]:
        """One answer of every shard of this broker.

        Fails with the first error, such as a shard that is loading.
        """
        return gather([hosted.read(operation) for hosted in self._in_order()])

    def write_all(self, operation: Callable[[S], Outcome[T]]) -> Deferred[list[T]]:
        return gather([hosted.write(operation) for hosted in self._in_order()])

    def _in_order(self) -> list[HostedShard[S]]:
        """All shards but those that could not be loaded. Their error concerns only their own partitions."""
        hosted = [each for _, each in sorted(self._hosted.items())]
        return [each for each in hosted if each.state is not ShardState.CLOSED]

    def partition_for(self, key: str) -> int:
        return partition_for(key, self._partition_count) if self._partition_count else -1

    def hosted(self) -> list[HostedShard[S]]:
        return list(self._hosted.values())

    def _no_shard(self) -> Deferred[T]:
        if self._is_stopped:
            return Deferred.failed(CoordinatorNotAvailable("The broker is shutting down"))
        return Deferred.failed(NotCoordinator("This broker is not the coordinator"))
