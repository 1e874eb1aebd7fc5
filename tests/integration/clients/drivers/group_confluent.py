"""confluent-kafka as a member of a group, in both protocols."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition
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

_FENCING = (
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.STALE_MEMBER_EPOCH,
    KafkaError.FENCED_MEMBER_EPOCH,
    KafkaError.UNRELEASED_INSTANCE_ID,
    KafkaError._FATAL,
)
_RETRIABLE = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._MAX_POLL_EXCEEDED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
)


class ConfluentGroupClient:
    def __init__(self, bootstrap_servers: str, settings: GroupSettings, listener: Listener) -> None:
        self._settings: GroupSettings = settings
        self._listener: Listener = listener
        self.consumer: Consumer = Consumer(consumer_settings(bootstrap_servers, settings))
        self._is_subscribed: bool = False

    def subscribe(self, topics: Sequence[str]) -> None:
        self._is_subscribed = True
        self.consumer.subscribe(
            list(topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def assign(self, partitions: Collection[Partition]) -> None:
        self.consumer.assign([TopicPartition(*each) for each in partitions])

    def poll(self, seconds: float) -> list[Message]:
        received = []
        for each in self.consumer.consume(500, seconds):
            error = each.error()
            if error is None:
                received.append(_message(each))
            elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError._NO_OFFSET):
                raise NoOffset(str(error))
            elif error.code() in _FENCING:
                raise Fenced(str(error))
            else:
                assert error.code() in _RETRIABLE or error.retriable(), error
        return received

    def assignment(self) -> frozenset[Partition]:
        return _partitions(self.consumer.assignment())

    def commit(self, offsets: Offsets | None = None) -> None:
        try:
            if offsets is None:
                self.consumer.commit(asynchronous=False)
                return
            wanted = [
                TopicPartition(each.topic, each.partition, committed.offset, committed.metadata)
                for each, committed in offsets.items()
            ]
            for each in self.consumer.commit(offsets=wanted, asynchronous=False):
                if each.error is not None:
                    raise KafkaException(each.error)
        except KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError._NO_OFFSET:
                return  # nothing was polled since the last time
            if code in _FENCING:
                raise Fenced(str(error)) from error
            raise

    def commit_async(self, done: Callable[[BaseException | None], None]) -> None:
        try:
            self.consumer.commit(asynchronous=True)
        except KafkaException as error:
            done(error)
        else:
            done(None)

    def committed(self, partitions: Collection[Partition]) -> dict[Partition, Committed | None]:
        found = self.consumer.committed([TopicPartition(*each) for each in partitions], PATIENCE)
        assert all(each.error is None for each in found), found
        return {
            Partition(each.topic, each.partition): None
            if each.offset < 0
            else Committed(each.offset, each.metadata or "")
            for each in found
        }

    def position(self, partition: Partition) -> int:
        (found,) = self.consumer.position([TopicPartition(*partition)])
        return int(found.offset)

    def seek(self, partition: Partition, offset: int) -> None:
        self.consumer.seek(TopicPartition(*partition, offset))

    def seek_to_beginning(self, partition: Partition) -> None:
        self.seek(partition, OFFSET_BEGINNING)

    def seek_to_end(self, partition: Partition) -> None:
        self.seek(partition, OFFSET_END)

    def offset_for_time(self, partition: Partition, timestamp: int) -> int | None:
        (found,) = self.consumer.offsets_for_times([TopicPartition(*partition, timestamp)], PATIENCE)
        return None if found.offset == OFFSET_END else int(found.offset)

    def pause(self, partitions: Collection[Partition]) -> None:
        self.consumer.pause([TopicPartition(*each) for each in partitions])

    def resume(self, partitions: Collection[Partition]) -> None:
        self.consumer.resume([TopicPartition(*each) for each in partitions])

    def membership(self) -> object:
        return self.consumer.consumer_group_metadata()

    def close(self) -> None:
        self.consumer.close()

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._listener("assigned", _partitions(partitions))

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        if self._settings.commits_when_revoked:
            self.commit()
        self._listener("revoked", _partitions(partitions))

    def _on_lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._listener("lost", _partitions(partitions))


def consumer_settings(bootstrap_servers: str, settings: GroupSettings) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "bootstrap.servers": bootstrap_servers,
        "client.id": settings.client_id,
        "group.id": settings.group,
        "enable.auto.commit": settings.auto_commit_ms is not None,
        "auto.commit.interval.ms": settings.auto_commit_ms or 5000,
        "auto.offset.reset": "error" if settings.reset == "none" else settings.reset,
        "max.poll.interval.ms": settings.max_poll_ms,
        "topic.metadata.refresh.interval.ms": settings.metadata_ms,
        "fetch.wait.max.ms": 50,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 100,
        "log_level": 0,
    }
    if settings.is_new:
        chosen["group.protocol"] = "consumer"
        if settings.assignor:
            chosen["group.remote.assignor"] = settings.assignor
    else:
        chosen["session.timeout.ms"] = settings.session_ms
        chosen["heartbeat.interval.ms"] = min(100, settings.session_ms // 3)
        if settings.assignor:
            chosen["partition.assignment.strategy"] = settings.assignor
    if settings.instance is not None:
        chosen["group.instance.id"] = settings.instance
    return chosen


def _partitions(found: Collection[TopicPartition]) -> frozenset[Partition]:
    return frozenset(Partition(each.topic, each.partition) for each in found)


def _message(received: Any) -> Message:
    headers = tuple(received.headers() or ())
    return Message(
        received.key(),
        received.value(),
        headers,
        received.timestamp()[1],
        received.partition(),
        received.offset(),
    )
