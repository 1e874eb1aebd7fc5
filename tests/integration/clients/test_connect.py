"""Distributed Kafka Connect: lines of a file go to a topic once each, and on to a file, whatever stops.

Connect asks much of a broker: its workers form a group of a type of their own, it keeps configurations,
offsets and states in compacted topics that it reads back to the end, and with exactly-once sources it fences
producers and writes records and offsets in one transaction.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.integration.clients.conftest import QUICK_GROUPS, QUICK_TRANSACTIONS
from tests.integration.clients.drivers import Driver
from tests.integration.clients.drivers.connect_worker import ConnectWorker, sink_of_lines, source_of_lines
from tests.integration.clients.drivers.member import until
from tests.integration.clients.messages import Message, Settings
from tests.integration.clients.raw import RawClient
from tests.integration.clients.topic_configs import topic_configs
from tests.integration.clients.written_lines import Writer, all_committed, wait_for_lines

from barnabas.testing import Broker

pytestmark = [pytest.mark.needs("java", "javac", "maven", "confluent_kafka")]
OpenDriver = Callable[..., Driver]
StartWorker = Callable[..., ConnectWorker]
_GROUP = "connect-cluster"
_TOPIC = "lines"
_SECONDS = 90.0
"""Until a line has come through: JVMs and a broker that starts again share the machine with other tests."""


@pytest.fixture
def broker(kafka_broker_factory: Callable[..., Broker]) -> Broker:
    broker = kafka_broker_factory(process=True, config={**QUICK_GROUPS, **QUICK_TRANSACTIONS})
    broker.create_topic(_TOPIC)
    return broker


@pytest.fixture
def start_worker(broker: Broker, jars: Path, tmp_path: Path) -> Iterator[StartWorker]:
    """`start_worker(settings)`: a worker of the test's cluster that is ready; killed after the test."""
    with ExitStack() as stack:

        def start(settings: Mapping[str, object] | None = None) -> ConnectWorker:
            worker = ConnectWorker(jars, broker.bootstrap_servers, _GROUP, tmp_path / "connect", settings)
            stack.enter_context(worker)
            worker.wait_until_ready()
            return worker

        yield start


@pytest.mark.parametrize(
    "killed",
    [
        pytest.param(["broker"], id="broker"),
        pytest.param(["broker", "worker", "both"] * 2, id="broker-and-worker", marks=pytest.mark.soak),
    ],
)
def test_each_line_arrives_once_whatever_is_killed(
    broker: Broker, start_worker: StartWorker, open_driver: OpenDriver, tmp_path: Path, killed: list[str]
) -> None:
    worker = start_worker()
    copy = tmp_path / "copy"
    with Writer(tmp_path / "source") as writer:
        worker.put("source", source_of_lines(tmp_path / "source", _TOPIC))
        worker.put("sink", sink_of_lines(copy, _TOPIC))
        for victim in killed:
            wait_for_lines(copy, [*writer.lines])
            if victim != "worker":
                broker.kill()
            if victim != "broker":
                worker.kill()
            writer.wait_for_more()
            broker.start()
            if victim != "broker":
                worker = start_worker()
    wait_for_lines(copy, writer.lines)
    worker.wait_for("source", "RUNNING", "RUNNING")
    worker.wait_for("sink", "RUNNING", "RUNNING")
    worker.close()
    reader = open_driver("confluent", Settings(reads_committed=True), broker=broker)
    assert all_committed(reader, _TOPIC, len(writer.lines)) == writer.lines


@pytest.mark.soak
def test_connector_is_paused_resumed_and_deleted(
    broker: Broker, start_worker: StartWorker, open_driver: OpenDriver, tmp_path: Path
) -> None:
    worker = start_worker()
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_text("before\n")
    worker.put("source", source_of_lines(source, _TOPIC))
    worker.put("sink", sink_of_lines(copy, _TOPIC))
    wait_for_lines(copy, ["before"])

    worker.pause("source")
    worker.wait_for("source", "PAUSED", "PAUSED")
    with source.open("a") as file:
        file.write("while paused\n")
    broker.restart()
    assert worker.wait_for("source", "PAUSED", "PAUSED").worker == worker.name
    worker.resume("source")
    wait_for_lines(copy, ["before", "while paused"])

    worker.delete("source")
    until(lambda: worker.connectors() == ["sink"])
    until(lambda: worker.state("source") is None)
    reader = open_driver("confluent", Settings(reads_committed=True), broker=broker)
    assert all_committed(reader, _TOPIC, 2) == ["before", "while paused"]


