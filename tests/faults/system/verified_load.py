"""A producer and a consumer that check each other: every acknowledged record arrives, and once if idempotent.

The shape of Apache Kafka's ProduceConsumeValidate: the load runs while the test breaks something.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tests.faults.served import until
from tests.patience import PATIENCE

from barnabas.testing import Cluster

_PAUSE_SECONDS = 0.001


class VerifiedLoad:
    """Writes numbers to a topic, all partitions in turn, and reads them in a group, both in threads."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        producer: Mapping[str, Any] | None = None,
        consumer: Mapping[str, Any] | None = None,
    ) -> None:
        from confluent_kafka import Consumer, Producer

        servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
        self.acknowledged: list[bytes] = []
        self.consumed: Counter[bytes] = Counter()
        self.failures: list[str] = []
        self._topic: str = topic
        self._is_idempotent: bool = bool((producer or {}).get("enable.idempotence", True))
        self._producer: Producer = Producer({**servers, "enable.idempotence": True, **(producer or {})})
        self._consumer: Consumer = Consumer(
            {**servers, "group.id": f"{topic}-readers", "auto.offset.reset": "earliest", **(consumer or {})}
        )
        self._is_over: threading.Event = threading.Event()
        self._is_read: threading.Event = threading.Event()
        self._threads: list[threading.Thread] = [
            threading.Thread(target=target, daemon=True) for target in (self._produce, self._consume)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._is_read.set()
        for thread in self._threads:
            thread.join()
        self._consumer.close()

    def wait_for_more(self, count: int = 500) -> None:
        """Until so many more records are acknowledged, and the consumer has read more."""
        written, read = len(self.acknowledged) + count, self.consumed.total() + count // 2
        until(lambda: len(self.acknowledged) >= written and self.consumed.total() >= read, pause=0.01)

    def verify(self) -> None:
        """End the load, and read to its end."""
        self._is_over.set()
        self._threads[0].join()
        assert self.failures == []
        until(lambda: all(value in self.consumed for value in self.acknowledged[-1000:]), pause=0.05)
        until(lambda: self.consumed.keys() >= set(self.acknowledged), pause=0.2)
        self._is_read.set()
        self._threads[1].join()
        assert self.failures == []
        if self._is_idempotent:
            assert len(self.acknowledged) == len(set(self.acknowledged))

    def _produce(self) -> None:
        number = 0
        while not self._is_over.is_set():
            try:
                self._producer.produce(self._topic, str(number).encode(), on_delivery=self._delivered)
                number += 1
            except BufferError:
                pass
            self._producer.poll(_PAUSE_SECONDS)
        if left := self._producer.flush(PATIENCE):
            self.failures.append(f"{left} records were not delivered")

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failures.append(str(error))
        else:
            self.acknowledged.append(message.value())

    def _consume(self) -> None:
        self._consumer.subscribe([self._topic])
        while not self._is_read.is_set():
            for message in self._consumer.consume(500, 0.1):
                if message.error() is None:
                    self.consumed[message.value() or b""] += 1
