"""What is idle costs nothing that can be counted: no open file, no thread, no scan."""

import socket
from contextlib import ExitStack

from tests.faults.conftest import Serve
from tests.faults.reader import read_all
from tests.faults.served import Served, until
from tests.faults.test_crash import create_topic
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, end_offset, produce
from tests.patience import PATIENCE


def test_start_on_5000_partitions_after_a_clean_stop_opens_none_of_them(serve: Serve) -> None:
    broker = serve().start()
    for number in range(5):
        create_topic(broker, f"wide{number}", {}, partitions=1000)
    # Logs are made between requests.
    until(lambda: len(list(broker.log_dir.glob("wide*"))) == 5000, pause=0.2)
    with RawClient(broker.port) as client:
        assert produce(client, "wide3", batch(b"x"), partition=777).error_code == 0
    broker.stop()
    broker.forget_lines()
    broker.start()
    assert _partition_files(broker) == []
    assert not [line for line in broker.lines if "recover" in line]
    with RawClient(broker.port) as client:
        assert end_offset(client, "wide3", 777) == 1
        assert produce(client, "wide3", batch(b"y"), partition=777).base_offset == 1
    assert len(_partition_files(broker)) <= 2
    broker.stop()
    broker.assert_no_traceback()


def _partition_files(broker: Served) -> list[str]:
    return [name for name in broker.open_files() if "/wide" in name]


def test_2000_partitions_in_use(serve: Serve) -> None:
    broker = serve().start()
    create_topic(broker, "wide", {}, partitions=2000)
    with RawClient(broker.port) as client:
        for first in range(4):
            partitions = [{"index": number, "records": batch(b"x")} for number in range(first, 2000, 20)]
            answer = client.call("produce", 9, transactional_id=None, acks=-1, timeout=10_000,
                                 topic_data=[{"name": "wide", "partition_data": partitions}])  # fmt: skip
            results = answer.responses[0].partition_responses
            assert {(result.error_code, result.base_offset) for result in results} == {(0, 0)}
    broker.stop()
    broker.start()
    with RawClient(broker.port) as client:
        assert [end_offset(client, "wide", number) for number in (0, 1983, 1999)] == [1, 1, 0]
    broker.assert_no_traceback()


def test_1000_idle_connections(serve: Serve) -> None:
    broker = serve().start()
    create_topic(broker, "t", {})
    before = broker.resident_bytes()
    with ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(socket.create_connection(("127.0.0.1", broker.port), PATIENCE))
        with RawClient(broker.port) as client:
            for number in range(50):
                assert produce(client, "t", batch(b"x")).base_offset == number
            assert len(read_all(client, "t")) == 50
        assert broker.resident_bytes() - before < 20 << 20
    with RawClient(broker.port) as client:
        assert produce(client, "t", batch(b"x")).base_offset == 50
    broker.stop()
    broker.assert_no_traceback()


def test_connections_that_sent_much_keep_no_buffer(serve: Serve) -> None:
    broker = serve().start()
    create_topic(broker, "t", {})
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(broker.port)) for _ in range(60)]
        for client in clients[:10]:
            assert produce(client, "t", batch(bytes(1_000_000))).error_code == 0
        before = broker.resident_bytes()
        for client in clients:
            assert produce(client, "t", batch(bytes(1_000_000))).error_code == 0
        assert broker.resident_bytes() - before < 10 << 20
