"""`kafka.*` options as settings: those of Kafka's consumer and producer that have a meaning here.

Keys come without their `kafka.` and are compared as they are written, as Kafka does. A key that Kafka knows
and that has no meaning here (`linger.ms`: batches are as full as the rows make them) is ignored. An unknown
key is named in a warning, once. Security other than plain text is refused, never ignored.
"""

import dataclasses
import logging
from collections.abc import Mapping
from typing import TypeVar

from barnabas.client.errors import BadSettings
from barnabas.client.settings import ClientSettings
from barnabas.records.compression import CODEC_NAMES
from barnabas.spark.wire.partition_fetch import READ_COMMITTED, READ_UNCOMMITTED, FetchSettings
from barnabas.spark.wire.produce_settings import ACKS_ALL, MOST_IN_FLIGHT, ProduceSettings

CLIENT_ID = "barnabas-spark"
API_TIMEOUT = 60.0
"""Of Kafka's consumer and producer; its admin client has the same."""
_PATIENCE = 1.0
_LARGEST = 2**31 - 1
_ISOLATION = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}
_ACKS = {"all": ACKS_ALL, "-1": ACKS_ALL, "0": 0, "1": 1}
_SECURITY = ("security.", "sasl.", "ssl.")

_OF_CLIENTS = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "request.timeout.ms",
        "default.api.timeout.ms",
        "receive.buffer.bytes",
        "socket.connection.setup.timeout.ms",
        "security.protocol",
        "retry.backoff.ms",
    }
)
_OF_CONSUMERS = frozenset(
    {
        "isolation.level",
        "fetch.max.bytes",
        "max.partition.fetch.bytes",
        "fetch.min.bytes",
        "fetch.max.wait.ms",
        "check.crcs",
        "client.rack",
    }
)
_OF_PRODUCERS = frozenset(
    {
        "acks",
        "compression.type",
        "batch.size",
        "delivery.timeout.ms",
        "max.in.flight.requests.per.connection",
        "buffer.memory",
        "max.request.size",
        "enable.idempotence",
        "transaction.timeout.ms",
    }
)
_WITHOUT_MEANING = frozenset(
    {
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "auto.include.jmx.reporter",
        "client.dns.lookup",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "connections.max.idle.ms",
        "enable.metrics.push",
        "exclude.internal.topics",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "heartbeat.interval.ms",
        "linger.ms",
        "max.block.ms",
        "max.poll.interval.ms",
        "max.poll.records",
        "metadata.max.age.ms",
        "metadata.max.idle.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retries",
        "retry.backoff.max.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
    }
)
_KNOWN = _OF_CLIENTS | _OF_CONSUMERS | _OF_PRODUCERS | _WITHOUT_MEANING

_log = logging.getLogger(__name__)
_warned: set[str] = set()
T = TypeVar("T")


def client_settings(properties: Mapping[str, str]) -> ClientSettings:
    """How to reach the cluster. Raises BadSettings."""
    _check_security(properties)
    _warn_of_unknown(properties)
    servers = properties.get("bootstrap.servers", "").strip()
    if not servers:
        raise BadSettings(
            "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer or producer"
        )
    given = {"default.api.timeout.ms": str(int(API_TIMEOUT * 1000)), "client.id": CLIENT_ID, **properties}
    settings = ClientSettings.of(servers, given)
    size = _number(properties, "receive.buffer.bytes", -1, least=-1)
    return dataclasses.replace(settings, receive_buffer=size if size > 0 else None, patience=_PATIENCE)


def fetch_settings(properties: Mapping[str, str], *, poll_timeout: float | None = None) -> FetchSettings:
    """How partitions are read; `poll_timeout` is an option of its own, in seconds. Raises BadSettings."""
    basis = FetchSettings()
    of_answer = _number(properties, "fetch.max.bytes", basis.max_bytes)
    of_partition = _number(properties, "max.partition.fetch.bytes", basis.partition_max_bytes)
    return FetchSettings(
        isolation=_word(properties, "isolation.level", _ISOLATION, READ_UNCOMMITTED),
        max_bytes=of_answer,
        partition_max_bytes=min(of_answer, of_partition),
        min_bytes=_number(properties, "fetch.min.bytes", basis.min_bytes),
        max_wait_ms=_number(properties, "fetch.max.wait.ms", basis.max_wait_ms),
        poll_timeout=basis.poll_timeout if poll_timeout is None else poll_timeout,
        retry_backoff=_seconds(properties, "retry.backoff.ms", basis.retry_backoff),
        check_crcs=_flag(properties, "check.crcs", True),
        rack=properties.get("client.rack", ""),
    )


