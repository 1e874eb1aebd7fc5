"""One broker process for all tests of real clients, and the clients.

With `BARNABAS_TEST_BOOTSTRAP=127.0.0.1:9092` the tests run against that broker instead. Started from Apache
Kafka it tells whether a test is right: what fails there and passes here is a wrong test, or a deviation that
the documentation names.
"""

import functools
import importlib.util
import logging
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.group_client import GroupClient, GroupSettings, Listener
from tests.integration.clients.drivers.group_clients import open_group_client
from tests.integration.clients.drivers.java import JavaMachine
from tests.integration.clients.drivers.member import Member
from tests.integration.clients.drivers.transaction_client import TransactionalProducer, TransactionSettings
from tests.integration.clients.drivers.transaction_clients import open_transactional_producer
from tests.integration.clients.group_requests import wait_for_coordinator
from tests.integration.clients.jars import compile_driver, fetch_jars
from tests.integration.clients.messages import Settings
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import list_offset

from barnabas.testing import Broker

with warnings.catch_warnings():
    # kafka-python reads its schemas, when it is imported, by functions that Python calls deprecated.
    warnings.filterwarnings("ignore", r"(read|open)_text is deprecated", DeprecationWarning)
    if importlib.util.find_spec("kafka") is not None:
        importlib.import_module("kafka")
# The errors that it logs hold the sockets of refused connections, and pytest keeps what is logged.
logging.getLogger("kafka").setLevel(logging.CRITICAL)

OTHER_BROKER = os.environ.get("BARNABAS_TEST_BOOTSTRAP")
OpenDriver = Callable[..., Driver]
OpenMember = Callable[..., Member]
OpenTransactor = Callable[..., TransactionalProducer]
QUICK_GROUPS: Mapping[str, object] = {
    # Members that die are removed soon, and heartbeats bring changes at once. For tests against another
    # broker: start it with these, and with one partition of __consumer_offsets.
    "group.min.session.timeout.ms": 100,
    "group.consumer.min.session.timeout.ms": 100,
    "group.consumer.session.timeout.ms": 2000,
    "group.consumer.min.heartbeat.interval.ms": 50,
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.assignment.interval.ms": 0,
    "group.max.size": 12,
    "group.consumer.max.size": 12,
}
QUICK_TRANSACTIONS: Mapping[str, object] = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100,
    "log.cleaner.backoff.ms": 100,
}


class _OtherBroker(Broker):
    """A broker that runs already and is not ours to stop."""

    def start(self) -> "_OtherBroker":
        self._host = self  # type: ignore[assignment]
        return self

    def command(self, verb: str, **arguments: Any) -> Any:
        if verb != "faults.clear":
            pytest.skip("no fault can be injected into the broker of BARNABAS_TEST_BOOTSTRAP")

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, object] | None = None
    ) -> None:
        super().create_topic(name, partitions, config)
        with RawClient(self.port) as client:  # Apache Kafka's leaders come a moment after the topic
            for partition in range(partitions):
                while list_offset(client, name, partition=partition).error_code != 0:
                    time.sleep(0.01)

    def stop(self) -> None:
        pytest.skip("the broker of BARNABAS_TEST_BOOTSTRAP cannot be stopped")

    kill = stop

    def close(self) -> None:
        pass

    @property
    def log_dir(self) -> Path:
        pytest.skip("the files of the broker of BARNABAS_TEST_BOOTSTRAP are not at hand")


@pytest.fixture(scope="session")
def kafka_broker_session() -> Iterator[Broker]:
    """The broker of the plugin's fixtures, here in a process of its own."""
    if OTHER_BROKER is not None:
        yield _OtherBroker(port=int(OTHER_BROKER.rpartition(":")[2])).start()
        return
    with Broker(process=True, config={**QUICK_GROUPS, **QUICK_TRANSACTIONS}) as broker:
        yield broker


@pytest.fixture(scope="session")
def jars() -> Path:
    return fetch_jars()


