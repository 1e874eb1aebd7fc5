"""aiokafka as a member of a group, on an event loop of its own.

Its heartbeats are tasks of that loop, so they beat only while something is awaited: a member that polls all
the time does.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    NoOffsetForPartitionError,
    UnknownMemberIdError,
)
from aiokafka.structs import OffsetAndMetadata
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

Result = TypeVar("Result")
_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
_FENCING = (CommitFailedError, IllegalGenerationError, UnknownMemberIdError)


class AiokafkaGroupClient(ConsumerRebalanceListener):  # type: ignore[misc]  # no types
    def __init__(self, bootstrap_servers: str, settings: GroupSettings, listener: Listener) -> None:
        self._settings: GroupSettings = settings
        self._listener: Listener = listener
        self._runner: asyncio.Runner = asyncio.Runner()
        self._commits: set[asyncio.Task[None]] = set()
        self._has_begun: bool = False
        self.consumer: Any = self._run(self._open(bootstrap_servers, settings))

    def subscribe(self, topics: Sequence[str]) -> None:
        async def subscribe() -> None:
            if topics[0].startswith("^"):
                self.consumer.subscribe(pattern=topics[0], listener=self)
            else:
                self.consumer.subscribe(topics=list(topics), listener=self)

        self._run(subscribe())
        self._has_begun = True

    def assign(self, partitions: Collection[Partition]) -> None:
        async def assign() -> None:
            self.consumer.assign([TopicPartition(*each) for each in partitions])

        self._run(assign())
        self._has_begun = True

    def poll(self, seconds: float) -> list[Message]:
        if not self._has_begun:  # without subscription and assignment getmany() ignores its timeout
            self._run(asyncio.sleep(seconds))
            return []
        try:
            polled = self._run(self.consumer.getmany(timeout_ms=int(seconds * 1000)))
        except NoOffsetForPartitionError as error:
            raise NoOffset(str(error)) from error
        except _FENCING as error:
            raise Fenced(str(error)) from error
        return [_message(record) for records in polled.values() for record in records]

    def assignment(self) -> frozenset[Partition]:
        return _partitions(self.consumer.assignment())

    def commit(self, offsets: Offsets | None = None) -> None:
        try:
            self._run(self._commit(offsets))
        except _FENCING as error:
            raise Fenced(str(error)) from error

    def commit_async(self, done: Callable[[BaseException | None], None]) -> None:
        async def start() -> None:
            task = asyncio.create_task(self._commit(None))
            self._commits.add(task)
            task.add_done_callback(finished)

        def finished(task: asyncio.Task[None]) -> None:
            self._commits.discard(task)
            done(task.exception())

        self._run(start())

    def committed(self, partitions: Collection[Partition]) -> dict[Partition, Committed | None]:
        # It tells the offset only, and no offset as None.
        async def ask() -> dict[Partition, Committed | None]:
            found = {each: await self.consumer.committed(TopicPartition(*each)) for each in partitions}
            return {each: None if offset is None else Committed(offset) for each, offset in found.items()}

        return self._run(ask())

    def position(self, partition: Partition) -> int:
        return int(self._run(self.consumer.position(TopicPartition(*partition))))

    def seek(self, partition: Partition, offset: int) -> None:
        async def seek() -> None:
            self.consumer.seek(TopicPartition(*partition), offset)

        self._run(seek())

    def seek_to_beginning(self, partition: Partition) -> None:
        self._run(self.consumer.seek_to_beginning(TopicPartition(*partition)))

    def seek_to_end(self, partition: Partition) -> None:
        self._run(self.consumer.seek_to_end(TopicPartition(*partition)))

    def offset_for_time(self, partition: Partition, timestamp: int) -> int | None:
        wanted = TopicPartition(*partition)
        found = self._run(self.consumer.offsets_for_times({wanted: timestamp}))[wanted]
        return None if found is None else int(found.offset)

    def pause(self, partitions: Collection[Partition]) -> None:
        async def pause() -> None:
            self.consumer.pause(*[TopicPartition(*each) for each in partitions])

        self._run(pause())

    def resume(self, partitions: Collection[Partition]) -> None:
        async def resume() -> None:
            self.consumer.resume(*[TopicPartition(*each) for each in partitions])

        self._run(resume())

    def membership(self) -> object:
        return self._settings.group  # its producers know the group only

    def close(self) -> None:
        self._run(self.consumer.stop())
        self._runner.close()

    async def on_partitions_assigned(self, assigned: Collection[Any]) -> None:
        self._listener("assigned", _partitions(assigned))

    async def on_partitions_revoked(self, revoked: Collection[Any]) -> None:
        if self._settings.commits_when_revoked and revoked:
            await self.consumer.commit()
        self._listener("revoked", _partitions(revoked))

    async def _open(self, bootstrap_servers: str, settings: GroupSettings) -> Any:
        more: dict[str, Any] = {}
        if settings.assignor:
            more["partition_assignment_strategy"] = [_ASSIGNORS[settings.assignor]]
        if settings.instance is not None:
            more["group_instance_id"] = settings.instance
        consumer = AIOKafkaConsumer(
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
            **more,
        )
        await consumer.start()
        return consumer

    async def _commit(self, offsets: Offsets | None) -> None:
        if offsets is None:
            await self.consumer.commit()
            return
        await self.consumer.commit(
            {
                TopicPartition(*each): OffsetAndMetadata(committed.offset, committed.metadata)
                for each, committed in offsets.items()
            }
        )

    def _run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(asyncio.wait_for(coroutine, PATIENCE))


def _partitions(found: Collection[Any]) -> frozenset[Partition]:
    return frozenset(Partition(each.topic, each.partition) for each in found)


def _message(record: Any) -> Message:
    headers = tuple((name, value) for name, value in record.headers)
    return Message(record.key, record.value, headers, record.timestamp, record.partition, record.offset)
