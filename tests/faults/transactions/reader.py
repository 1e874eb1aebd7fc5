"""A consumer of committed records that writes down from where it reads and what it gets."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from tests.faults.group_member import generation_of
from tests.faults.transactions.journal import Journal
from tests.faults.transactions.keys import key_of, partition_of

SESSION_MS = 2000
Got = dict[str, tuple[list[int], list[int]]]


class Membership(NamedTuple):
    """What fences a member that is none any more."""

    metadata: object
    """librdkafka's form of it."""
    member_id: str
    generation: int


class Reader:
    def __init__(self, servers: str, group: str, journal: Journal, **more: object) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 200,
            "fetch.wait.max.ms": 50,
            "fetch.error.backoff.ms": 20,
            "retry.backoff.ms": 20,
            "retry.backoff.max.ms": 200,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
            "metadata.recovery.strategy": "none",  # as for writers
            **more,
        }
        self._journal: Journal = journal
        self.consumer: Consumer = Consumer(settings)
        self.ends: dict[str, int] = {}
        """Where the end of a key was met; only with `enable.partition.eof`."""
        self.membership: Membership | None = None
        """Under which the present partitions were given."""
        self.rebalances: int = 0

    def assign(self, offsets: dict[str, int]) -> None:
        self._journal.position({**offsets})
        self.consumer.assign([TopicPartition(*partition_of(key), at) for key, at in offsets.items()])

    def seek(self, key: str, offset: int) -> None:
        self._journal.position({key: offset})
        try:
            self.consumer.seek(TopicPartition(*partition_of(key), offset))
        except KafkaException:  # not fetching right now: its position is unknown
            self._journal.position({key: None})

    def subscribe(self, topics: Sequence[str]) -> None:
        self.consumer.subscribe(
            list(topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
        )

    def poll(self, most: int, seconds: float, number: int | None = None) -> Got:
        begun, rebalances = time.monotonic(), self.rebalances
        got: Got = {}
        for message in self.consumer.consume(most, seconds):
            error, key, offset = (
                message.error(),
                key_of(message.topic(), message.partition()),
                message.offset(),
            )
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF and offset is not None:
                    self.ends[key] = offset
                continue
            value = message.value()
            assert offset is not None
            assert isinstance(value, bytes)
            offsets, values = got.setdefault(key, ([], []))
            offsets.append(offset)
            values.append(int(value))
        if self.rebalances != rebalances:
            self._write_without_order(begun, got, number)
        elif got:
            self._journal.poll(begun, got, number)
        return got

    def _write_without_order(self, begun: float, got: Got, number: int | None) -> None:
        """librdkafka hands out in one batch what came before a rebalance and what came after it."""
        unknown = dict.fromkeys(got)
        for key, (offsets, values) in got.items():
            for offset, value in zip(offsets, values, strict=True):
                self._journal.position(unknown)
                self._journal.poll(begun, {key: ([offset], [value])}, number)
        self._journal.position(unknown)

    def quietly(self, action: Callable[[], object]) -> bool:
        """True when it worked; a broker that is down is no news here."""
        try:
            action()
        except KafkaException as error:
            self._journal.note(error.args[0].name())
            return False
        except SystemError as error:
            # confluent-kafka restores an error of a callback that runs while a consumer is closed wrongly.
            if "is not a BaseException subclass" not in str(error):
                raise
            self._journal.note("closed with an error that confluent-kafka lost")
            return False
        return True

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._journal.position({key_of(each.topic, each.partition): None for each in partitions})
        self.membership = Membership(
            consumer.consumer_group_metadata(), consumer.memberid() or "", generation_of(consumer)
        )
        self.rebalances += 1

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._journal.position({key_of(each.topic, each.partition): None for each in partitions})
        self.membership = None
        self.rebalances += 1
