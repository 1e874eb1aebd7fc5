"""kafka-log-dirs and `barnabas cluster disks` against our broker."""

import json
import re

import pytest
from confluent_kafka import Producer
from tests.integration.tools.programs import Ran, run_inside

from barnabas.testing import Broker


@pytest.fixture
def topic(barnabas_broker: Broker, request: pytest.FixtureRequest) -> str:
    """Two partitions; the second holds a record of 100,000 bytes."""
    name = "log-dirs-" + re.sub(r"[^a-z]+", "-", request.node.name)
    barnabas_broker.create_topic(name, partitions=2)
    producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers})
    producer.produce(name, b"x" * 100_000, partition=1)
    producer.flush()
    return name


def _log_dirs(broker: Broker, *words: str) -> Ran:
    return run_inside("kafka-log-dirs", "--bootstrap-server", broker.bootstrap_servers, "--describe", *words)


def test_partitions_of_topics_are_described_with_their_sizes(barnabas_broker: Broker, topic: str) -> None:
    querying, received, text = _log_dirs(barnabas_broker, "--topic-list", topic).lines
    assert querying == "Querying brokers for log directories information"
    assert received == "Received log directory information from brokers 1"
    found = json.loads(text)
    (directory,) = found["brokers"][0]["logDirs"]
    assert directory["logDir"] == str(barnabas_broker.log_dir)
    assert [each["partition"] for each in directory["partitions"]] == [f"{topic}-0", f"{topic}-1"]
    empty, full = directory["partitions"]
    assert empty["size"] == 0
    assert full["size"] > 100_000


def test_all_topics_are_described_without_a_list(barnabas_broker: Broker, topic: str) -> None:
    found = json.loads(_log_dirs(barnabas_broker, "--broker-list", "1").lines[2])
    partitions = [each["partition"] for each in found["brokers"][0]["logDirs"][0]["partitions"]]
    assert f"{topic}-1" in partitions
    assert len(partitions) >= 2


def test_describe_and_numbers_of_brokers_are_required(barnabas_broker: Broker) -> None:
    bare = run_inside("kafka-log-dirs", "--bootstrap-server", barnabas_broker.bootstrap_servers)
    assert (bare.code, bare.stderr.splitlines()[0]) == (1, 'Missing required argument "[describe]"')
    word = _log_dirs(barnabas_broker, "--broker-list", "one")
    assert (word.code, word.stdout, word.stderr) == (1, "", 'For input string: "one"\n')


# --- barnabas cluster disks --------------------------------------------------------------------------


def test_disks_show_directories_and_the_largest_partitions(barnabas_broker: Broker, topic: str) -> None:
    words = ["-b", barnabas_broker.bootstrap_servers, "--topic", topic, "--top", "1"]
    ran = run_inside("barnabas", "cluster", "disks", *words)
    head, directory, blank, partitions_head, largest = ran.lines
    assert head.split() == ["BROKER", "DIRECTORY", "PARTITIONS", "SIZE", "FREE", "VOLUME", "STATE"]
    assert directory.split()[:2] == ["1", str(barnabas_broker.log_dir)]
    assert directory.split()[-1] == "online"
    assert blank == ""
    assert partitions_head.split() == ["TOPIC", "PARTITION", "BROKER", "SIZE", "LAG", "DIRECTORY"]
    assert largest.split()[:5] == [topic, "1", "1", "97.7", "KiB"]


def test_disks_as_json_have_plain_numbers(barnabas_broker: Broker, topic: str) -> None:
    words = ["-b", barnabas_broker.bootstrap_servers, "--topic", topic, "--json"]
    found = json.loads(run_inside("barnabas", "cluster", "disks", *words).stdout)
    (directory,) = found["directories"]
    assert directory["error"] is None
    assert 0 < directory["usable_bytes"] <= directory["total_bytes"]
    assert [each["partition"] for each in found["partitions"]] == [1, 0]
    assert found["partitions"][0]["size"] > 100_000
