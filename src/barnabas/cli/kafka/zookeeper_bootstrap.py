"""`--zookeeper host:port/chroot` of Kafka 2.x: the brokers registered there are the bootstrap servers.

The tool first checks that a ZooKeeper answers at the address. So the usual case fails at once: nothing
listens there, because Barnabas has its own metadata store. kazoo is optional.
"""

import json
import socket
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 2.0
_PORT = 2181
_FULL_WIDTH_COLON = "\uff1a"
_WORDS = (b"Zookeeper version", b"is not executed because")
"""The start of a ZooKeeper's answer to `srvr`: its version, or that the command is not allowed."""


def bootstrap_of(zookeeper: str) -> str:
    """The addresses of the brokers, separated by commas. Raises ToolError with a hint."""
    hosts, chroot = _parts(zookeeper)
    if not any(_answers(host) for host in hosts):
        raise ToolError(
            f"No ZooKeeper answers at {','.join(hosts)}. Barnabas keeps its metadata in an embedded store: "
            "use --bootstrap-server localhost:9092 instead of --zookeeper"
        )
    addresses = list(_registered(",".join(hosts), chroot))
    if not addresses:
        raise ToolError(f"No broker with a plaintext listener is registered in ZooKeeper at {zookeeper}")
    return ",".join(addresses)


def address_of(registration: bytes) -> str | None:
    """The plaintext address in a broker's registration (`/brokers/ids/N`). Returns None if it has none."""
    try:
        broker = json.loads(registration)
        protocols = broker.get("listener_security_protocol_map", {})
        for endpoint in broker.get("endpoints", []):
            listener, _, address = str(endpoint).partition("://")
            if protocols.get(listener, listener) == "PLAINTEXT":
                return address
        host, port = broker.get("host"), broker.get("port")
    except (ValueError, AttributeError, TypeError):
        return None
    return f"{host}:{port}" if host and isinstance(port, int) and port > 0 else None


def _parts(zookeeper: str) -> tuple[list[str], str]:
    """`a:1,b:2/kafka` -> [a:1, b:2], /kafka. Also accepts the full-width colon."""
    text, slash, chroot = zookeeper.replace(_FULL_WIDTH_COLON, ":").strip().partition("/")
    hosts = [host.strip() for host in text.split(",") if host.strip()]
    if not hosts:
        raise ToolError(f"{zookeeper!r} is not an address of ZooKeeper: expected host:port/chroot")
    hosts = [host if ":" in host else f"{host}:{_PORT}" for host in hosts]
    for host in hosts:
        if not host.rpartition(":")[2].isdigit():
            raise ToolError(f"{host!r} is not an address of ZooKeeper: expected host:port")
    return hosts, (slash + chroot).rstrip("/")


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with suppress(OSError, OverflowError):
        with socket.create_connection((host.strip("[]"), int(port)), _PATIENCE) as connection:
            connection.sendall(b"srvr")
            answer = connection.recv(256)
        return any(word in answer for word in _WORDS)
    return False


def _registered(hosts: str, chroot: str) -> "Iterator[str]":
    try:
        kazoo, exceptions, threads = map(
            import_module, ("kazoo.client", "kazoo.exceptions", "kazoo.handlers.threading")
        )
    except ImportError:
        raise ToolError(
            f"To find the brokers in the ZooKeeper at {hosts}, install kazoo (pip install kazoo), "
            "or name one of them with --bootstrap-server host:port"
        ) from None
    client = kazoo.KazooClient(hosts=hosts + chroot, timeout=_PATIENCE, read_only=True)
    try:
        client.start(timeout=_PATIENCE)
        for broker in sorted(client.get_children("/brokers/ids"), key=int):
            address = address_of(client.get(f"/brokers/ids/{broker}")[0])
            if address is not None:
                yield address
    except exceptions.NoNodeError:
        return
    except (exceptions.KazooException, threads.KazooTimeoutError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise ToolError(f"Cannot read the brokers from ZooKeeper at {hosts}: {reason}") from error
    finally:
        client.stop()
        client.close()
