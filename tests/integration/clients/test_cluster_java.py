"""Kafka Streams and distributed Kafka Connect on three brokers that die in turn: each record counts once."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.integration.clients.conftest import QUICK_GROUPS, QUICK_TRANSACTIONS
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.connect_worker import ConnectWorker, sink_of_lines, source_of_lines
from tests.integration.clients.drivers.member import until
from tests.integration.clients.drivers.word_count import WordCount
from tests.integration.clients.messages import Settings
from tests.integration.clients.spoken_words import PARTITIONS, Speaker, counts_of
from tests.integration.clients.transactions import log_end, texts
from tests.integration.clients.written_lines import Writer, all_committed, wait_for_lines

from barnabas.testing import Cluster

pytestmark = [
    pytest.mark.soak,
    pytest.mark.needs("java", "javac", "maven", "confluent_kafka"),
    pytest.mark.kafka_cluster(
        config={
            **QUICK_GROUPS,
            **QUICK_TRANSACTIONS,
            "min.insync.replicas": 2,
            "offsets.topic.replication.factor": 3,
            "transaction.state.log.replication.factor": 3,
            "transaction.state.log.min.isr": 2,
        }
    ),
]
OpenDriver = Callable[..., Driver]
_SECONDS = 90.0
_ROUNDS = 2


def _wait_for_more(cluster: Cluster, topic: str) -> None:
    """Wait until something was written: the application is in the middle of its work."""

    ends: list[int] = []

    def is_longer() -> bool:
        # A leader that was just killed is known as the leader for a moment.
        with suppress(OSError, AssertionError):
            ends.append(log_end(cluster.brokers[cluster.wait_for_leader(topic)], topic))
        return len(ends) > 1 and ends[-1] > ends[0]

    until(is_longer, seconds=_SECONDS)


def _kill_in_turn(cluster: Cluster, wait: Callable[[], None]) -> None:
    for number in list(range(len(cluster.brokers))) * _ROUNDS:
        wait()
        cluster.kill(number)
        wait()
        cluster.start(number)
        cluster.heal()
    wait()


def test_words_are_counted_once_while_brokers_die_in_turn(
    kafka_cluster: Cluster, open_driver: OpenDriver, jars: Path, java_classes: Path, tmp_path: Path
) -> None:
    cluster = kafka_cluster
    cluster.create_topic("lines", PARTITIONS)
    cluster.create_topic("counts")
    names = ("word-count", "lines", "counts")
    speaking = open_driver("confluent", Settings(is_idempotent=True), broker=cluster)
    with (
        WordCount(jars, java_classes, cluster.bootstrap_servers, *names, directory=tmp_path) as application,
        Speaker(speaking, "lines") as speaker,
    ):
        _kill_in_turn(cluster, lambda: _wait_for_more(cluster, "counts"))
        speaker.close()
        count = sum(map(len, speaker.counts.values()))
        reader = open_driver("confluent", Settings(reads_committed=True), broker=cluster)
        reader.consume("counts", count)
        application.close()
    reader.produce("counts", texts("the end"))
    *received, last = reader.consume("counts", count + 1)
    assert last.value == b"the end"
    assert counts_of(received) == speaker.counts


def test_each_line_arrives_once_while_brokers_die_in_turn(
    kafka_cluster: Cluster, open_driver: OpenDriver, jars: Path, tmp_path: Path
) -> None:
    cluster = kafka_cluster
    cluster.create_topic("lines")
    copy = tmp_path / "copy"
    replicated = {f"{kind}.storage.replication.factor": 3 for kind in ("config", "offset", "status")}
    with (
        ConnectWorker(jars, cluster.bootstrap_servers, "connect", tmp_path / "connect", replicated) as worker,
        Writer(tmp_path / "source") as writer,
    ):
        worker.wait_until_ready()
        worker.put("source", source_of_lines(tmp_path / "source", "lines"))
        worker.put("sink", sink_of_lines(copy, "lines"))
        _kill_in_turn(cluster, lambda: wait_for_lines(copy, [*writer.lines]))
        writer.close()
        wait_for_lines(copy, writer.lines)
        worker.close()
    reader = open_driver("confluent", Settings(reads_committed=True), broker=cluster)
    assert all_committed(reader, "lines", len(writer.lines)) == writer.lines
