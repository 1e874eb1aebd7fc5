"""The settings of the client, from `--bootstrap-server` and `--command-config`.

Keys are those of Kafka's admin client. Keys without effect here (serializers, metrics reporters) are ignored,
as Kafka's client does with a warning. Times are in seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from barnabas.base.config.properties import load_properties
from barnabas.base.errors import KafkaError
from barnabas.client.address import Address, parse_addresses
from barnabas.client.errors import BadSettings

PATIENCE = 1.0
"""How long refused connections are retried, in seconds: the broker may be starting."""
CONNECT_TIMEOUT = 5.0
"""The timeout for a connection and for the ApiVersions response, in seconds."""
_LONGEST_MS = 2**31 - 1
"""Kafka keeps these times in an int."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    bootstrap: tuple[Address, ...]
    client_id: str = "barnabas"
    request_timeout: float = 30.0
    """The timeout of one request."""
    api_timeout: float = 30.0
    """How long retriable errors are retried."""
    connect_timeout: float = CONNECT_TIMEOUT
    patience: float = PATIENCE
    receive_buffer: int | None = None
    """The size of the socket buffer in bytes. None leaves it to the operating system."""

    @classmethod
    def of(cls, bootstrap: str | None, properties: Mapping[str, str] | None = None) -> "ClientSettings":
        """`bootstrap` overrides `bootstrap.servers`. Raises BadSettings."""
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
    """Reads a file of client properties. Raises BadSettings."""
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
