"""pytest fixtures that come with the package: nothing to import, nothing to configure.

    def test_orders(kafka_broker, kafka_topic):
        producer = Producer({"bootstrap.servers": kafka_broker.bootstrap_servers})
        producer.produce(kafka_topic, b"hello")

- `kafka_broker`: a running `barnabas.testing.Broker`. All tests share one broker, so a test costs a
  millisecond and not a start. What a test leaves behind is cleaned up before the next one: topics (also
  auto-created ones), consumer groups, and a stopped or killed broker.
- `kafka_topic`: the name of a new topic of this test. One partition by default:
  `@pytest.mark.kafka_topic(partitions=3, config={"cleanup.policy": "compact"})`.
- `kafka_broker_factory`: brokers of this test alone, for those that need their own configuration:
  `broker = kafka_broker_factory(process=True, config={"message.max.bytes": 1000})`.
- `kafka_broker_session`: the shared broker itself, for fixtures that live longer than a test.
- `kafka_cluster`: a running `barnabas.testing.Cluster`, three brokers by default:
  `@pytest.mark.kafka_cluster(brokers=3, racks=["a", "b", "c"], config={"min.insync.replicas": 2})`. Tests
  with an equal marker share a cluster. After a test it is healed and emptied.

Options: `--kafka-broker-mode thread|process` (or `kafka_broker_mode` in the ini file), and in the ini file
`kafka_broker_config`, lines of `key = value` for the shared broker.

pytest loads this file in every run, so it imports nothing of the broker until a fixture is used.
"""

import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from barnabas.testing.broker import Broker
    from barnabas.testing.cluster import Cluster
    from barnabas.testing.cluster_pool import ClusterPool

_MODES = ("thread", "process")
_MARKER = "kafka_topic(partitions=1, config=None): how the topic of the fixture kafka_topic is created"
_CLUSTER_MARKER = (
    "kafka_cluster(brokers=3, racks=None, config=None): the cluster of the fixture kafka_cluster"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafka", "a real Kafka broker for tests (Barnabas)")
    group.addoption(
        "--kafka-broker-mode",
        choices=_MODES,
        default=None,
        help="run the broker of the kafka_* fixtures in a background thread (default) or in a child process",
    )
    parser.addini("kafka_broker_mode", "thread (default) or process", default="thread")
    parser.addini("kafka_broker_config", "settings of the shared broker, key = value", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    config.addinivalue_line("markers", _CLUSTER_MARKER)


@pytest.fixture(scope="session")
def kafka_broker_session(pytestconfig: pytest.Config) -> Iterator["Broker"]:
    """The broker that all tests of this run share."""
    from barnabas.testing.broker import Broker

    with Broker(process=_mode(pytestconfig) == "process", config=_shared_config(pytestconfig)) as broker:
        yield broker


@pytest.fixture
def kafka_broker(kafka_broker_session: "Broker") -> Iterator["Broker"]:
    """A running `Broker` without other tests' topics and groups; the next test finds it running again."""
    broker = kafka_broker_session.start()
    before = broker.topics()
    yield broker
    broker.start().faults.clear()
    # Groups are stored in an internal topic: deleting it deletes them, also those with members.
    broker.delete_topics(broker.topics() - before)


@pytest.fixture
def kafka_topic(kafka_broker: "Broker", request: pytest.FixtureRequest) -> str:
    """The name of a topic that was created for this test."""
    words = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")
    name = f"{words[:80]}-{os.urandom(4).hex()}"
    marker = request.node.get_closest_marker("kafka_topic")
    kafka_broker.create_topic(name, **(marker.kwargs if marker else {}))
    return name


@pytest.fixture
def kafka_broker_factory(pytestconfig: pytest.Config) -> Iterator[Callable[..., "Broker"]]:
    """Start brokers of this test alone: `factory(**arguments of barnabas.testing.Broker)`."""
    from contextlib import ExitStack

    from barnabas.testing.broker import Broker

    with ExitStack() as brokers:

        def factory(**arguments: object) -> Broker:
            arguments.setdefault("process", _mode(pytestconfig) == "process")
            return brokers.enter_context(Broker(**arguments))  # type: ignore[arg-type]

        yield factory


@pytest.fixture(scope="session")
def kafka_cluster_pool() -> Iterator["ClusterPool"]:
    """The clusters of this run, one for each marker."""
    from barnabas.testing.cluster_pool import ClusterPool

    with ClusterPool() as pool:
        yield pool


@pytest.fixture
def kafka_cluster(kafka_cluster_pool: "ClusterPool", request: pytest.FixtureRequest) -> Iterator["Cluster"]:
    """A running `Cluster` with all replicas in sync, without other tests' topics and groups."""
    marker = request.node.get_closest_marker("kafka_cluster")
    if marker is not None and marker.args:
        raise pytest.UsageError("the marker kafka_cluster takes arguments by name: brokers, racks, config")
    with kafka_cluster_pool.lend(**(marker.kwargs if marker else {})) as cluster:
        yield cluster


def _mode(config: pytest.Config) -> str:
    mode: str = config.getoption("--kafka-broker-mode") or config.getini("kafka_broker_mode")
    if mode not in _MODES:
        raise pytest.UsageError(f"kafka_broker_mode = {mode!r}: expected one of {', '.join(_MODES)}")
    return mode


def _shared_config(config: pytest.Config) -> dict[str, str]:
    lines: list[str] = config.getini("kafka_broker_config")
    settings = {}
    for line in lines:
        key, separator, value = line.partition("=")
        if not separator:
            raise pytest.UsageError(f"kafka_broker_config: {line!r}: expected key = value")
        settings[key.strip()] = value.strip()
    return settings
