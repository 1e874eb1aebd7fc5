"""A transactional producer of version 2 (KIP-890), which no Python client is: over bare sockets.

Partitions are added by producing to them, and every end of a transaction gives a new epoch. It behaves as
`Writer` does. Each request is repeated until it is answered, with the same sequence, so that the broker has
repetitions to recognise.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from tests.faults.transactions.history import VALUES_PER_PROCESS, Outcome
from tests.faults.transactions.journal import Journal
from tests.faults.transactions.keys import partition_of
from tests.faults.transactions.reader import Membership
from tests.faults.transactions.writer import PATIENCE, TRANSACTION_TIMEOUT_MS, name_of
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch

from barnabas.base.errors import ErrorCode

_AGAIN = {
    ErrorCode.network_exception,
    ErrorCode.concurrent_transactions,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
    ErrorCode.not_leader_or_follower,
    ErrorCode.not_enough_replicas,
    ErrorCode.not_enough_replicas_after_append,
}


class WireWriter:
    def __init__(self, servers: str, transactional_id: str, process: int, journal: Journal) -> None:
        self._port: int = int(servers.rpartition(":")[2])
        self._id: str = transactional_id
        self._journal: Journal = journal
        self._next_value: int = process * VALUES_PER_PROCESS
        self._client: RawClient | None = None
        self._sequences: Counter[str] = Counter()
        self._is_empty: bool = True
        self.number: int = 0
        self._producer: dict[str, int] = {}
        self._open()

    def begin(self) -> None:
        self.number += 1
        self._is_empty = True
        self._sequences.clear()
        self._journal.begin(self.number)

    def send(self, key: str) -> None:
        value, self._next_value = self._next_value, self._next_value + 1
        self._is_empty = False
        self._journal.send(self.number, key, value)
        topic, partition = partition_of(key)
        records = batch(
            b"%d" % value, key=None, base_sequence=self._sequences[key], transactional=True, **self._producer
        )
        self._sequences[key] += 1
        data = [{"name": topic, "partition_data": [{"index": partition, "records": records}]}]
        fields = {"transactional_id": self._id, "acks": -1, "timeout": 10_000, "topic_data": data}
        try:
            answer = self._call("produce", 12, fields, _answer_to_produce)
        except KafkaException as error:
            self._journal.not_sent(self.number, value, name_of(error))
            raise
        self._journal.sent(self.number, value, answer.base_offset)

    def flush(self) -> None:
        """Nothing is ever under way."""

    def send_offsets(self, offsets: Mapping[str, int], membership: Membership, group: str) -> None:
        self._is_empty = False
        topics: dict[str, list[dict[str, object]]] = {}
        for key, offset in offsets.items():
            topic, partition = partition_of(key)
            committed = {"partition_index": partition, "committed_offset": offset, "committed_metadata": ""}
            topics.setdefault(topic, []).append({**committed, "committed_leader_epoch": -1})
        fields = {
            "transactional_id": self._id,
            "group_id": group,
            **self._producer,
            "generation_id": membership.generation,
            "member_id": membership.member_id,
            "group_instance_id": None,
            "topics": [{"name": topic, "partitions": found} for topic, found in topics.items()],
        }
        self._call("txn_offset_commit", 5, fields, _answer_to_offsets)

    def commit(self, group: str | None = None) -> bool:
        """True when it is committed."""
        self._journal.commit(self.number, group)
        try:
            self._end(is_commit=True)
        except KafkaException as error:
            self._after_failed_commit(error)
            return False
        self._journal.over(self.number, Outcome.COMMITTED)
        return True

    def abort(self, why: str = "on purpose") -> None:
        try:
            self._end(is_commit=False)
        except KafkaException as error:
            why += f", {name_of(error)}"
            self._open()
        self._journal.over(self.number, Outcome.ABORTED, why)

    def _after_failed_commit(self, failure: KafkaException) -> None:
        why = name_of(failure)
        if failure.args[0].code() == ErrorCode.transaction_abortable:
            try:
                self._end(is_commit=False)
            except KafkaException as error:
                why += f", {name_of(error)}"
            else:
                self._journal.over(self.number, Outcome.ABORTED, why)
                return
        self._journal.over(self.number, Outcome.UNKNOWN, why)
        self._open()

    def _end(self, *, is_commit: bool) -> None:
        if self._is_empty:  # the coordinator has never heard of it
            return
        fields = {"transactional_id": self._id, **self._producer, "committed": is_commit}
        self._take(self._call("end_txn", 5, fields))

    def _open(self) -> None:
        timeout = {"transaction_timeout": TRANSACTION_TIMEOUT_MS}
        no_producer = {"producer_id": -1, "producer_epoch": -1}
        self._take(
            self._call("init_producer_id", 5, {"transactional_id": self._id, **timeout, **no_producer})
        )

    def _take(self, answer: Any) -> None:
        self._producer = {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}

    def _call(
        self,
        api: str,
        version: int,
        fields: Mapping[str, object],
        part: Callable[[Any], Any] = lambda answer: answer,
    ) -> Any:
        """The part of the answer that tells of an error, if there is none."""
        deadline = time.monotonic() + PATIENCE
        while True:
            code = ErrorCode.network_exception
            try:
                self._client = self._client or RawClient(self._port)
                answer = part(self._client.call(api, version, **fields))
                code = ErrorCode(answer.error_code)
                if code is ErrorCode.none:
                    return answer
            except OSError:
                self._client = None
            if code not in _AGAIN or time.monotonic() > deadline:
                raise KafkaException(KafkaError(int(code), f"{api}: {code.name}"))
            time.sleep(0.02)


def _answer_to_produce(answer: Any) -> Any:
    return _worst(answer.responses, "partition_responses")


def _answer_to_offsets(answer: Any) -> Any:
    return _worst(answer.topics, "partitions")


def _worst(topics: Any, partitions: str) -> Any:
    """One that tells of an error, if any does."""
    found = [each for topic in topics for each in getattr(topic, partitions)]
    return max(found, key=lambda each: bool(each.error_code))
