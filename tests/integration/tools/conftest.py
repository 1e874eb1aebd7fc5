"""Both brokers and Apache Kafka's tools, once for all tests of the command-line tools.

The brokers are started alike (node 1, the same settings), so that little has to be hidden before outputs are
compared. Tests that use Apache Kafka need no marker: the fixture declares what they need.
"""

import re
from collections.abc import Iterator, Mapping

import pytest
from benchmarks.apache_kafka import ApacheKafka, default_cache
from benchmarks.processes import BrokerProcess
from tests.integration.tools.apache_tools import JVM, ApacheTools
from tests.integration.tools.parity import OurTools, Setup, TheirTools
from tests.integration.tools.scenario import Way

from barnabas.testing import Broker

SETTINGS: Mapping[str, object] = {
    "min.insync.replicas": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "log.segment.delete.delay.ms": 1000,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.assignment.interval.ms": 0,
    "log.retention.hours": -1,
}
"""No retention by time, as in `barnabas.testing`: some records have old timestamps."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "apache_kafka" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.maven)
            item.add_marker(pytest.mark.needs("javac", "apache-kafka"))


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is not there is not waited for; programs in a process of their own do wait."""
    monkeypatch.setattr("barnabas.client.settings.PATIENCE", 0.0)


@pytest.fixture(scope="session")
def barnabas_broker() -> Iterator[Broker]:
    with Broker(process=True, config={"node.id": 1, **SETTINGS}) as broker:
        yield broker


@pytest.fixture(scope="session")
def apache_kafka() -> ApacheKafka:
    """The jars, at hand already when the test may run."""
    return ApacheKafka.fetch(default_cache(), (*JVM, "-Xmx512M"))


@pytest.fixture(scope="session")
def apache_broker(
    apache_kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    settings = "".join(f"{key}={value}\n" for key, value in SETTINGS.items())
    broker = apache_kafka.launch(tmp_path_factory.mktemp("apache-kafka"), settings)
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def other_apache_broker(
    apache_kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """Apache Kafka with what the first one lacks: an authorizer, that lets us do everything, and two disks.

    The second disk is the directory `second` beside `log_dir`.
    """
    directory = tmp_path_factory.mktemp("other-apache-kafka")
    second = directory / "second"
    second.mkdir()
    # A disk belongs to a broker once it is formatted: the same cluster and node, an id of its own.
    meta = (apache_kafka.jars.parent / "formatted" / "meta.properties").read_text()
    meta = re.sub("directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAABAA", meta)
    (second / "meta.properties").write_text(meta)
    settings = (
        f"log.dirs={directory / 'logs'},{second}\n"
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        "super.users=User:ANONYMOUS\n"
    )
    broker = apache_kafka.launch(directory, settings)
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def apache_tools(
    apache_kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApacheTools]:
    tools = ApacheTools("java", apache_kafka.jars, tmp_path_factory.mktemp("classes"))
    yield tools
    tools.close()


@pytest.fixture(scope="session")
def ours_at_barnabas(barnabas_broker: Broker) -> Setup:
    return Setup(OurTools(), barnabas_broker)


@pytest.fixture(scope="session")
def setups(
    ours_at_barnabas: Setup, apache_broker: BrokerProcess, apache_tools: ApacheTools
) -> Mapping[Way, Setup]:
    """The four ways."""
    theirs = TheirTools(apache_tools)
    return {
        Way.THEIRS_AT_APACHE: Setup(theirs, apache_broker),
        Way.THEIRS_AT_BARNABAS: Setup(theirs, ours_at_barnabas.broker),
        Way.OURS_AT_APACHE: Setup(OurTools(), apache_broker),
        Way.OURS_AT_BARNABAS: ours_at_barnabas,
    }
