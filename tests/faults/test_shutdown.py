"""The ways to stop a broker, and what it leaves behind."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.conftest import Serve
from tests.faults.reader import read_all
from tests.faults.served import Served, until
from tests.faults.test_crash import create_topic
from tests.faults.writer import Writer
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, fetch_fields, produce
from tests.patience import NEVER_MS, PROGRAM_PATIENCE

_MARKER = ".kafka_cleanshutdown"


def test_sigterm_under_load_stops_cleanly_and_the_next_start_scans_nothing(serve: Serve) -> None:
    broker = serve().start()
    config: dict[str, object] = {"internal.segment.bytes": 20_000, "flush.messages": 1}
    writers = []
    for topic in ("a", "b", "c"):
        create_topic(broker, topic, config)
        writers.append(Writer(broker.port, topic))
        writers[-1].start()
    until(lambda: all(writer.acknowledged > 50 for writer in writers))
    broker.signal()
    assert broker.wait() == 0
    assert (broker.log_dir / _MARKER).exists()
    ends = _checkpoint(broker.log_dir / "recovery-point-offset-checkpoint")
    assert ends == _checkpoint(broker.log_dir / "replication-offset-checkpoint")
    assert all(ends[f"{topic} 0"] >= writer.records for topic, writer in zip("abc", writers, strict=True))
    broker.forget_lines()
    broker.start()
    assert not [line for line in broker.lines if "recover" in line.lower()]
    for topic, writer in zip("abc", writers, strict=True):
        writer.finish()
        with RawClient(broker.port) as client:
            assert len(read_all(client, topic)) == writer.records == writer.records_sent
    broker.assert_no_traceback()


def test_requests_under_way_are_answered_before_the_broker_goes(serve: Serve) -> None:
    broker = serve().start()
    create_topic(broker, "t", {})
    with RawClient(broker.port) as client:
        # A long poll holds the answer of what was sent behind it back: both are under way.
        client.send("fetch", 12, **fetch_fields("t", [(0, 0)], max_wait=NEVER_MS))
        until(lambda: _is_connected(broker))
        broker.signal()
        answer = client.receive("fetch", 12)
        assert answer.responses[0].partitions[0].error_code == 0
        assert client.is_closed_by_the_broker()
    assert broker.wait() == 0


def test_consumers_that_never_pause_do_not_hold_the_broker(serve: Serve) -> None:
    broker = serve().start()
    create_topic(broker, "t", {})
    writer = Writer(broker.port, "t")
    writer.start()
    with RawClient(broker.port) as loris:
        loris.send_bytes(b"\x00\x00\x10\x00half a request")
        until(lambda: writer.acknowledged > 20)
        broker.stop()
    broker.start()
    writer.finish()


def test_second_interrupt_stops_at_once_and_nothing_is_lost(serve: Serve) -> None:
    broker = serve().start()
    create_topic(broker, "t", {})
    with RawClient(broker.port) as client:
        assert produce(client, "t", batch(b"kept")).error_code == 0
        stuck = _peer_that_never_reads(broker, client)
        broker.signal(signal.SIGINT)
        until(lambda: not _listens(broker))
        broker.signal(signal.SIGINT)
        assert broker.wait() == 130
        stuck.__exit__(None, None, None)
    assert not (broker.log_dir / _MARKER).exists()
    broker.assert_no_traceback()
    broker.start()
    with RawClient(broker.port) as client:
        assert read_all(client, "t")[0].value == b"kept"


def test_second_sigterm_changes_nothing(serve: Serve) -> None:
    broker = serve().start()
    with RawClient(broker.port) as client:
        create_topic(broker, "t", {})
        produce(client, "t", batch(b"kept"))
        with _peer_that_never_reads(broker, client):
            broker.signal()
            until(lambda: not _listens(broker))
            broker.signal()
            assert broker.wait() == 0
    assert (broker.log_dir / _MARKER).exists()


def test_sigterm_while_it_starts_is_a_clean_stop(serve: Serve) -> None:
    broker = serve().start()
    create_topic(broker, "t", {"internal.segment.bytes": 1000}, partitions=50)
    with RawClient(broker.port) as client:
        for partition in range(50):
            produce(client, "t", batch(b"x"), partition=partition)
    broker.kill()
    broker.forget_lines()
    broker.spawn()
    until(lambda: any("recovering" in line for line in broker.lines))
    broker.signal()
    assert broker.wait() == 0
    broker.assert_no_traceback()
    assert (broker.log_dir / _MARKER).exists()
    broker.forget_lines()
    broker.start()
    assert not any("recovering" in line for line in broker.lines)


def test_kafka_server_stop_stops_it_cleanly(serve: Serve) -> None:
    broker = serve().start()
    command = Path(sys.executable).with_name("kafka-server-stop")
    subprocess.run([str(command)], env=broker.environment, check=True, timeout=PROGRAM_PATIENCE)
    assert broker.wait() == 0
    assert (broker.log_dir / _MARKER).exists()


# --- what the tests wait for -----------------------------------------------------------------------------


def _listens(broker: Served) -> bool:
    try:
        with RawClient(broker.port):
            return True
    except ConnectionRefusedError:
        return False


def _is_connected(broker: Served) -> bool:
    return sum(name.startswith("socket:") for name in broker.open_files()) > 3


def _peer_that_never_reads(broker: Served, client: RawClient) -> RawClient:
    """With so much to get that it does not fit into the sockets' buffers."""
    for _ in range(12):
        produce(client, "t", batch(bytes(1_000_000)))
    deaf = RawClient(broker.port)
    deaf.send("fetch", 12, **fetch_fields("t", [(0, 0)], partition_max_bytes=50 << 20))
    deaf._exactly(4)  # the answer is on its way
    return deaf


def _checkpoint(path: Path) -> dict[str, int]:
    lines = path.read_text().splitlines()[2:]
    return {name: int(offset) for name, offset in (line.rsplit(" ", 1) for line in lines)}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_signal_and_the_end_of_the_stop_are_logged(serve: Serve, number: signal.Signals) -> None:
    broker = serve().start()
    broker.signal(number)
    assert broker.wait() == 0
    received, stopped = (
        next((at for at, line in enumerate(broker.lines) if text in line), None)
        for text in (f"{number.name} received: stopping", "Broker 0 stopped in")
    )
    assert received is not None
    assert stopped is not None
    assert received < stopped
    broker.forget_lines()
    broker.start().kill()
    assert not [line for line in broker.lines if "received" in line or "stopped" in line]
