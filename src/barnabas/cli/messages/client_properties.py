"""Translates properties of Kafka's Java clients for librdkafka, with the defaults of the Java clients.

A property that means the same in both is passed on. One with another name or format is translated. One that
has no effect in librdkafka is dropped. An unknown one is passed on, and `librdkafka_clients` logs a warning
if librdkafka does not know it, as Java's log does. Invalid values raise BadSettings, with the text of the
Java client where it has one.

Keys must go to the partitions that the Java client would choose: the partitioner is always murmur2.
"""

from collections.abc import Callable, Iterable, Mapping

from barnabas.cli.messages.client_security import secured
from barnabas.client.errors import BadSettings

Configuration = dict[str, str]

_ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_COOPERATIVE = "cooperative-sticky"
_LONGEST_TIMEOUT = 300_000
"""librdkafka's own bound for `socket.timeout.ms`."""
_LONGEST_LINGER = 900_000
_TRANSACTION_TIMEOUT = 60_000

_MEANINGLESS = frozenset(
    {
        "key.serializer", "value.serializer", "key.deserializer", "value.deserializer", "interceptor.classes",
        "metric.reporters", "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms",
        "auto.include.jmx.reporter", "partitioner.adaptive.partitioning.enable", "config.providers",
        "partitioner.availability.timeout.ms", "max.poll.records", "exclude.internal.topics",
        "security.providers", "metadata.max.idle.ms", "socket.connection.setup.timeout.max.ms",
        "bootstrap.controllers", "default.api.timeout.ms", "transaction.two.phase.commit.enable",
        "share.acknowledgement.mode", "share.acquire.mode", "compression.gzip.level", "compression.lz4.level",
        "compression.zstd.level", "partitioner.ignore.keys", "compression.level",
    }
)  # fmt: skip
_PRODUCER_ONLY = frozenset(
    {
        "acks", "batch.size", "buffer.memory", "compression.type", "delivery.timeout.ms",
        "enable.idempotence", "linger.ms", "max.block.ms", "max.in.flight.requests.per.connection",
        "max.request.size", "partitioner.class", "retries", "transactional.id", "transaction.timeout.ms",
    }
)  # fmt: skip
_CONSUMER_ONLY = frozenset(
    {
        "allow.auto.create.topics", "auto.commit.interval.ms", "auto.offset.reset", "check.crcs",
        "enable.auto.commit", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes", "group.id",
        "group.instance.id", "group.protocol", "group.remote.assignor", "heartbeat.interval.ms",
        "isolation.level", "max.partition.fetch.bytes", "max.poll.interval.ms",
        "partition.assignment.strategy", "session.timeout.ms",
    }
)  # fmt: skip

_PRODUCER_DEFAULTS = {
    "acks": "all",
    "batch.size": "16384",
    "buffer.memory": "33554432",
    "delivery.timeout.ms": "120000",
    "linger.ms": "5",
    "max.block.ms": "60000",
    "max.in.flight.requests.per.connection": "5",
    "max.request.size": "1048576",
    "request.timeout.ms": "30000",
}
_CONSUMER_DEFAULTS = {
    "allow.auto.create.topics": "true",
    "auto.offset.reset": "latest",
    "check.crcs": "true",
    "isolation.level": "read_uncommitted",
    "request.timeout.ms": "30000",
    # librdkafka stops fetching at 100 000 queued records and checks again after a second.
    "queued.min.messages": "500000",
    "fetch.queue.backoff.ms": "20",
}


def parse_pairs(words: Iterable[str]) -> dict[str, str]:
    """`key=value` as on the command line; a key alone has the value ""."""
    pairs = (word.partition("=") for word in words)
    return {key: value for key, _, value in pairs}


