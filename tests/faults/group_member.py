"""A member of a group for the soak: reads, writes down what it got, then commits; at least once.

`python -m tests.faults.group_member SERVERS GROUP TOPIC PROTOCOL JOURNAL`. Every line of the journal is one
write of JSON, so that a SIGKILL tears none of them: what was owned in which generation (or epoch), what was
received, which commits were acknowledged and between which times they were under way. SIGTERM lets it leave
cleanly.
"""

import json
import os
import signal
import struct
import sys
import time
from types import FrameType
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

SESSION_MS = 2000


class JournalingMember:
    def __init__(self, servers: str, group: str, protocol: str, journal: int) -> None:
        self._journal: int = journal
        self._is_over: bool = False
        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
        if protocol == "consumer":
            settings["group.protocol"] = "consumer"
        else:
            settings["session.timeout.ms"] = SESSION_MS
            settings["heartbeat.interval.ms"] = 200
        self._consumer: Consumer = Consumer(settings)

    def stop(self, _: int, __: FrameType | None) -> None:
        self._is_over = True

    def run(self, topic: str) -> None:
        self._consumer.subscribe(
            [topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        while not self._is_over:
            self._work()
        self._consumer.close()
        self._write("left")

    def _work(self) -> None:
        got: dict[int, list[int]] = {}
        for message in self._consumer.consume(50, 0.05):
            if message.error() is None:
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                got.setdefault(partition, []).append(offset)
        if not got:
            return
        self._write("got", offsets={partition: [min(each), max(each)] for partition, each in got.items()})
        for offsets in got.values():
            assert offsets == list(range(offsets[0], offsets[0] + len(offsets))), "out of order"
        self._commit({partition: offsets[-1] + 1 for partition, offsets in got.items()})

    def _commit(self, offsets: dict[int, int]) -> None:
        topic = sys.argv[3]
        wanted = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
        begun = time.monotonic()
        try:
            done = self._consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as error:
            self._write("not committed", why=KafkaError(error.args[0].code()).name())
            return
        safe = {each.partition: each.offset for each in done if each.error is None}
        self._write("committed", offsets=safe, begun=begun)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._write("assigned", partitions=partitions)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._write("revoked", partitions=partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._write("lost", partitions=partitions)

    def _write(self, happening: str, **more: Any) -> None:
        if "partitions" in more:
            more["partitions"] = [each.partition for each in more["partitions"]]
            more["generation"] = generation_of(self._consumer)
            more["member"] = self._consumer.memberid()
        line = json.dumps({"happening": happening, "at": time.monotonic(), **more})
        os.write(self._journal, line.encode() + b"\n")


def generation_of(consumer: Consumer) -> int:
    """Generation or member epoch: librdkafka writes it behind the seven characters of its format's name."""
    (generation,) = struct.unpack_from("<i", consumer.consumer_group_metadata(), 7)
    return int(generation)


def main() -> None:
    servers, group, topic, protocol, journal = sys.argv[1:]
    descriptor = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    member = JournalingMember(servers, group, protocol, descriptor)
    signal.signal(signal.SIGTERM, member.stop)
    member.run(topic)


if __name__ == "__main__":
    main()