@pytest.mark.soak
def test_worker_goes_on_from_its_compacted_topics(
    broker: Broker, start_worker: StartWorker, open_driver: OpenDriver, tmp_path: Path
) -> None:
    quick = {"segment.ms": 100, "min.cleanable.dirty.ratio": 0.01}
    kinds = ("config", "offset", "status")
    settings = {f"{kind}.storage.{name}": value for kind in kinds for name, value in quick.items()}
    settings["offset.storage.partitions"] = 1
    worker = start_worker(settings)
    for kind, partitions in (("configs", 1), ("offsets", 1), ("status", 5)):
        configs = topic_configs(broker, f"{_GROUP}-{kind}")
        assert (configs["cleanup.policy"], configs["segment.ms"]) == ("compact", "100")
        assert _partition_count(broker, f"{_GROUP}-{kind}") == partitions

    source, copy = tmp_path / "source", tmp_path / "copy"
    reader = open_driver("confluent", Settings(reads_committed=True), broker=broker)
    with Writer(source) as writer:
        worker.put("source", source_of_lines(source, _TOPIC))
        worker.put("sink", sink_of_lines(copy, _TOPIC))
        for kind in ("configs", "offsets"):
            _wait_for_compaction(reader, f"{_GROUP}-{kind}", worker, source)
        worker.kill()
        writer.wait_for_more()
    worker = start_worker(settings)
    assert worker.connectors() == ["sink", "source"]
    wait_for_lines(copy, writer.lines)
    worker.close()
    assert all_committed(reader, _TOPIC, len(writer.lines)) == writer.lines


@pytest.mark.soak
@pytest.mark.parametrize(
    "happening", ["leader is killed", "follower is killed", "leader is frozen", "follower is frozen"]
)
def test_workers_share_connectors_and_take_over_those_of_a_lost_one(
    broker: Broker, start_worker: StartWorker, open_driver: OpenDriver, tmp_path: Path, happening: str
) -> None:
    leader, follower = start_worker(), start_worker()
    lost, left = (leader, follower) if happening.startswith("leader") else (follower, leader)
    names = ("first", "second")
    for name in names:
        broker.create_topic(name)
    with ExitStack() as stack:
        writers = {name: stack.enter_context(Writer(tmp_path / name)) for name in names}
        for name in names:
            # Requested from both: the one that does not lead forwards it.
            leader.put(f"{name}-source", source_of_lines(tmp_path / name, name))
            follower.put(f"{name}-sink", sink_of_lines(tmp_path / f"{name}-copy", name))
        _wait_for_owners(left, names, {leader.name, follower.name})
        assert _described(broker, _GROUP) == ("connect", "sessioned", 2)
        _wait_for_copies(writers, tmp_path)
        if happening.endswith("killed"):
            lost.kill()
        else:
            lost.freeze()
        _wait_for_owners(left, names, {left.name})
        broker.kill()
        broker.start()
        _wait_for_copies(writers, tmp_path)
        if happening.endswith("frozen"):
            lost.thaw()
        joined = lost if happening.endswith("frozen") else start_worker()
        _wait_for_owners(left, names, {left.name, joined.name})
    _wait_for_copies(writers, tmp_path)
    joined.close()
    _wait_for_owners(left, names, {left.name})
    left.close()
    reader = open_driver("confluent", Settings(reads_committed=True), broker=broker)
    for name, writer in writers.items():
        assert all_committed(reader, name, len(writer.lines)) == writer.lines


def _wait_for_copies(writers: Mapping[str, Writer], directory: Path) -> None:
    """Wait until the sinks have written all lines that there are now."""
    for name, writer in writers.items():
        wait_for_lines(directory / f"{name}-copy", [*writer.lines])


def _described(broker: Broker, group: str) -> tuple[str, str, int]:
    """The type of the group, its protocol and the number of its members."""
    with RawClient(broker.port) as client:
        requested = {"groups": [group], "include_authorized_operations": False}
        (found,) = client.call("describe_groups", 5, **requested).groups
    return found.protocol_type, found.protocol_data, len(found.members)


def _wait_for_owners(worker: ConnectWorker, names: Iterable[str], owners: set[str]) -> None:
    """Wait until the tasks of all connectors run, and on exactly these workers."""
    connectors = [f"{name}-{kind}" for name in names for kind in ("source", "sink")]

    def are_owners() -> bool:
        states = [worker.state(connector) for connector in connectors]
        return all(state is not None and state.task == "RUNNING" for state in states) and owners == {
            state.worker for state in states if state is not None
        }

    until(are_owners, seconds=_SECONDS)


def _partition_count(broker: Broker, topic: str) -> int:
    with RawClient(broker.port) as client:
        (found,) = client.call("describe_topic_partitions", 0, topics=[{"name": topic}]).topics
    return len(found.partitions)


def _wait_for_compaction(reader: Driver, topic: str, worker: ConnectWorker, source: Path) -> None:
    """Wait until the first record on the source is compacted away, for a later one with the same key."""
    first = _first_of_source(reader, topic)

    def is_compacted() -> bool:
        # Segments are rolled when something is written.
        worker.put("source", {**source_of_lines(source, _TOPIC), "errors.log.enable": "true"})
        worker.put("source", source_of_lines(source, _TOPIC))
        found = _first_of_source(reader, topic)
        return found.key == first.key and found.offset > first.offset

    until(is_compacted, seconds=_SECONDS)


def _first_of_source(reader: Driver, topic: str) -> Message:
    """Connect's keys are `connector-NAME` in one topic, `["NAME",{...}]` in another."""
    offset = 0
    while True:
        (message,) = reader.consume(topic, 1, offset=offset)
        if b"source" in (message.key or b""):
            return message
        offset = message.offset + 1
