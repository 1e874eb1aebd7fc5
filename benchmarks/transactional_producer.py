"""Producers that do transaction after transaction over raw sockets, as clients of transaction version 2 do.

A transaction is one Produce request, which adds its partition by itself, and one EndTxn when that is
answered. The answer to EndTxn has the epoch of the next transaction, so request bytes are kept and only
producer, epoch and checksum are put in anew. One thread drives all producers.

A broker that is still writing the markers of the last transaction lets the next Produce wait, and in the end
may say CONCURRENT_TRANSACTIONS: then the request is sent again at once.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import batches, group_protocol, protocol, transaction_protocol
from benchmarks.protocol import ProduceAnswer, UnexpectedAnswer
from benchmarks.raw_client import Connection
from benchmarks.transaction_protocol import CONCURRENT_TRANSACTIONS

READY_TIMEOUT = 30.0
RECORD = bytes(100)


class TransactionalProducer:
    """One producer: `send` begins a transaction, each `receive` takes an answer and goes on."""

    def __init__(
        self, connection: Connection, transactional_id: str, topic: str, partition: int, records: int
    ) -> None:
        self.connection = connection
        self._transactional_id = transactional_id
        batch = batches.batch([RECORD] * records, is_transactional=True)
        self._answer = ProduceAnswer(topic, 1)
        self._produce = bytearray(
            protocol.produce(topic, [(partition, batch)], acks=-1, transactional_id=transactional_id)
        )
        # Behind the batch are the tags of partition, topic and request.
        self._batch = memoryview(self._produce)[-3 - len(batch) : -3]
        self._commit = bytearray(transaction_protocol.commit(transactional_id))
        self._committing_since: float | None = None

    def prepare(self) -> None:
        """Find the coordinator, get a producer id, and do one transaction: all that is slow only once."""
        self._until_done(
            lambda: group_protocol.coordinator_error(
                self.connection.call(transaction_protocol.find_coordinator(self._transactional_id))
            )
        )
        self._until_done(self._init)
        self._until_done(lambda: self._answer.first_error(self.connection.call(bytes(self._produce))))
        self._send_commit()
        self.receive()

    def send(self) -> None:
        self.connection.send(self._produce)

    def receive(self) -> float | None:
        """Take one answer; the seconds that the commit took if it was the end of the transaction."""
        answer = self.connection.receive()
        if self._committing_since is None:
            self._produced(answer)
            return None
        seconds, self._committing_since = time.perf_counter() - self._committing_since, None
        if error := self._take_over(answer):
            raise UnexpectedAnswer(f"the commit of {self._transactional_id}: error code {error}")
        return seconds

    def _produced(self, answer: bytes) -> None:
        error = self._answer.first_error(answer)
        if error == CONCURRENT_TRANSACTIONS:
            self.send()
        elif error:
            raise UnexpectedAnswer(f"produce of {self._transactional_id}: error code {error}")
        else:
            self._send_commit()

    def _send_commit(self) -> None:
        self._committing_since = time.perf_counter()
        self.connection.send(self._commit)

    def _init(self) -> int:
        request = transaction_protocol.init_producer_id(self._transactional_id)
        return self._take_over(self.connection.call(request))

    def _take_over(self, answer: bytes) -> int:
        """Go on as the producer that the answer gives, from sequence 0; the error code if it gives none."""
        given = transaction_protocol.parse_producer(answer)
        if not given.error:
            batches.set_producer(self._batch, given.producer_id, given.epoch)
            transaction_protocol.set_producer(self._commit, given.producer_id, given.epoch)
        return given.error

    def _until_done(self, attempt: Callable[[], int]) -> None:
        deadline = time.perf_counter() + READY_TIMEOUT
        while error := attempt():
            if time.perf_counter() > deadline:
                raise UnexpectedAnswer(f"{self._transactional_id}: error code {error} for {READY_TIMEOUT} s")
            time.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Transactions:
    """Seconds of each commit of the timed part, and how long that was."""

    commits: list[float]
    seconds: float

    @property
    def rate(self) -> float:
        return len(self.commits) / self.seconds


def run_transactions(
    producers: Sequence[TransactionalProducer], warm_up: float, seconds: float
) -> Transactions:
    """Each producer begins a transaction as soon as its last has ended, for `seconds` after `warm_up`."""
    by_fd = {producer.connection.socket.fileno(): producer for producer in producers}
    with select.epoll() as poll:
        for fd, producer in by_fd.items():
            poll.register(fd, select.EPOLLIN)
            producer.send()
        _run_until(time.perf_counter() + warm_up, by_fd, poll)
        started = time.perf_counter()
        commits = _run_until(started + seconds, by_fd, poll)
        elapsed = time.perf_counter() - started
    for producer in producers:
        while producer.receive() is None:
            pass
    return Transactions(commits, elapsed)


def _run_until(deadline: float, by_fd: dict[int, TransactionalProducer], poll: select.epoll) -> list[float]:
    commits = []
    while time.perf_counter() < deadline:
        for fd, _ in poll.poll(1.0):
            producer = by_fd[fd]
            seconds = producer.receive()
            if seconds is not None:
                commits.append(seconds)
                producer.send()
    return commits
