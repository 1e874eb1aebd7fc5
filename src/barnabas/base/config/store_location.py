"""Where the embedded metadata store is, if `barnabas.metadata.store.path` does not say it.

A broker keeps it in its first log directory. Brokers of Kafka's quickstart share one: in its property files,
broker N has `log.dirs=<directory>-N` and all have the same `zookeeper.connect`. So broker N uses the store of
`<directory>` if

- `broker.id` (or `node.id`) is set to N, 1 or more,
- its first log directory has a name that ends in `-N`, and
- `zookeeper.connect` is set, and names this host only.

The result depends on the configuration alone, not on which broker starts first.
"""

from pathlib import Path

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


def store_directory(log_dir: Path, node_id: str | None, zookeeper_connect: str | None) -> Path:
    """The log directory that holds the store: `log_dir`, or the one beside it."""
    number = (node_id or "").strip()
    suffix = f"-{number}"
    if not number.isdecimal() or number == "0" or not log_dir.name.endswith(suffix):
        return log_dir
    name = log_dir.name.removesuffix(suffix)
    return log_dir.with_name(name) if name and _is_local(zookeeper_connect) else log_dir


def _is_local(zookeeper_connect: str | None) -> bool:
    hosts = (zookeeper_connect or "").partition("/")[0].split(",")
    return all(_host(each.strip()) in _LOCAL for each in hosts)


def _host(address: str) -> str:
    host, colon, port = address.rpartition(":")
    return host if colon and port.isdecimal() else address
