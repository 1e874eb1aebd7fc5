"""A transactional producer that writes down what it does; every client that sends has one.

What a client may conclude from an error: librdkafka says which calls can be repeated, which leave a
transaction that must be aborted, and which end the producer. An abort that succeeds after a failed commit is
an abort: the coordinator refuses it for what is committed. Everything else after a commit was requested is
unknown.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition
from tests.faults.transactions.history import VALUES_PER_PROCESS, Outcome
from tests.faults.transactions.journal import Journal
from tests.faults.transactions.keys import partition_of
from tests.faults.transactions.reader import Membership

TRANSACTION_TIMEOUT_MS = 2500
_CALL = 5.0
PATIENCE = 90.0


class Writer:
    def __init__(self, servers: str, transactional_id: str, process: int, journal: Journal) -> None:
        self._settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "linger.ms": 1,
            "retry.backoff.ms": 20,
            "retry.backoff.max.ms": 200,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
            # A bootstrap begun anew by librdkafka 2.16 can leave a request for a coordinator waiting for the
            # broker that it has just given up, until the next loss of the connection.
            "metadata.recovery.strategy": "none",
        }
        self._journal: Journal = journal
        self._next_value: int = process * VALUES_PER_PROCESS
        self.number: int = 0
        self._producer: Producer = self._open()

    def begin(self) -> None:
        self.number += 1
        self._journal.begin(self.number)
        try:
            self._producer.begin_transaction()
        except KafkaException as error:  # fenced while nothing was open
            self._journal.note(name_of(error))
            self._producer = self._open()
            self._producer.begin_transaction()

    def send(self, key: str) -> None:
        number, value = self.number, self._next_value
        self._next_value += 1

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._journal.not_sent(number, value, error.name())
                return
            offset = message.offset()
            self._journal.sent(number, value, -1 if offset is None else max(offset, -1))

        self._journal.send(number, key, value)
        topic, partition = partition_of(key)
        self._producer.produce(topic, b"%d" % value, partition=partition, on_delivery=delivered)

    def flush(self) -> None:
        """Until they are in the log, or have failed."""
        self._repeated(lambda: self._producer.flush(_CALL))

    def send_offsets(self, offsets: Mapping[str, int], membership: Membership, group: str) -> None:
        wanted = [TopicPartition(*partition_of(key), offset) for key, offset in offsets.items()]
        self._repeated(lambda: self._producer.send_offsets_to_transaction(wanted, membership.metadata, _CALL))

    def commit(self, group: str | None = None) -> bool:
        """True when it is committed."""
        self._journal.commit(self.number, group)
        try:
            self._repeated(lambda: self._producer.commit_transaction(_CALL))
        except KafkaException as error:
            self._after_failed_commit(error)
            return False
        self._journal.over(self.number, Outcome.COMMITTED)
        return True

    def abort(self, why: str = "on purpose") -> None:
        """Of what had no commit request: aborted, whatever the broker says."""
        try:
            self._repeated(lambda: self._producer.abort_transaction(_CALL))
        except KafkaException as error:
            self._journal.over(self.number, Outcome.ABORTED, f"{why}, {name_of(error)}")
            self._producer = self._open()
        else:
            self._journal.over(self.number, Outcome.ABORTED, why)

    def _after_failed_commit(self, failure: KafkaException) -> None:
        why = name_of(failure)
        if failure.args[0].txn_requires_abort():
            try:
                self._repeated(lambda: self._producer.abort_transaction(_CALL))
            except KafkaException as error:
                why += f", {name_of(error)}"
            else:
                self._journal.over(self.number, Outcome.ABORTED, why)
                return
        self._journal.over(self.number, Outcome.UNKNOWN, why)
        self._producer = self._open()

    def _open(self) -> Producer:
        """With the same id: this aborts what an earlier one left open, and fences it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            producer = Producer(self._settings)
            try:
                self._repeated(lambda: producer.init_transactions(_CALL))  # noqa: B023  called here
            except KafkaException as error:
                self._journal.note(f"no producer: {name_of(error)}")
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return producer

    def _repeated(self, action: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                action()
            except KafkaException as error:
                failure = error.args[0]
                if failure.fatal() or not failure.retriable() or time.monotonic() > deadline:
                    raise
            except SystemError as error:
                # confluent-kafka raises a fatal error while it still calls back for deliveries.
                if isinstance(error.__cause__, KafkaException):
                    raise error.__cause__ from None
                raise
            else:
                return


def name_of(error: KafkaException) -> str:
    failure: KafkaError = error.args[0]
    return f"{failure.name()} ({failure.str()})"
