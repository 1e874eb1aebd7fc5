"""The shards of one internal topic that this broker leads, and the way to the one that owns a key.

Follows the cluster: a partition that is led here from a new epoch on gets a shard, which is loaded from the
log before it answers; a partition that is lost takes its shard with it. Until a shard is loaded everybody is
told to try again, never that there is nothing.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from barnabas.base.deferred import Deferred, gather
from barnabas.base.errors import CoordinatorNotAvailable, KafkaError, NotCoordinator
from barnabas.coordinator.outcome import Outcome
from barnabas.coordinator.partitioning import partition_for
from barnabas.coordinator.runtime.alarm import Alarm, CallLater, CallSoon
from barnabas.coordinator.runtime.hosted_shard import HostedShard, S, ShardState
from barnabas.coordinator.runtime.partition_log import PartitionLog
from barnabas.metadata.image import ClusterImage
from barnabas.replication.partition import Partition
from barnabas.replication.partitions import Partitions

T = TypeVar("T")
Load = Callable[[HostedShard[S], Partition], None]
"""Replay the partition's log into the shard and activate it, some time later."""


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
    ) -> None:
        self.topic: str = topic
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

    def follow(self, image: ClusterImage) -> None:
        """Take over and give up shards, as the cluster decided. After `Partitions` has followed."""
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
        """The broker stops: everybody who waits is told to look for another coordinator."""
        self._is_stopped = True
        for number in list(self._hosted):
            self._give_up(number, NotCoordinator("The coordinator is shutting down"))

    # --- operations ----------------------------------------------------------------------------------------

    def write(self, key: str, operation: Callable[[S], Outcome[T]]) -> Deferred[T]:
        """Run an operation on the shard that owns `key`. Never raises: an error is the answer."""
        hosted = self._hosted.get(self.partition_for(key))
        return self._nobody() if hosted is None else hosted.write(operation)

    def gather(self, key: str, operation: Callable[[S], Outcome[T]]) -> Deferred[T]:
        """The same for operations that do not mind each other, which then share a batch."""
        hosted = self._hosted.get(self.partition_for(key))
        return self._nobody() if hosted is None else hosted.gather(operation)

    def read(self, key: str, operation: Callable[[S], T]) -> Deferred[T]:
        """The same for an operation that writes nothing; told when all it may have seen is committed."""
        hosted = self._hosted.get(self.partition_for(key))
        return self._nobody() if hosted is None else hosted.read(operation)

    def read_all(self, operation: Callable[[S], T]) -> Deferred[list[T]]:
        """One answer of every shard here; fails with the first error, such as a shard that is loading."""
        return gather([hosted.read(operation) for hosted in self._in_order()])

    def write_all(self, operation: Callable[[S], Outcome[T]]) -> Deferred[list[T]]:
        return gather([hosted.write(operation) for hosted in self._in_order()])

    def _in_order(self) -> list[HostedShard[S]]:
        """All but those that could not be loaded: theirs is an error of its own, not everybody's."""
        hosted = [each for _, each in sorted(self._hosted.items())]
        return [each for each in hosted if each.state is not ShardState.CLOSED]

    def partition_for(self, key: str) -> int:
        return partition_for(key, self._partition_count) if self._partition_count else -1

    def hosted(self) -> list[HostedShard[S]]:
        return list(self._hosted.values())

    def _nobody(self) -> Deferred[T]:
        answer: Deferred[T] = Deferred()
        answer.fail(
            CoordinatorNotAvailable("The broker is shutting down")
            if self._is_stopped
            else NotCoordinator("This broker is not the coordinator")
        )
        return answer
