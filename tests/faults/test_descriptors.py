"""A broker that may open few files: partitions and connections leave it the descriptors it needs itself."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.faults.conftest import Serve
from tests.faults.reader import read_all
from tests.faults.served import Served, until
from tests.faults.test_crash import create_topic
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, fetch, produce, values_in

_FEW = 96


def _log_files(broker: Served) -> list[str]:
    return [path for path in broker.open_files() if path.endswith(".log")]


def _assert_nothing_failed(broker: Served) -> None:
    broker.assert_no_traceback()
    assert not [line for line in broker.lines if "offline" in line]


def test_empty_partition_holds_no_descriptor(serve: Serve) -> None:
    broker = serve().start()
    create_topic(broker, "t", {}, partitions=500)
    until(lambda: (broker.log_dir / "t-499").is_dir())
    assert _log_files(broker) == []
    broker.kill()
    broker.start()
    assert _log_files(broker) == []


def test_more_partitions_than_descriptors(serve: Serve) -> None:
    broker = serve()
    broker.open_files_limit = _FEW
    broker.start()
    create_topic(broker, "t", {}, partitions=1000)
    written = range(0, 1000, 8)
    with RawClient(broker.port) as client:
        for _ in range(2):
            for partition in written:
                assert produce(client, "t", batch(b"%d" % partition), partition=partition).error_code == 0
        for partition in written:
            answer = fetch(client, "t", 0, partition=partition)
            assert values_in(answer.records) == [b"%d" % partition] * 2
    assert len(_log_files(broker)) < _FEW
    broker.kill()
    broker.start()
    with RawClient(broker.port) as client:
        for partition in written:
            assert produce(client, "t", batch(b"more"), partition=partition).error_code == 0
            assert values_in(fetch(client, "t", 2, partition=partition).records) == [b"more"]
    broker.stop()
    broker.start()
    with RawClient(broker.port) as client:
        assert values_in(fetch(client, "t", 2, partition=992).records) == [b"more"]
    _assert_nothing_failed(broker)


@pytest.fixture
def crowd() -> Iterator[ExitStack]:
    with ExitStack() as sockets:
        yield sockets


def _connect_until_refused(broker: Served, crowd: ExitStack) -> int:
    """Connections that the broker accepted before it began to refuse them."""
    for number in range(2 * _FEW):
        peer = crowd.enter_context(socket.create_connection(("127.0.0.1", broker.port)))
        peer.settimeout(60)
        # An ApiVersions request is answered on an accepted connection, a refused one is closed.
        peer.sendall(bytes.fromhex("0000000a 0012 0000 00000001 ffff"))
        try:
            if not peer.recv(1):
                return number
        except ConnectionResetError:
            return number
    raise AssertionError("the broker accepts more connections than it may open files")


def test_connections_up_to_the_limit_leave_room_for_a_roll(serve: Serve, crowd: ExitStack) -> None:
    broker = serve({"log.flush.offset.checkpoint.interval.ms": 100})
    broker.open_files_limit = _FEW
    broker.start()
    create_topic(broker, "t", {"internal.segment.bytes": 1000}, partitions=40)
    with RawClient(broker.port) as client:
        assert _connect_until_refused(broker, crowd) > 10
        for _ in range(5):
            for partition in range(40):
                assert produce(client, "t", batch(b"x" * 400), partition=partition).error_code == 0
        assert len(list((broker.log_dir / "t-39").glob("*.log"))) > 1
        create_topic_with(client, "created-meanwhile")
        assert produce(client, "created-meanwhile", batch(b"y")).error_code == 0
        crowd.close()
        with RawClient(broker.port) as another:
            assert len(read_all(another, "t")) == 5
    _assert_nothing_failed(broker)
    assert [line for line in broker.warnings() if "connections refused" in line]
    broker.stop()


def create_topic_with(client: RawClient, name: str) -> None:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    answer = client.call("create_topics", 5, topics=[topic], timeout=30_000, validate_only=False)
    assert answer.topics[0].error_code == 0
