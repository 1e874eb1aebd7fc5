import re
import socket
import struct
import threading
from collections.abc import Mapping

import pytest
from tests.fakes.scripted_broker import ScriptedBroker
from tests.patience import PATIENCE

from barnabas.client.address import Address
from barnabas.client.connection import Connection
from barnabas.client.errors import TimedOut, Unreachable, Unsupported

ALL = {"topics": None}


def _connect(port: int, timeout: float = 10.0) -> Connection:
    return Connection(Address("127.0.0.1", port), client_id="test", connect_timeout=PATIENCE, timeout=timeout)


def _one_line(error: BaseException) -> bool:
    return "\n" not in str(error) and str(error) != ""


def test_api_versions_is_the_first_request() -> None:
    with ScriptedBroker(versions={"metadata": 9}) as broker:
        connection = _connect(broker.port)
        assert connection.version_of("metadata") == 9
        assert connection.version_of("metadata", max_version=4) == 4
        connection.close()


def test_answer_that_comes_byte_by_byte_is_put_together() -> None:
    with ScriptedBroker(torn=True) as broker:
        connection = _connect(broker.port)
        assert connection.request("metadata", ALL).cluster_id == "scripted"
        connection.close()


def test_broker_too_old_for_the_newest_api_versions_gets_an_older_one() -> None:
    with ScriptedBroker(versions={"api_versions": 0}) as broker:
        connection = _connect(broker.port)
        assert connection.request("metadata", ALL).cluster_id == "scripted"
        connection.close()


def test_api_that_is_not_served_is_named() -> None:
    with ScriptedBroker() as broker:
        connection = _connect(broker.port)
        with pytest.raises(Unsupported, match=r"^The broker does not support ELECT_LEADERS$"):
            connection.request("elect_leaders", {})
        assert connection.is_open
        connection.close()


def test_versions_without_one_in_common_are_reported() -> None:
    with ScriptedBroker({"create_topics": {}}, versions={"create_topics": 1}) as broker:
        connection = _connect(broker.port)
        with pytest.raises(Unsupported, match="serves CREATE_TOPICS in versions 1 to 1"):
            connection.request("create_topics", {})
        connection.close()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "closed before the response"),
        (b"\x00\x00", "closed before the response"),
        (b"\x00\x00\x00\x20half an answer", "closed before the response"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak the Kafka protocol"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "does not speak the Kafka protocol"),
        (b"\x15\x03\x01\x00\x02\x02\x50", "does not speak the Kafka protocol"),
        (struct.pack(">i", -1), "does not speak the Kafka protocol"),
        (struct.pack(">i", 0), "does not speak the Kafka protocol"),
        (struct.pack(">i", 2**31 - 1), "does not speak the Kafka protocol"),
        (struct.pack(">ii", 4, 99), "does not speak the Kafka protocol"),
        (struct.pack(">ii", 4, 1), "not a valid response"),
        (struct.pack(">ii", 12, 1) + b"\xff" * 8, "not a valid response|unknown error"),
        (struct.pack(">iih", 16, 1, 0) + b"\xff" * 10, "not a valid response"),
    ],
)
def test_peer_that_is_no_broker_is_one_line(raw: bytes, reason: str) -> None:
    with ScriptedBroker(raw=raw) as broker, pytest.raises(Exception, match=reason) as failure:
        _connect(broker.port)
    assert type(failure.value).__module__ == "barnabas.client.errors"
    assert _one_line(failure.value)


def test_refused_connection_names_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unreachable, match=f"^127.0.0.1:{port}: connection refused$"):
        _connect(port)


def test_host_that_does_not_exist_is_one_line() -> None:
    with pytest.raises(Unreachable, match=re.escape("no-such-host.invalid:1: ")) as failure:
        Connection(
            Address("no-such-host.invalid", 1), client_id="test", connect_timeout=PATIENCE, timeout=1.0
        )
    assert _one_line(failure.value)


def test_connection_that_failed_is_closed() -> None:
    def hang_up(request: object) -> Mapping[str, object]:
        raise OSError("the broker's side breaks")

    with ScriptedBroker({"metadata": hang_up}) as broker:
        connection = _connect(broker.port)
        with pytest.raises(Unreachable):
            connection.request("metadata", ALL)
        assert not connection.is_open


def test_greeting_has_no_more_time_than_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1])
        with pytest.raises(Unreachable, match=r"accepted the connection and did not respond for 0\.05 s"):
            Connection(address, client_id="test", connect_timeout=0.05, timeout=60.0)


def test_answer_that_drips_in_is_given_up() -> None:
    with (
        ScriptedBroker(torn=True, pause=0.02) as broker,
        pytest.raises(Unreachable, match="did not respond for"),
    ):
        _connect(broker.port, timeout=0.1)


def test_answer_that_does_not_come_is_given_up() -> None:
    given_up = threading.Event()

    def never(request: object) -> Mapping[str, object]:
        given_up.wait(PATIENCE)
        return {}

    with ScriptedBroker({"metadata": never}) as broker:
        connection = _connect(broker.port)
        connection._timeout = 0.1
        with pytest.raises(TimedOut, match=r"did not answer METADATA in 0\.1 s$"):
            connection.request("metadata", ALL)
        given_up.set()
        assert not connection.is_open
