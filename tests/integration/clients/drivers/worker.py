"""A consumer that writes what it gets to a database, and may crash between processing and committing.

`python -m ... SERVERS GROUP TOPIC PROTOCOL ORDER DATABASE CRASH_AT`. ORDER is `commit-first` (at most once),
`process-first` (at least once) or `together` (exactly once: offsets are in the transaction of the output, and
reading begins where the database says). It crashes with the record of the number CRASH_AT in hand, or ends
when every partition is read to its end.
"""

import os
import sqlite3
import sys
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from tests.integration.clients.drivers.group_client import GroupSettings
from tests.integration.clients.drivers.group_confluent import consumer_settings

_CRASH = 9


class Worker:
    def __init__(self, consumer: Consumer, order: str, database: sqlite3.Connection, crash_at: int) -> None:
        self._consumer: Consumer = consumer
        self._order: str = order
        self._database: sqlite3.Connection = database
        self._crash_at: int = crash_at
        self._ended: set[int] = set()

    def run(self, topic: str) -> None:
        self._consumer.subscribe([topic], on_assign=self._on_assign)
        count = 0
        while not (self._ended and self._ended == self._assigned()):
            message = self._consumer.poll(0.1)
            if message is None:
                self._look_for_the_end(topic)
                continue
            assert message.error() is None, message.error()
            self._work(message, crashes=count == self._crash_at)
            count += 1
        self._consumer.close()

    def _work(self, message: Any, *, crashes: bool) -> None:
        steps = {
            "commit-first": (self._commit, self._process),
            "process-first": (self._process, self._commit),
            "together": (self._process_with_offset, None),
        }
        before, after = steps[self._order]
        before(message)
        if crashes:
            os._exit(_CRASH)
        if after is not None:
            after(message)
        self._database.commit()

    def _commit(self, message: Any) -> None:
        self._database.commit()
        self._consumer.commit(message=message, asynchronous=False)

    def _process(self, message: Any) -> None:
        self._database.execute("INSERT INTO processed VALUES (?)", (message.value(),))
        self._database.commit()

    def _process_with_offset(self, message: Any) -> None:
        self._database.execute("INSERT INTO processed VALUES (?)", (message.value(),))
        position = (message.partition(), message.offset() + 1)
        self._database.execute("INSERT OR REPLACE INTO position VALUES (?, ?)", position)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._order != "together":
            return
        known = dict(self._database.execute("SELECT number, next FROM position"))
        for each in partitions:
            each.offset = known.get(each.partition, 0)
        consumer.assign(partitions) if self._is_classic() else consumer.incremental_assign(partitions)

    def _is_classic(self) -> bool:
        return bool(sys.argv[4] == "classic")

    def _assigned(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    def _look_for_the_end(self, topic: str) -> None:
        for each in self._consumer.position([TopicPartition(topic, number) for number in self._assigned()]):
            _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, each.partition), 5)
            if each.offset >= end or self._is_committed(topic, each.partition, end):
                self._ended.add(each.partition)

    def _is_committed(self, topic: str, partition: int, end: int) -> bool:
        """Nothing is left to read, so that there is no position."""
        (found,) = self._consumer.committed([TopicPartition(topic, partition)], 5)
        known = dict(self._database.execute("SELECT number, next FROM position"))
        return bool(found.offset == end or known.get(partition) == end)


def main() -> None:
    servers, group, topic, protocol, order, path, crash_at = sys.argv[1:]
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE IF NOT EXISTS processed (value)")
    database.execute("CREATE TABLE IF NOT EXISTS position (number INTEGER PRIMARY KEY, next INTEGER)")
    database.commit()
    settings = GroupSettings(group, session_ms=500, is_new=protocol == "consumer")
    Worker(Consumer(consumer_settings(servers, settings)), order, database, int(crash_at)).run(topic)
    database.close()


if __name__ == "__main__":
    main()
