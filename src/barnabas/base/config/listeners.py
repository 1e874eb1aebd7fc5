"""Listeners: the addresses that a broker binds and those that it advertises to clients.

`NAME://host:port`; an empty host is every interface, `[::1]` an IPv6 address. A name maps to a security
protocol by `listener.security.protocol.map`. Rules as in Kafka: names differ; ports too, except for one IPv4
and one IPv6 address on the same port, and port 0 (any free port).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from barnabas.base.config.keys import ConfigError

PLAINTEXT = "PLAINTEXT"
SECURITY_PROTOCOLS = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SERVED_PROTOCOLS = (PLAINTEXT,)

_HOST_CHARACTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-%._:")


@dataclass(frozen=True, slots=True)
class Listener:
    name: str
    security_protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_protocol_map(text: str) -> dict[str, str]:
    key = "listener.security.protocol.map"
    protocols: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = (part.strip() for part in pair.rpartition(":"))
        if not colon or not name or protocol.upper() not in SECURITY_PROTOCOLS:
            allowed = f"a list of NAME:PROTOCOL with a protocol of {', '.join(SECURITY_PROTOCOLS)}"
            raise ConfigError(key, text, allowed)
        protocols[name.upper()] = protocol.upper()
    return protocols


def parse_listeners(key: str, entries: Sequence[str], protocols: Mapping[str, str]) -> tuple[Listener, ...]:
    """The listeners of one key. Names are case-insensitive and come out in upper case."""
    listeners = tuple(_parse_listener(key, entry, protocols) for entry in entries)
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        raise ConfigError(key, ",".join(entries), "a list in which every listener has a different name")
    return listeners


def _parse_listener(key: str, entry: str, protocols: Mapping[str, str]) -> Listener:
    name, _, address = entry.rpartition("://")
    host, _, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not (
        name
        and port.isascii()
        and port.isdecimal()
        and int(port) <= 65535
        and _HOST_CHARACTERS.issuperset(host)
    ):
        raise ConfigError(key, entry, "a list of NAME://host:port with a port from 0 to 65535")
    name = name.upper()
    protocol = protocols.get(name)
    if protocol is None:
        allowed = (
            f"a listener named in listener.security.protocol.map, which has {', '.join(sorted(protocols))}"
        )
        raise ConfigError(key, entry, allowed)
    return Listener(name, protocol, host, int(port))


def require_served_protocols(key: str, listeners: Sequence[Listener]) -> None:
    for listener in listeners:
        if listener.security_protocol not in SERVED_PROTOCOLS:
            allowed = (
                f"a listener of protocol {' or '.join(SERVED_PROTOCOLS)}, the only one served so far"
                f" ({listener.name} is {listener.security_protocol})"
            )
            raise ConfigError(key, listener, allowed)


def require_distinct_ports(key: str, listeners: Sequence[Listener]) -> None:
    for one, other in combinations(listeners, 2):
        if one.port == other.port and one.port != 0 and not _are_both_stacks(one.host, other.host):
            allowed = "a list in which every port is different, unless one address is IPv4 and the other IPv6"
            raise ConfigError(key, ",".join(map(str, listeners)), allowed)


def _are_both_stacks(one: str, other: str) -> bool:
    def is_v4(host: str) -> bool:
        return host.count(".") == 3 and host.replace(".", "").isdecimal()

    return (is_v4(one) and ":" in other) or (is_v4(other) and ":" in one)
