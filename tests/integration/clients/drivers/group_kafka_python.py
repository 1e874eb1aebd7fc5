"""kafka-python as a member of a group."""

import gc
from collections.abc import Callable, Collection, Sequence
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaConnectionError,
    NoOffsetForPartitionError,
    UnknownMemberIdError,
)
from kafka.structs import OffsetAndMetadata
from tests.integration.clients.drivers.group_client import (
    Committed,
    Fenced,
    GroupSettings,
    Listener,
    NoOffset,
    Offsets,
    Partition,
)
from tests.integration.clients.messages import Message
from tests.patience import PATIENCE

_LEAST_SECONDS = 0.5
"""Joins that are cut in two by the end of a poll take longer."""
_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
_FENCING = (CommitFailedError, FencedInstanceIdError, IllegalGenerationError, UnknownMemberIdError)


class KafkaPythonGroupClient(ConsumerRebalanceListener):  # type: ignore[misc]  # no types
    def __init__(self, bootstrap_servers: str, settings: GroupSettings, listener: Listener) -> None:
        self._settings: GroupSettings = settings
        self._listener: Listener = listener
        more: dict[str, Any] = {}
        if settings.assignor:
            more["partition_assignment_strategy"] = [_ASSIGNORS[settings.assignor]]
        if settings.instance is not None:
            more["group_instance_id"] = settings.instance
        self.consumer: Any = KafkaConsumer(
            bootstrap_servers=bootstrap_servers,
            client_id=settings.client_id,
            group_id=settings.group,
            auto_offset_reset=settings.reset,
            enable_auto_commit=settings.auto_commit_ms is not None,
            auto_commit_interval_ms=settings.auto_commit_ms or 5000,
            session_timeout_ms=settings.session_ms,
            heartbeat_interval_ms=min(100, settings.session_ms // 3),
            max_poll_interval_ms=settings.max_poll_ms,
            metadata_max_age_ms=settings.metadata_ms,
            fetch_max_wait_ms=50,
            retry_backoff_ms=50,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=100,
            metrics_enabled=False,
            **more,
        )

    def subscribe(self, topics: Sequence[str]) -> None:
        if topics[0].startswith("^"):
            self.consumer.subscribe(pattern=topics[0], listener=self)
        else:
            # A leader that does not know the topic yet would assign nothing, and all join once more.
            for topic in topics:
                self.consumer.partitions_for_topic(topic)
            self.consumer.subscribe(topics=list(topics), listener=self)

    def assign(self, partitions: Collection[Partition]) -> None:
        self.consumer.assign([TopicPartition(*each) for each in partitions])

    def poll(self, seconds: float) -> list[Message]:
        try:
            polled = self.consumer.poll(timeout_ms=int(max(seconds, _LEAST_SECONDS) * 1000))
        except KafkaConnectionError:
            return []  # the broker is away for a moment
        except NoOffsetForPartitionError as error:
            raise NoOffset(str(error)) from error
        except _FENCING as error:
            raise Fenced(str(error)) from error
        finally:
            self._go_on_joining()
        return [_message(record) for records in polled.values() for record in records]

    def _go_on_joining(self) -> None:
        """A poll may end in the midst of a join. 3.0.12 then forgets the join if it is the leader and joined
        for new metadata or another subscription: it stays without partitions and heartbeats.
        """
        coordinator = self.consumer._coordinator
        if coordinator.rejoining:
            coordinator.request_rejoin()

    def assignment(self) -> frozenset[Partition]:
        return _partitions(self.consumer.assignment())

    def commit(self, offsets: Offsets | None = None) -> None:
        wanted = None
        if offsets is not None:
            wanted = {
                TopicPartition(*each): OffsetAndMetadata(committed.offset, committed.metadata, -1)
                for each, committed in offsets.items()
            }
        try:
            self.consumer.commit(wanted)
        except _FENCING as error:
            raise Fenced(str(error)) from error

    def commit_async(self, done: Callable[[BaseException | None], None]) -> None:
        def called(_: object, result: object) -> None:
            done(result if isinstance(result, BaseException) else None)

        self.consumer.commit_async(callback=called)

    def committed(self, partitions: Collection[Partition]) -> dict[Partition, Committed | None]:
        found = {}
        for each in partitions:
            answer = self.consumer.committed(TopicPartition(*each), metadata=True)
            found[each] = None if answer is None else Committed(answer.offset, answer.metadata or "")
        return found

    def position(self, partition: Partition) -> int:
        return int(self.consumer.position(TopicPartition(*partition), timeout_ms=int(PATIENCE * 1000)))

    def seek(self, partition: Partition, offset: int) -> None:
        self.consumer.seek(TopicPartition(*partition), offset)

    def seek_to_beginning(self, partition: Partition) -> None:
        self.consumer.seek_to_beginning(TopicPartition(*partition))

    def seek_to_end(self, partition: Partition) -> None:
        self.consumer.seek_to_end(TopicPartition(*partition))

    def offset_for_time(self, partition: Partition, timestamp: int) -> int | None:
        wanted = TopicPartition(*partition)
        found = self.consumer.offsets_for_times({wanted: timestamp})[wanted]
        return None if found is None else int(found.offset)

    def pause(self, partitions: Collection[Partition]) -> None:
        self.consumer.pause(*[TopicPartition(*each) for each in partitions])

    def resume(self, partitions: Collection[Partition]) -> None:
        self.consumer.resume(*[TopicPartition(*each) for each in partitions])

    def membership(self) -> object:
        return self.consumer.group_metadata()

    def close(self) -> None:
        self.consumer.close()
        # Sockets of refused connections are left to the collector: let it find them in the test that knows.
        gc.collect()

    def on_partitions_assigned(self, assigned: Collection[Any]) -> None:
        self._listener("assigned", _partitions(assigned))

    def on_partitions_revoked(self, revoked: Collection[Any]) -> None:
        if self._settings.commits_when_revoked and revoked:
            self.commit()
        self._listener("revoked", _partitions(revoked))

    def on_partitions_lost(self, lost: Collection[Any]) -> None:
        self._listener("lost", _partitions(lost))


def _partitions(found: Collection[Any]) -> frozenset[Partition]:
    return frozenset(Partition(each.topic, each.partition) for each in found)


def _message(record: Any) -> Message:
    headers = tuple((name, value) for name, value in record.headers)
    return Message(record.key, record.value, headers, record.timestamp, record.partition, record.offset)