@pytest.fixture(scope="session")
def java_classes(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs in java/, compiled."""
    classes = tmp_path_factory.mktemp("classes")
    compile_driver(jars, classes)
    return classes


@pytest.fixture(scope="session")
def java_machine(jars: Path, java_classes: Path) -> Iterator[JavaMachine]:
    machine = JavaMachine(jars, java_classes)
    yield machine
    machine.close()


@pytest.fixture
def open_driver(request: pytest.FixtureRequest, kafka_broker: Broker) -> Iterator[OpenDriver]:
    """`open_driver("confluent", Settings(...))`: a client of the shared broker, closed after the test."""
    drivers: list[Driver] = []

    def new(name: str, settings: Settings | None = None, broker: Broker | None = None) -> Driver:
        servers = (broker or kafka_broker).bootstrap_servers
        driver = _new_driver(request, name, servers, settings or Settings())
        drivers.append(driver)
        return driver

    yield new
    for driver in drivers:
        driver.close()


@pytest.fixture
def group(request: pytest.FixtureRequest, kafka_broker: Broker) -> str:
    """The name of a group that no other test uses; its coordinator is there."""
    words = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")
    name = f"{words[:60]}-{os.urandom(4).hex()}"
    wait_for_coordinator(kafka_broker.port, name)
    return name


@pytest.fixture
def open_member(request: pytest.FixtureRequest, kafka_broker: Broker, group: str) -> Iterator[OpenMember]:
    """`open_member("aiokafka", topic, session_ms=...)`: a member of the test's group, closed after the test.

    Keywords are those of GroupSettings; without topics it subscribes to nothing.
    """
    members: list[Member] = []

    def new(name: str, *topics: str, broker: Broker | None = None, **settings: Any) -> Member:
        servers = (broker or kafka_broker).bootstrap_servers
        settings.setdefault("group", group)
        chosen = GroupSettings(is_new=name.endswith("-new"), **settings)
        members.append(Member(_group_client_opener(request, name, servers, chosen), topics))
        return members[-1]

    yield new
    for member in members:
        member.ask_to_close()
    for member in members:
        member.close()


@pytest.fixture
def transactional_id(request: pytest.FixtureRequest) -> str:
    """That no other test uses."""
    words = re.sub(r"[^a-zA-Z0-9]+", "-", request.node.name).strip("-")
    return f"{words[:60]}-{os.urandom(4).hex()}"


@pytest.fixture
def open_transactor(
    request: pytest.FixtureRequest, kafka_broker: Broker, transactional_id: str
) -> Iterator[OpenTransactor]:
    """`open_transactor("java", timeout_ms=...)`: a producer that is ready to begin a transaction.

    Keywords are those of TransactionSettings. It is abandoned after the test.
    """
    producers: list[TransactionalProducer] = []

    def new(name: str, *, broker: Broker | None = None, **settings: Any) -> TransactionalProducer:
        servers = (broker or kafka_broker).bootstrap_servers
        settings.setdefault("id", transactional_id)
        producers.append(_new_transactor(request, name, servers, TransactionSettings(**settings)))
        producers[-1].init()
        return producers[-1]

    yield new
    for producer in producers:
        producer.abandon()


def _new_transactor(
    request: pytest.FixtureRequest, name: str, servers: str, settings: TransactionSettings
) -> TransactionalProducer:
    if name == "java":
        from tests.integration.clients.drivers.transaction_java import JavaTransactions

        return JavaTransactions(request.getfixturevalue("java_machine"), servers, settings)
    return open_transactional_producer(name, servers, settings)


def _group_client_opener(
    request: pytest.FixtureRequest, name: str, servers: str, settings: GroupSettings
) -> Callable[[Listener], GroupClient]:
    if name.startswith("java"):
        from tests.integration.clients.drivers.group_java import JavaGroupClient

        machine = request.getfixturevalue("java_machine")
        return functools.partial(JavaGroupClient, machine, servers, settings)
    return functools.partial(open_group_client, name, servers, settings)


def _new_driver(request: pytest.FixtureRequest, name: str, servers: str, settings: Settings) -> Driver:
    # Imported when used: a machine without one of the clients can still run the tests of the others.
    if name == "confluent":
        from tests.integration.clients.drivers.confluent import ConfluentDriver

        return ConfluentDriver(servers, settings)
    if name == "kafka-python":
        from tests.integration.clients.drivers.kafka_python import KafkaPythonDriver

        return KafkaPythonDriver(servers, settings)
    if name == "aiokafka":
        from tests.integration.clients.drivers.aio_kafka import AiokafkaDriver

        return AiokafkaDriver(servers, settings)
    if name == "kcat":
        from tests.integration.clients.drivers.kcat import KcatDriver

        return KcatDriver(servers, settings)
    from tests.integration.clients.drivers.java import JavaDriver

    return JavaDriver(request.getfixturevalue("java_machine"), servers, settings)
