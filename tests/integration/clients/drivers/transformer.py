"""Copies a topic with one transaction for each record, and may crash in the middle of one.

`python -m ... SERVERS GROUP TOPIC OUTPUT PROTOCOL CRASH`. CRASH is `never` or `NUMBER:POINT`: with that many
records done it exits, after the next one was `sent` or after its `offsets` were, before the commit. It ends
when every partition is read to its end.
"""

import os
import sys
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from tests.integration.clients.drivers.group_client import GroupSettings
from tests.integration.clients.drivers.group_confluent import consumer_settings
from tests.patience import PATIENCE

_CRASH = 9


class Transformer:
    def __init__(self, consumer: Consumer, producer: Producer, output: str, crash: str) -> None:
        self._consumer: Consumer = consumer
        self._producer: Producer = producer
        self._output: str = output
        self._crash: str = crash
        self._count: int = 0

    def run(self, topic: str) -> None:
        self._producer.init_transactions(PATIENCE)
        self._consumer.subscribe([topic])
        while not self._is_done(topic):
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            assert message.error() is None, message.error()
            self._copy(message)
            self._count += 1
        self._consumer.close()

    def _copy(self, message: Any) -> None:
        self._producer.begin_transaction()
        self._producer.produce(self._output, message.value())
        self._producer.flush(PATIENCE)
        self._maybe_crash("sent")
        next_one = TopicPartition(message.topic(), message.partition(), message.offset() + 1)
        membership = self._consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction([next_one], membership, PATIENCE)
        self._maybe_crash("offsets")
        self._producer.commit_transaction(PATIENCE)

    def _maybe_crash(self, point: str) -> None:
        if self._crash == f"{self._count}:{point}":
            os._exit(_CRASH)

    def _is_done(self, topic: str) -> bool:
        partitions = [TopicPartition(topic, number) for number in range(2)]
        if self._count % 5 or len(self._consumer.assignment()) < len(partitions):
            return False
        ends = [self._consumer.get_watermark_offsets(each, PATIENCE)[1] for each in partitions]
        return [each.offset for each in self._consumer.committed(partitions, PATIENCE)] == ends


def main() -> None:
    servers, group, topic, output, protocol, crash = sys.argv[1:]
    settings = GroupSettings(group, session_ms=500, is_new=protocol == "consumer")
    consumer = Consumer({**consumer_settings(servers, settings), "isolation.level": "read_committed"})
    producer = Producer(
        {"bootstrap.servers": servers, "transactional.id": group, "linger.ms": 0, "log_level": 0}
    )
    Transformer(consumer, producer, output, crash).run(topic)


if __name__ == "__main__":
    main()
