"""What the settings of server.properties change for clients."""

import contextlib
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.raw import RawClient, frame
from tests.integration.clients.requests import batch, end_offset, fetch, produce, values_in

from barnabas.testing import AdminError, Broker

NewBroker = Callable[..., Broker]


def _ask(client: RawClient, topic: str) -> int:
    answer = client.call("metadata", 4, topics=[{"name": topic}], allow_auto_topic_creation=True)
    code: int = answer.topics[0].error_code
    return code


def test_topics_are_not_created_where_that_is_forbidden(kafka_broker_factory: NewBroker) -> None:
    broker = kafka_broker_factory(config={"auto.create.topics.enable": False})
    with RawClient(broker.port) as client:
        assert _ask(client, "t") == ErrorCode.unknown_topic_or_partition
        assert produce(client, "t", batch(b"a")).error_code == ErrorCode.unknown_topic_or_partition
    assert broker.topics() == set()


def test_created_topics_have_the_brokers_number_of_partitions(kafka_broker_factory: NewBroker) -> None:
    broker = kafka_broker_factory(config={"num.partitions": 3})
    with RawClient(broker.port) as client:
        while _ask(client, "t") != 0:
            pass
        (topic,) = client.call("metadata", 4, topics=[{"name": "t"}], allow_auto_topic_creation=False).topics
    assert len(topic.partitions) == 3


def test_topics_are_not_deleted_where_that_is_forbidden(kafka_broker_factory: NewBroker) -> None:
    broker = kafka_broker_factory(config={"delete.topic.enable": False})
    broker.create_topic("t")
    with pytest.raises(AdminError) as refused:
        broker.delete_topic("t")
    assert refused.value.code == "topic_deletion_disabled"
    assert broker.topics() == {"t"}


def test_limits_of_the_broker(kafka_broker_factory: NewBroker) -> None:
    broker = kafka_broker_factory(config={"message.max.bytes": 1000, "socket.request.max.bytes": 5000})
    broker.create_topic("t")
    with RawClient(broker.port) as client:
        assert produce(client, "t", batch(b"x" * 1000)).error_code == ErrorCode.message_too_large
        assert produce(client, "t", batch(b"x" * 500)).error_code == 0
        client.send_bytes(frame(b"x" * 5001)[:100])
        assert client.is_closed_by_the_broker()


def test_idle_connections_are_closed(kafka_broker_factory: NewBroker) -> None:
    broker = kafka_broker_factory(config={"connections.max.idle.ms": 300})
    with RawClient(broker.port) as client:
        assert client.call("metadata", 1, topics=[]).brokers
        assert client.is_closed_by_the_broker()


def test_clients_get_the_advertised_address(kafka_broker_factory: NewBroker) -> None:
    advertised = {"advertised.listeners": "PLAINTEXT://kafka.example.org:1234"}
    broker = kafka_broker_factory(config=advertised)
    with RawClient(broker.port) as client:
        (node,) = client.call("metadata", 1, topics=[]).brokers
    assert (node.host, node.port) == ("kafka.example.org", 1234)


def test_partitions_spread_over_several_directories(kafka_broker_factory: NewBroker, tmp_path: Path) -> None:
    directories = [tmp_path / name for name in ("a", "b", "c")]
    broker = kafka_broker_factory(config={"log.dirs": ",".join(map(str, directories))})
    broker.create_topic("t", 9)
    with RawClient(broker.port) as client:
        for partition in range(9):
            assert produce(client, "t", batch(b"%d" % partition), partition=partition).error_code == 0
    assert {len(list(directory.glob("t-*"))) for directory in directories} == {3}
    broker.restart()
    with RawClient(broker.port) as client:
        for partition in range(9):
            assert values_in(fetch(client, "t", 0, partition=partition).records) == [b"%d" % partition]


@pytest.mark.parametrize("process", [False, True])
def test_flushed_records_outlive_a_kill(kafka_broker_factory: NewBroker, process: bool) -> None:
    broker = kafka_broker_factory(process=process, config={"log.flush.interval.messages": 1})
    broker.create_topic("t")
    with RawClient(broker.port) as client:
        for number in range(50):
            assert produce(client, "t", batch(b"%d" % number)).base_offset == number
        broker.kill()
    broker.start()
    with RawClient(broker.port) as client:
        assert values_in(fetch(client, "t", 0).records) == [b"%d" % number for number in range(50)]
        assert produce(client, "t", batch(b"next")).base_offset == 50


def test_hundreds_of_connections(kafka_broker_factory: NewBroker) -> None:
    broker = kafka_broker_factory(process=True)
    broker.create_topic("t")
    idle = [socket.create_connection(("127.0.0.1", broker.port)) for _ in range(400)]
    try:
        clients = [RawClient(broker.port) for _ in range(50)]
        for client in clients:
            client.send("metadata", 1, topics=[])
        for client in clients:
            assert client.receive("metadata", 1).brokers
            assert produce(client, "t", batch(b"a")).error_code == 0
        assert end_offset(clients[0], "t") == 50
        for client in clients:
            with client:
                pass
    finally:
        for connection in idle:
            connection.close()


def test_torn_requests_do_not_pile_up_in_memory(kafka_broker_factory: NewBroker) -> None:
    """Requests of 50 MB that are announced, begun and given up must leave nothing behind."""
    broker = kafka_broker_factory(process=True)
    beginning = frame(b"\0" * 4)[:0] + (50 << 20).to_bytes(4, "big") + b"\0" * 1_000_000
    with RawClient(broker.port) as client:
        assert client.call("metadata", 1, topics=[]).brokers
    before = _resident_bytes(broker)
    for _ in range(100):
        with RawClient(broker.port) as torn:
            torn.send_bytes(beginning)
    with RawClient(broker.port) as client:
        assert client.call("metadata", 1, topics=[]).brokers
    assert _resident_bytes(broker) - before < 30 << 20


def _resident_bytes(broker: Broker) -> int:
    """Of the process that listens on the broker's port."""
    status = Path(f"/proc/{_listener(broker.port)}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def _listener(port: int) -> int:
    inodes = {
        fields[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if (fields := line.split())[1].endswith(f":{port:04X}") and fields[3] == "0A"
    }
    sockets = {f"socket:[{inode}]" for inode in inodes}
    for process in Path("/proc").glob("[0-9]*"):
        # Processes and descriptors come and go while they are looked at.
        with contextlib.suppress(OSError):
            for link in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(link.readlink()) in sockets:
                        return int(process.name)
    raise AssertionError(f"no broker listens on port {port}")
