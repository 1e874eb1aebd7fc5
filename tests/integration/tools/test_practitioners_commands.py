"""Commands as practitioners wrote them down in the years 2013 to 2020: they do what they did then.

Only the `cd`, the installation path and the ports are changed. Where a note reaches Kafka through ZooKeeper,
which the embedded store does without, the answer is one line that names the flag to use, and that flag works.
"""
# ruff: noqa: E501  the commands stand as they were written

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.tools.programs import Ran, run, start
from tests.patience import PATIENCE

from barnabas.testing import Broker

_BIN = Path(sys.executable).parent
_PATH = re.compile(r"^(?:\./|/)?bin/")


@pytest.fixture
def broker() -> Iterator[Broker]:
    """Each note begins with an empty broker."""
    with Broker(process=True, config={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


def _words(line: str, broker: Broker) -> list[str]:
    return shlex.split(_PATH.sub("", line.strip()).replace("localhost:9092", broker.bootstrap_servers))


def _run(line: str, broker: Broker, stdin: str = "") -> Ran:
    program, *arguments = _words(line, broker)
    return run(program, *arguments, stdin=stdin, timeout=PATIENCE)


def _done(line: str, broker: Broker, stdin: str = "") -> list[str]:
    ran = _run(line, broker, stdin)
    assert ran.code == 0, ran
    return ran.lines


_ZOOKEEPER = (
    "bin/kafka-topics.sh --create --zookeeper localhost:2181 --replication-factor 1 --partitions 1 --topic test",
    "./bin/kafka-topics --create --zookeeper localhost:2181 --replication-factor 1 --partitions 1 --topic test",
    "./bin/kafka-topics --list --zookeeper localhost:2181",
    "./bin/kafka-topics.sh --zookeeper localhost:2181 --list",
    "./bin/kafka-topics.sh --zookeeper localhost:2181 --describe --topic Hello-Kafka",
    "./bin/kafka-topics.sh --zookeeper localhost：2181 --alter --topic Hello-Kafka --partitions 3",  # noqa: RUF001
    "./bin/kafka-run-class kafka.admin.DeleteTopicCommand --topic test --zookeeper127.0.0.1:2181",
    "bin/kafka-topics.sh --describe --zookeeper localhost:2181 --topic my-replicated-topic",
)


@pytest.mark.parametrize("line", _ZOOKEEPER)
def test_zookeeper_is_answered_with_the_flag_to_use(line: str, broker: Broker) -> None:
    ran = _run(line, broker)
    assert ran.code == 1
    printed = (ran.stdout + ran.stderr).strip()
    assert "\n" not in printed
    assert "--bootstrap-server" in printed
    assert "2181" in printed


def test_create_produce_and_consume(broker: Broker) -> None:
    """The walk through Kafka 1.1: create a topic, type two messages, see them come out."""
    create = "bin/kafka-topics.sh --create --bootstrap-server localhost:9092 --replication-factor 1 --partitions 1 --topic test"
    assert _done(create, broker) == ["Created topic test."]
    typed = "This is a message\nThis is another message\n"
    _done("bin/kafka-console-producer.sh --broker-list localhost:9092 --topic test", broker, typed)
    consume = "bin/kafka-console-consumer.sh --bootstrap-server localhost:9092 --topic test --from-beginning"
    program, *arguments = _words(consume, broker)
    with start(program, *arguments) as consumer:
        assert consumer.wait_for_line() == "This is a message"
        assert consumer.wait_for_line() == "This is another message"
        assert "Processed a total of 2 messages" in consumer.interrupt().stderr


def test_topics_and_groups_are_listed_described_and_changed(broker: Broker) -> None:
    """The notes on 2.1: topics and groups from the command line."""
    _done("./bin/kafka-topics --create --bootstrap-server localhost:9092 --topic Hello-Kafka", broker)
    assert _done("./bin/kafka-topics.sh --bootstrap-server localhost:9092 --list", broker) == ["Hello-Kafka"]
    describe = "./bin/kafka-topics.sh --bootstrap-server localhost:9092 --describe --topic Hello-Kafka"
    assert "PartitionCount: 1" in _done(describe, broker)[0]
    _done(
        "./bin/kafka-topics.sh --bootstrap-server localhost:9092 --alter --topic Hello-Kafka --partitions 3",
        broker,
    )
    assert "PartitionCount: 3" in _done(describe, broker)[0]

    _done("bin/kafka-console-producer --broker-list localhost:9092 --topic test", broker, "one\n")
    consume = "./bin/kafka-console-consumer --bootstrap-server localhost:9092 --group cousunmer --topic test --from-beginning  "
    program, *arguments = _words(consume, broker)
    with start(program, *arguments) as consumer:
        assert consumer.wait_for_line() == "one"
        consumer.interrupt()
    groups = "./bin/kafka-consumer-groups --bootstrap-server localhost:9092 --list"
    assert _done(groups, broker) == ["cousunmer"]
    missing = _run(
        "/bin/kafka-consumer-groups --bootstrap-server localhost:9092  --describe --group consumer03", broker
    )
    assert "consumer03" in missing.stdout + missing.stderr
    (row,) = [
        line.split()
        for line in _done(
            "kafka-consumer-groups --bootstrap-server localhost:9092 --describe --group cousunmer", broker
        )
        if line.startswith("cousunmer")
    ]
    assert row[:6] == ["cousunmer", "test", "0", "1", "1", "0"]

    delete = (
        "./bin/kafka-run-class kafka.admin.DeleteTopicCommand --topic test --bootstrap-server localhost:9092"
    )
    _done(delete, broker)
    assert "test" not in _done("./bin/kafka-topics --list --bootstrap-server localhost:9092", broker)


def test_server_starts_and_stops(tmp_path: Path) -> None:
    """With the configuration as the argument of both, also of the stop."""
    properties = tmp_path / "config" / "server.properties"
    properties.parent.mkdir()
    properties.write_text(f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={tmp_path}/logs\n")
    environment = {**os.environ, "TMPDIR": str(tmp_path), "LOG_DIR": str(tmp_path / "out")}
    with start("kafka-server-start.sh", "config/server.properties", env=environment, cwd=tmp_path) as server:
        server.wait_for_line("Stop:")
        stopped = subprocess.run(
            [str(_BIN / "kafka-server-stop.sh"), "config/server.properties"],
            env=environment,
            cwd=tmp_path,
            check=False,
        )
        assert stopped.returncode == 0
        assert server.wait().code in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
