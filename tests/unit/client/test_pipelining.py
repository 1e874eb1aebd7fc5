"""Several requests at a time on one connection, and connections lent out."""

import socket
import struct
import threading

import pytest
from tests.fakes.scripted_broker import ScriptedBroker
from tests.patience import PATIENCE

from barnabas.client.address import parse_addresses
from barnabas.client.cluster import Cluster
from barnabas.client.connection import Connection
from barnabas.client.errors import TimedOut, Unreachable
from barnabas.client.settings import ClientSettings
from barnabas.wire.message_codec import decode_response
from barnabas.wire.outgoing_request import OutgoingRequest

METADATA_1 = OutgoingRequest("metadata", 3, 1, False, [struct.pack(">i", 0), b""])
METADATA_9 = OutgoingRequest("metadata", 3, 9, True, [b"\x01", memoryview(b"\x00\x00\x00\x00")])


def _cluster(broker: ScriptedBroker, request_timeout: float = PATIENCE) -> Cluster:
    return Cluster(
        ClientSettings(tuple(parse_addresses(broker.address)), patience=0.0, request_timeout=request_timeout)
    )


@pytest.mark.parametrize("request_sent", [METADATA_1, METADATA_9])
@pytest.mark.parametrize("torn", [False, True])
def test_answers_come_in_the_order_of_the_requests(request_sent: OutgoingRequest, torn: bool) -> None:
    with ScriptedBroker(torn=torn) as broker, _cluster(broker) as cluster:
        connection = cluster.lease(1)
        for _ in range(3):
            connection.send(request_sent)
        assert connection.awaited == 3
        for _ in range(3):
            answer = b"\x00\x00\x00\x00" + (b"\x00" if request_sent.is_flexible else b"")
            answer += bytes(connection.receive())
            assert decode_response("metadata", request_sent.version, answer).controller_id == 1
        assert connection.is_idle


def test_no_other_request_while_responses_are_awaited() -> None:
    with ScriptedBroker() as broker, _cluster(broker) as cluster:
        connection = cluster.lease(1)
        connection.send(METADATA_1)
        with pytest.raises(RuntimeError, match="answers to earlier requests are awaited"):
            connection.request("metadata", {"topics": []})


def test_answer_is_received_into_the_buffer_that_is_given() -> None:
    with ScriptedBroker() as broker, _cluster(broker) as cluster:
        connection = cluster.lease(1)
        connection.send(METADATA_1)
        mine = bytearray(1000)
        answer = connection.receive(lambda size: memoryview(mine))
        assert answer.obj is mine


def test_answer_to_another_request_is_refused() -> None:
    with ScriptedBroker() as broker, _cluster(broker) as cluster:
        connection = cluster.lease(1)
        connection.send(METADATA_1)
        connection._last_id = 50
        connection._awaited[0] = connection._awaited[0]._replace(id=49)
        with pytest.raises(Unreachable, match="does not speak the Kafka protocol"):
            connection.receive()
        assert not connection.is_open


def test_silent_broker_is_given_up_in_time() -> None:
    given_up = threading.Event()

    def silent(request: object) -> dict[str, object]:
        given_up.wait(PATIENCE)
        return broker.itself()

    with (
        ScriptedBroker({"metadata": lambda request: broker.itself()}) as broker,
        _cluster(broker) as cluster,
    ):
        connection = cluster.lease(1)
        connection._timeout = 0.3
        broker._answers["metadata"] = silent
        connection.send(METADATA_1)
        with pytest.raises(TimedOut, match=r"did not answer METADATA in 0\.3 s"):
            connection.receive()
        given_up.set()
        assert not connection.is_open


def test_lent_connection_is_exclusive() -> None:
    with ScriptedBroker() as broker, _cluster(broker) as cluster:
        first, second = cluster.lease(1), cluster.lease(1)
        assert first is not second
        assert cluster.connection(1) not in (first, second)
        cluster.give_back(first)
        assert cluster.lease(1) is first


def test_connection_with_answers_to_come_is_not_lent_again() -> None:
    with ScriptedBroker() as broker, _cluster(broker) as cluster:
        connection = cluster.lease(1)
        connection.send(METADATA_1)
        cluster.give_back(connection)
        assert not connection.is_open
        assert cluster.lease(1) is not connection


def _hang_up(broker: ScriptedBroker) -> None:
    """As a broker does with connections that were idle for long."""
    for each in broker._open:
        each.shutdown(socket.SHUT_RDWR)


def test_connection_that_the_broker_closed_meanwhile_is_opened_again() -> None:
    with ScriptedBroker() as broker, _cluster(broker) as cluster:
        cluster.metadata([])
        lent = cluster.lease(1)
        cluster.give_back(lent)
        cluster.connection(1)
        _hang_up(broker)
        assert cluster.metadata([]).controller_id == 1
        assert cluster.request("metadata", to=1, topics=[]).controller_id == 1
        assert cluster.lease(1) is not lent


def test_known_broker_serves_if_the_bootstrap_server_is_down() -> None:
    with ScriptedBroker() as other:
        with ScriptedBroker() as first:

            def both(request: object = None) -> dict[str, object]:
                nodes = [
                    {"node_id": node, "host": "127.0.0.1", "port": port, "rack": None}
                    for node, port in ((1, first.port), (2, other.port))
                ]
                return {"brokers": nodes, "controller_id": 1, "cluster_id": "two", "topics": []}

            first._answers["metadata"] = both
            cluster = _cluster(first)
            cluster.metadata([])
        with cluster:
            cluster.forget()
            assert cluster.metadata([]).cluster_id == "scripted"


def test_frame_larger_than_the_sockets_buffer_is_sent_whole() -> None:
    with ScriptedBroker() as broker, _cluster(broker) as cluster:
        names = [struct.pack(">h", 30_000) + b"x" * 30_000] * 200
        connection: Connection = cluster.lease(1)
        connection.send(OutgoingRequest("metadata", 3, 1, False, [struct.pack(">i", len(names)), *names]))
        connection.receive()
        assert len(broker.requests[-1].topics) == 200
