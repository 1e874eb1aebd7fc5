import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from barnabas.cli.kafka.zookeeper_bootstrap import address_of, bootstrap_of
from barnabas.cli.tool_errors import ToolError

REGISTRATION = {
    "listener_security_protocol_map": {"INSIDE": "SASL_SSL", "OUTSIDE": "PLAINTEXT"},
    "endpoints": ["INSIDE://in.example:9093", "OUTSIDE://out.example:9092"],
    "jmx_port": -1,
    "host": None,
    "timestamp": "1600000000000",
    "port": -1,
    "version": 4,
}


@pytest.mark.parametrize(
    ("registration", "address"),
    [
        (REGISTRATION, "out.example:9092"),
        ({"endpoints": ["PLAINTEXT://a:1"], "host": "b", "port": 2, "version": 2}, "a:1"),
        ({"host": "old.example", "port": 9092, "version": 1}, "old.example:9092"),
        ({"endpoints": ["SSL://a:1"], "host": None, "port": -1}, None),
        ([], None),
        ("text", None),
    ],
)
def test_plaintext_address_of_a_registration(registration: object, address: str | None) -> None:
    assert address_of(json.dumps(registration).encode()) == address


def test_registration_that_is_no_json_has_no_address() -> None:
    assert address_of(b"\xff not json") is None


@contextmanager
def _peer(answer: bytes) -> Iterator[str]:
    """A listener that sends this to one connection."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(16)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "127.0.0.1\uff1a1", "127.0.0.1:1/kafka", "127.0.0.1:1,127.0.0.1:2"]
)
def test_unreachable_zookeeper_is_reported_at_once_with_a_hint(address: str) -> None:
    with pytest.raises(ToolError) as error:
        bootstrap_of(address)
    text = str(error.value)
    assert text.startswith("No ZooKeeper answers at 127.0.0.1:1")
    assert "embedded store" in text
    assert "--bootstrap-server localhost:9092" in text
    assert "\n" not in text


def test_another_server_at_the_address_is_no_zookeeper() -> None:
    with (
        _peer(b"HTTP/1.1 400 Bad Request\r\n") as address,
        pytest.raises(ToolError, match="No ZooKeeper answers"),
    ):
        bootstrap_of(address)


@pytest.mark.parametrize("address", ["", "/kafka", "host:port", "host:1x"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ToolError, match="is not an address of ZooKeeper"):
        bootstrap_of(address)


def test_real_zookeeper_without_kazoo_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kazoo.client", None)  # Python's own mark for "refuse to import"
    with _peer(b"Zookeeper version: 3.8.4\n") as address, pytest.raises(ToolError, match="pip install kazoo"):
        bootstrap_of(address)


class _NoNode(Exception):
    pass


def _install_kazoo(monkeypatch: pytest.MonkeyPatch, nodes: dict[str, Any], requested: list[str]) -> None:
    class Client:
        def __init__(self, hosts: str, **how: object) -> None:
            requested.append(hosts)

        def start(self, timeout: float) -> None: ...
        def stop(self) -> None: ...
        def close(self) -> None: ...

        def get_children(self, path: str) -> list[str]:
            if not nodes:
                raise _NoNode
            return list(nodes)

        def get(self, path: str) -> tuple[bytes, None]:
            return json.dumps(nodes[path.rpartition("/")[2]]).encode(), None

    names = ("kazoo", "kazoo.client", "kazoo.exceptions", "kazoo.handlers", "kazoo.handlers.threading")
    modules = {name: ModuleType(name) for name in names}
    contents = {
        "KazooClient": Client,
        "KazooException": _NoNode,
        "NoNodeError": _NoNode,
        "KazooTimeoutError": TimeoutError,
    }
    for name, module in modules.items():
        for key, value in contents.items():
            setattr(module, key, value)
        monkeypatch.setitem(sys.modules, name, module)


def test_brokers_that_are_registered_are_the_bootstrap_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[str] = []
    _install_kazoo(monkeypatch, {"10": {"host": "b", "port": 2}, "9": {"host": "a", "port": 1}}, requested)
    with _peer(b"srvr is not executed because it is not in the whitelist.") as address:
        assert bootstrap_of(f"{address}/kafka") == "a:1,b:2"
    assert requested == [f"{address}/kafka"]


def test_zookeeper_without_brokers_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    _install_kazoo(monkeypatch, {}, [])
    with (
        _peer(b"Zookeeper version: 3.8.4\n") as address,
        pytest.raises(ToolError, match="No broker with a plaintext listener"),
    ):
        bootstrap_of(address)