def producer_configuration(properties: Mapping[str, str]) -> Configuration:
    given = {key: value.strip() for key, value in properties.items() if key not in _CONSUMER_ONLY}
    full = {**_PRODUCER_DEFAULTS, **given}
    found = _translated(full)
    # Kafka's default partitioner: a key always goes to the same partition; records without a key to any.
    found["partitioner"] = "random" if _ignores_keys(full) else "murmur2_random"
    found["enable.idempotence"] = _idempotence(given)
    codec = full.get("compression.type", "none").lower()
    level = full.get(f"compression.{codec}.level", full.get("compression.level"))
    if level is not None:
        found["compression.level"] = str(_number("compression.level", level))
    _check_delivery(full)
    if "transactional.id" in found:
        # librdkafka requires the delivery timeout to be below the transaction timeout.
        longest = int(found.get("transaction.timeout.ms", _TRANSACTION_TIMEOUT))
        found["message.timeout.ms"] = str(min(int(found["message.timeout.ms"]), longest))
    return found


def consumer_configuration(properties: Mapping[str, str]) -> Configuration:
    given = {key: value.strip() for key, value in properties.items() if key not in _PRODUCER_ONLY}
    found = _translated({**_CONSUMER_DEFAULTS, **given})
    if found.get("group.protocol", "classic") == "classic":
        found.setdefault("partition.assignment.strategy", "range")
    # A fetch may wait. librdkafka requires the request timeout to be a second longer.
    wait, patience = int(found.get("fetch.wait.max.ms", "500")), int(found["socket.timeout.ms"])
    found["socket.timeout.ms"] = str(min(max(patience, wait + 1000), _LONGEST_TIMEOUT))
    return found


def _translated(properties: Mapping[str, str]) -> Configuration:
    found: Configuration = {}
    rest = secured(properties, found)
    for key, value in rest.items():
        if key in _MEANINGLESS or value == "":
            continue
        translate = _TRANSLATIONS.get(key)
        found.update(translate(key, value) if translate else {key: value})
    return found


# --- forms of values ---------------------------------------------------------------------------------------


def _number(key: str, value: str, lowest: int = -1) -> int:
    try:
        number = int(value)
    except ValueError:
        raise BadSettings(
            f"Invalid value {value} for configuration {key}: Not a number of type INT"
        ) from None
    if number < lowest:
        raise BadSettings(f"Invalid value {value} for configuration {key}: Value must be at least {lowest}")
    return number


def _one_of(*allowed: str) -> Callable[[str, str], Configuration]:
    def check(key: str, value: str) -> Configuration:
        if value.lower() not in allowed:
            listed = ", ".join(allowed)
            raise BadSettings(
                f"Invalid value {value} for configuration {key}: String must be one of: {listed}"
            )
        return {key: value.lower()}

    return check


def _flag(key: str, value: str) -> Configuration:
    if value.lower() not in ("true", "false"):
        raise BadSettings(
            f"Invalid value {value} for configuration {key}: Expected value to be either true or false"
        )
    return {key: value.lower()}


def _renamed(*names: str, lowest: int = 0, highest: int = 2**31 - 1) -> Callable[[str, str], Configuration]:
    """A number under other names, clamped to the range of librdkafka."""

    def translate(key: str, value: str) -> Configuration:
        number = min(max(_number(key, value), lowest), highest)
        return {name: str(number) for name in names}

    return translate


def _linger(key: str, value: str) -> Configuration:
    return {"linger.ms": str(min(_number(key, value, 0), _LONGEST_LINGER))}