def produce_settings(
    properties: Mapping[str, str], *, transactional_id: str | None = None
) -> ProduceSettings:
    """How rows are written. The transactional id is the sink's, never the user's. Raises BadSettings."""
    if "transactional.id" in properties:
        raise BadSettings(
            "kafka.transactional.id is not supported: the sink names its transactions by query and task; "
            "see the option transactionalIdPrefix"
        )
    basis = ProduceSettings()
    acks = _word(properties, "acks", _ACKS, ACKS_ALL)
    in_flight = _number(properties, "max.in.flight.requests.per.connection", MOST_IN_FLIGHT)
    codec = _word(
        properties, "compression.type", {name: number for number, name in enumerate(CODEC_NAMES)}, basis.codec
    )
    # Kafka turns idempotence off, silently, if other settings exclude it and it was not set explicitly.
    fits = acks == ACKS_ALL and in_flight <= MOST_IN_FLIGHT
    return ProduceSettings(
        acks=acks,
        codec=codec,
        batch_bytes=_number(properties, "batch.size", basis.batch_bytes, least=0) or 1,
        request_timeout=_seconds(properties, "request.timeout.ms", basis.request_timeout),
        delivery_timeout=_seconds(properties, "delivery.timeout.ms", basis.delivery_timeout),
        retry_backoff=_seconds(properties, "retry.backoff.ms", basis.retry_backoff),
        max_in_flight=in_flight,
        max_request_size=_number(properties, "max.request.size", basis.max_request_size),
        buffer_memory=_number(properties, "buffer.memory", basis.buffer_memory, most=2**63 - 1),
        is_idempotent=_flag(properties, "enable.idempotence", fits or transactional_id is not None),
        transactional_id=transactional_id,
        transaction_timeout_ms=_number(properties, "transaction.timeout.ms", basis.transaction_timeout_ms),
    )


def _check_security(properties: Mapping[str, str]) -> None:
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol != "PLAINTEXT":
        raise BadSettings(
            f"kafka.security.protocol={protocol} is not supported yet: only PLAINTEXT listeners can be used"
        )


def _warn_of_unknown(properties: Mapping[str, str]) -> None:
    """`sasl.*` and `ssl.*` without a protocol that uses them mean nothing, to Kafka either."""
    unknown = sorted(
        key
        for key in properties
        if key not in _KNOWN and not key.startswith(_SECURITY) and key != "transactional.id"
    )
    new = [key for key in unknown if key not in _warned]
    if new:
        _warned.update(new)
        _log.warning("Ignored unknown Kafka settings: %s", ", ".join(f"kafka.{key}" for key in new))


def _number(
    properties: Mapping[str, str], key: str, default: int, *, least: int = 1, most: int = _LARGEST
) -> int:
    if key not in properties:
        return default
    try:
        value = int(properties[key].strip())
    except ValueError:
        raise BadSettings(f"kafka.{key}={properties[key]}: expected a whole number") from None
    if not least <= value <= most:
        raise BadSettings(f"kafka.{key}={value}: expected a number from {least} to {most}")
    return value


def _seconds(properties: Mapping[str, str], key: str, default: float) -> float:
    return _number(properties, key, round(default * 1000)) / 1000


def _flag(properties: Mapping[str, str], key: str, default: bool) -> bool:
    return _word(properties, key, {"true": True, "false": False}, default)


def _word(properties: Mapping[str, str], key: str, words: Mapping[str, T], default: T) -> T:
    if key not in properties:
        return default
    value = properties[key].strip().lower()
    if value not in words:
        raise BadSettings(f"kafka.{key}={properties[key]}: expected one of {', '.join(words)}")
    return words[value]
