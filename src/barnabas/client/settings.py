"""What a tool's `--bootstrap-server` and `--command-config` say about reaching a cluster.

Keys are those of Kafka's admin client; keys of no meaning here (serializers, metrics reporters) are left
alone, as Kafka's client does with a warning. Times are in seconds inside.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from barnabas.base.config.properties import load_properties
from barnabas.base.errors import KafkaError
from barnabas.client.address import Address, parse_addresses
from barnabas.client.errors import BadSettings

PATIENCE = 1.0
"""How long a broker that refuses connections is taken for one that is just starting, in seconds."""
CONNECT_TIMEOUT = 5.0
"""How long a broker may take to accept a connection, and to say which APIs it serves, in seconds."""
_LONGEST_MS = 2**31 - 1
"""Kafka keeps these times in an int."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    bootstrap: tuple[Address, ...]
    client_id: str = "barnabas"
    request_timeout: float = 30.0
    """The longest wait for one answer."""
    api_timeout: float = 30.0
    """The longest a call is tried again while the broker says that it may."""
    connect_timeout: float = CONNECT_TIMEOUT
    patience: float = PATIENCE
    receive_buffer: int | None = None
    """Bytes of the socket's buffer; None leaves it to the system, which grows it as needed."""

    @classmethod
    def of(cls, bootstrap: str | None, properties: Mapping[str, str] | None = None) -> "ClientSettings":
        """`bootstrap` wins over `bootstrap.servers`. Raises BadSettings."""
        given = dict(properties or {})
        servers = bootstrap or given.get("bootstrap.servers")
        if not servers:
            raise BadSettings("No broker is named: give --bootstrap-server host:port")
        protocol = given.get("security.protocol", "PLAINTEXT").upper()
        if protocol != "PLAINTEXT":
            raise BadSettings(
                f"security.protocol={protocol}: admin requests are sent in plain text only so far"
            )
        return cls(
            tuple(parse_addresses(servers)),
            client_id=given.get("client.id", "barnabas"),
            request_timeout=_seconds(given, "request.timeout.ms", 30.0),
            api_timeout=_seconds(given, "default.api.timeout.ms", 30.0),
            connect_timeout=_seconds(given, "socket.connection.setup.timeout.ms", CONNECT_TIMEOUT),
            patience=PATIENCE,
        )


def read_properties(path: str) -> dict[str, str]:
    """A file of client properties. Raises BadSettings."""
    try:
        return load_properties(Path(path))
    except OSError as error:
        raise BadSettings(f"{path}: {error.strerror or error}") from error
    except KafkaError as error:
        raise BadSettings(error.message) from error


def _seconds(properties: Mapping[str, str], key: str, default: float) -> float:
    if key not in properties:
        return default
    try:
        milliseconds = int(properties[key])
    except ValueError:
        raise BadSettings(f"{key}={properties[key]}: expected milliseconds") from None
    if milliseconds <= 0:
        raise BadSettings(f"{key}={milliseconds}: expected more than 0 milliseconds")
    if milliseconds > _LONGEST_MS:
        raise BadSettings(f"{key}={milliseconds}: expected at most {_LONGEST_MS} milliseconds")
    return milliseconds / 1000
