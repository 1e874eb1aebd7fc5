"""The cluster as seen through one listener: its reachable brokers, and the resulting partition states.

Metadata and DescribeTopicPartitions answer with it. A broker that is not registered, or that has no
endpoint of that name, cannot be reached: it leads nothing there, and its replicas are offline.
"""

from collections.abc import Iterator, Sequence
from uuid import UUID

from barnabas.base.errors import ErrorCode
from barnabas.metadata.image import NO_LEADER, Address, BrokerImage, ClusterImage, PartitionImage


class VisibleBrokers:
    """Built for one answer."""

    __slots__ = ("_endpoints", "_image", "_without_disk")

    def __init__(self, image: ClusterImage, listener: str) -> None:
        self._image: ClusterImage = image
        self._endpoints: dict[int, Address] = {
            broker.id: broker.endpoints[listener]
            for broker in image.brokers.values()
            if listener in broker.endpoints
        }
        self._without_disk: dict[tuple[UUID, int], set[int]] = {}
        """Brokers whose log directory of a partition has failed, by topic id and partition."""
        for number in self._endpoints:
            for replica in image.registrations[number].offline_replicas:
                self._without_disk.setdefault(replica, set()).add(number)

    def __iter__(self) -> Iterator[tuple[BrokerImage, Address]]:
        for number, address in self._endpoints.items():
            yield self._image.brokers[number], address

    def __contains__(self, broker_id: int) -> bool:
        return broker_id in self._endpoints

    def leader(self, broker_id: int) -> int:
        return broker_id if broker_id in self._endpoints else NO_LEADER

    def leader_error(self, broker_id: int) -> ErrorCode:
        """Why clients of this listener cannot reach the leader."""
        if broker_id in self._endpoints:
            return ErrorCode.none
        if broker_id in self._image.brokers:
            return ErrorCode.listener_not_found
        return ErrorCode.leader_not_available

    def offline(self, topic_id: UUID, partition: PartitionImage) -> tuple[int, ...]:
        """The replicas that cannot be reached, or whose log directory has failed."""
        failed = self._without_disk.get((topic_id, partition.partition), ()) if self._without_disk else ()
        return tuple(each for each in partition.replicas if each not in self._endpoints or each in failed)

    def online(self, replicas: Sequence[int]) -> tuple[int, ...]:
        return tuple(each for each in replicas if each in self._endpoints)

    @property
    def controller_id(self) -> int:
        """-1 while there is none, or none that these clients could reach."""
        return self.leader(self._image.controller_id)
