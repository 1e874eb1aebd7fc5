"""Parses addresses of brokers: `host:port`, separated by commas, IPv6 in brackets."""

import re
from typing import NamedTuple

from barnabas.client.errors import BadSettings

_ADDRESS = re.compile(
    r"^(?:[a-zA-Z][a-zA-Z0-9_+.-]*://)?(?:\[(?P<v6>[0-9a-fA-F:.%]+)\]|(?P<host>[^:/\[\]\s]+)):(?P<port>\d+)$"
)


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> list[Address]:
    """Raises BadSettings, also for an empty list."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise BadSettings("No broker is named: expected host:port, several with commas")
    return [_parse(word) for word in words]


def _parse(word: str) -> Address:
    found = _ADDRESS.match(word)
    if found is None:
        raise BadSettings(f"{word!r} is not an address of a broker: expected host:port, as in localhost:9092")
    port = int(found["port"])
    if not 0 < port < 65536:
        raise BadSettings(f"{word!r} is not an address of a broker: ports go from 1 to 65535")
    return Address(found["v6"] or found["host"], port)
