"""A topic on three brokers, a producer that writes to it all the time, and what must hold in the end."""

import threading

from tests.faults.served import until
from tests.patience import PATIENCE

from barnabas.testing import Cluster

TOPIC = "replicated"
PARTITIONS = 3
ALL = {0, 1, 2}
"""The brokers of the cluster."""


class Load:
    """A producer in a thread that writes numbers until it is stopped."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Producer

        self.acknowledged: list[bytes] = []
        self.errors: list[str] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._is_over.is_set():
            value = str(number).encode()
            self._producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=self._delivered)
            self._producer.poll(0.002)
            number += 1
        self._producer.flush(PATIENCE)

    def _delivered(self, error: object, message: object) -> None:
        if error is not None:
            self.errors.append(str(error))
        else:
            self.acknowledged.append(message.value())  # type: ignore[attr-defined]

    def wait_for_more(self, count: int = 300) -> None:
        """Until so many more records are acknowledged."""
        goal = len(self.acknowledged) + count
        until(lambda: len(self.acknowledged) >= goal, pause=0.01)

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()


def wait_for_isr(cluster: Cluster, members: set[int]) -> None:
    for partition in range(PARTITIONS):
        cluster.wait_for_isr(TOPIC, partition, members)


def leaders(cluster: Cluster) -> set[int]:
    return {cluster.leader(TOPIC, partition) for partition in range(PARTITIONS)}


def _log_of(cluster: Cluster, broker: int, partition: int) -> bytes:
    directory = cluster.brokers[broker].log_dir / f"{TOPIC}-{partition}"
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def assert_logs_are_equal(cluster: Cluster) -> None:
    for partition in range(PARTITIONS):
        logs = [_log_of(cluster, number, partition) for number in sorted(ALL)]
        assert logs[0] == logs[1] == logs[2]


def assert_no_traceback(cluster: Cluster) -> None:
    for number in range(len(cluster.brokers)):
        log = (cluster.directory / f"broker-{number}" / "broker.log").read_text(errors="replace")
        assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]


def read_all(bootstrap: str, count: int) -> list[bytes]:
    from confluent_kafka import Consumer

    settings = {"bootstrap.servers": bootstrap, "group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    values: list[bytes] = []

    def poll() -> bool:
        values.extend(each.value() or b"" for each in consumer.consume(500, 0.2) if each.error() is None)
        return len(values) >= count

    try:
        until(poll)
    finally:
        consumer.close()
    return values