def _buffer(key: str, value: str) -> Configuration:
    return {"queue.buffering.max.kbytes": str(max(1, _number(key, value, 0) // 1024))}


def _offset_reset(key: str, value: str) -> Configuration:
    if value.lower() not in ("earliest", "latest", "none"):
        raise BadSettings(f"Invalid value {value} for configuration {key}: expected earliest, latest or none")
    return {key: "error" if value.lower() == "none" else value.lower()}


def _assignors(key: str, value: str) -> Configuration:
    names = []
    for word in value.split(","):
        name = word.strip().rpartition(".")[2]
        if name not in _ASSIGNORS and name not in _ASSIGNORS.values():
            known = ", ".join(_ASSIGNORS)
            raise BadSettings(f"Invalid value {word.strip()} for configuration {key}: expected {known}")
        names.append(_ASSIGNORS.get(name, name))
    # librdkafka takes eager assignors or the cooperative one, not both: the first decides.
    eager = names[0] != _COOPERATIVE
    return {key: ",".join(name for name in names if (name != _COOPERATIVE) is eager)}


def _request_timeout(key: str, value: str) -> Configuration:
    number = _number(key, value, 0)
    bounded = str(min(max(number, 10), _LONGEST_TIMEOUT))
    return {"socket.timeout.ms": bounded, "request.timeout.ms": str(min(max(number, 1), 900_000))}


_TRANSLATIONS: dict[str, Callable[[str, str], Configuration]] = {
    "acks": _one_of("all", "-1", "0", "1"),
    "allow.auto.create.topics": _flag,
    "auto.offset.reset": _offset_reset,
    "batch.size": _renamed("batch.size", lowest=1),
    "buffer.memory": _buffer,
    "check.crcs": _flag,
    "compression.type": _one_of("none", "gzip", "snappy", "lz4", "zstd"),
    "connections.max.idle.ms": _renamed("connections.max.idle.ms"),
    "delivery.timeout.ms": _renamed("message.timeout.ms", lowest=1),
    "enable.auto.commit": _flag,
    "fetch.max.wait.ms": _renamed("fetch.wait.max.ms", highest=_LONGEST_TIMEOUT - 1000),
    "fetch.min.bytes": _renamed("fetch.min.bytes", lowest=1, highest=100_000_000),
    "group.protocol": _one_of("classic", "consumer"),
    "isolation.level": _one_of("read_committed", "read_uncommitted"),
    "linger.ms": _linger,
    "max.block.ms": _renamed("topic.metadata.propagation.max.ms", highest=3_600_000),
    "max.request.size": _renamed("message.max.bytes", lowest=1000, highest=1_000_000_000),
    "metadata.max.age.ms": _renamed("topic.metadata.refresh.interval.ms", "metadata.max.age.ms", lowest=10),
    "partition.assignment.strategy": _assignors,
    "partitioner.class": lambda key, value: {},
    "receive.buffer.bytes": _renamed("socket.receive.buffer.bytes", highest=100_000_000),
    "request.timeout.ms": _request_timeout,
    "retry.backoff.ms": _renamed("retry.backoff.ms", lowest=1, highest=300_000),
    "send.buffer.bytes": _renamed("socket.send.buffer.bytes", highest=100_000_000),
    "socket.connection.setup.timeout.ms": _renamed("socket.connection.setup.timeout.ms", lowest=1000),
}


# --- what depends on several properties --------------------------------------------------------------------


def _ignores_keys(properties: Mapping[str, str]) -> bool:
    return (
        properties.get("partitioner.ignore.keys", "false").lower() == "true"
        or properties.get("partitioner.class", "").rpartition(".")[2] == "RoundRobinPartitioner"
    )


def _idempotence(given: Mapping[str, str]) -> str:
    """On, as in the Java client, unless it is not set and another property conflicts with it."""
    if "enable.idempotence" in given:
        return _flag("enable.idempotence", given["enable.idempotence"])["enable.idempotence"]
    against = (
        given.get("acks", "all").lower() not in ("all", "-1")
        or given.get("retries", "1") == "0"
        or _number(
            "max.in.flight.requests.per.connection", given.get("max.in.flight.requests.per.connection", "5")
        )
        > 5
    )
    return "false" if against else "true"


def _check_delivery(properties: Mapping[str, str]) -> None:
    total, linger, request = (
        _number(key, properties[key]) for key in ("delivery.timeout.ms", "linger.ms", "request.timeout.ms")
    )
    if total < linger + request:
        raise BadSettings(
            "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms"
        )
