"""Produce requests without a network: frames with a transactional id, a connection, and a coordinator that
answers as the test sets it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from kio.schema.errors import ErrorCode
from tests.fakes.connection import FakeConnection
from tests.fakes.node import Node
from tests.integration.clients.raw import decode, encode

from barnabas.base.deferred import Deferred
from barnabas.base.errors import KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.handlers.dispatch import Dispatcher
from barnabas.network.responses import Parts, Pending
from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.runtime.outcome import Outcome
from barnabas.transaction.coordinator import TransactionCoordinator
from barnabas.transaction.partition_verification import verify_here
from barnabas.transaction.peers import Codes
from barnabas.transaction.requests import TransactionPartitions

NEWEST, BEFORE_ADDING, BEFORE_ABORTABLE = 13, 11, 10
PRODUCER = 7


def txn_batch(
    sequence: int = 0, *, epoch: int = 0, pid: int = PRODUCER, transactional: bool = True, value: bytes = b"v"
) -> bytes:
    return build_batch(
        [Record(0, 1_600_000_000_000, None, value)],
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


class FakeCoordinator:
    """Stands for the coordinator of a transaction, here or elsewhere; is its own shard."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.errors: list[KafkaError | None] = []
        """What the next questions are answered with; None, or nothing left: yes."""
        self.is_slow: bool = False
        self._waiting: list[Callable[[], None]] = []

    is_made: bool = True

    def load(self) -> None:
        """Everything is imported."""

    def get(self) -> "FakeCoordinator":
        return self

    def write(self, key: str, operation: Callable[[Any], Outcome[Any]]) -> Deferred[Any]:
        return self._run(lambda: operation(self).response)

    def read(self, key: str, operation: Callable[[Any], Any]) -> Deferred[Any]:
        return self._run(lambda: operation(self))

    def verify(self, requested: TransactionPartitions) -> Deferred[Codes]:
        return verify_here(cast(TransactionCoordinator, self), requested)

    def _run(self, operation: Callable[[], Any]) -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()

        def give() -> None:
            try:
                answer.complete(operation())
            except KafkaError as error:
                answer.fail(error)

        if self.is_slow:
            self._waiting.append(give)
        else:
            give()
        return answer

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def answer(self) -> None:
        waiting, self._waiting = self._waiting, []
        for give in waiting:
            give()

    # --- the shard's part -----------------------------------------------------------------------------------

    def add_partitions(
        self, name: str, producer_id: int, epoch: int, partitions: list[TopicPartition], client_version: int
    ) -> Outcome[None]:
        self._note("add", name, producer_id, epoch, partitions, client_version)
        return Outcome(None)

    def verify_partitions(
        self, name: str, producer_id: int, epoch: int, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        try:
            self._note("verify", name, producer_id, epoch, partitions)
        except KafkaError as error:
            return dict.fromkeys(partitions, error.code)
        return dict.fromkeys(partitions, ErrorCode.none)

    def _note(self, *call: Any) -> None:
        self.calls.append(call)
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error


class Producing:
    """One connection of a producer."""

    def __init__(self, node: Node, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.node: Node = node
        self.connection: FakeConnection = FakeConnection()
        self._dispatcher: Dispatcher = Dispatcher(node.contexts, loop or asyncio.new_event_loop())
        self._own_loop: bool = loop is None

    def close(self) -> None:
        if self._own_loop:
            self._dispatcher._loop.close()

    def frame(
        self,
        records: dict[int, bytes | None],
        *,
        version: int = NEWEST,
        transactional_id: str | None = "tx",
        acks: int = -1,
        topic: str = "t",
    ) -> memoryview:
        found = self.node.partitions.topic(topic)
        fields: dict[str, object] = {
            "transactional_id": transactional_id,
            "acks": acks,
            "timeout": 10_000,
            "topic_data": [
                {
                    "name": topic,
                    "topic_id": None if found is None else found.topic_id,
                    "partition_data": [{"index": n, "records": each} for n, each in records.items()],
                }
            ],
        }
        return memoryview(encode("produce", version, 1, **fields)).toreadonly()

    def send(self, frame: memoryview) -> Parts | Pending | None:
        return self._dispatcher.on_frame(self.connection, frame)  # type: ignore[arg-type]

    def codes(self, records: dict[int, bytes | None], **options: Any) -> list[ErrorCode]:
        """The code of each partition; the answer must be there at once."""
        answer = self.send(self.frame(records, **options))
        assert isinstance(answer, list), (answer, self.connection.reason)
        return codes_in(answer, options.get("version", NEWEST))

    def code(self, records: bytes, **options: Any) -> ErrorCode:
        (code,) = self.codes({0: records}, **options)
        return code

    def end_offset(self, partition: int = 0) -> int:
        return self.node.partitions.get("t", partition).log.log_end_offset


def codes_in(parts: Parts, version: int = NEWEST) -> list[ErrorCode]:
    data = b"".join(bytes(part) for part in parts)  # type: ignore[arg-type]
    answer = decode("produce", version, data[4:])
    return [each.error_code for each in answer.responses[0].partition_responses]
