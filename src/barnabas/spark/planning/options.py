"""Every option of the source of Spark's Kafka connector, read and checked (a sink's are in `sink_options`).

Names are case-insensitive; defaults, refusals and their messages are the connector's. Options of Kafka's own
clients carry the prefix `kafka.` and are kept without it. What only deserves a warning is returned by
`warnings`. The caller logs it once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.spark.planning.limits import FROM_EARLIEST, FROM_LATEST, Limit, check_batch_limits, limit_of
from barnabas.spark.planning.option_values import (
    BadOption,
    duration_ms,
    flag,
    positive,
    positive_int,
    whole,
)
from barnabas.spark.planning.subscription import Subscription, subscription_of

STREAM_GROUP_PREFIX, BATCH_GROUP_PREFIX = "spark-kafka-source", "spark-kafka-relation"
_POLL_TIMEOUT_MS = 120_000
"""Spark's `spark.network.timeout`, which a Python source cannot read."""

_GROUP_ID_WARNING = (
    "Kafka option 'kafka.group.id' has been set on this query, it is not recommended to set this option. "
    "Queries that share a group overwrite each other's progress in it. The user should have only one query "
    "per group id."
)
_AUTO_OFFSET_RESET = """
Kafka option 'auto.offset.reset' is not supported.
Instead set the source option 'startingoffsets' to 'earliest' or 'latest'
to specify where to start. Structured Streaming manages which offsets are consumed
internally, rather than relying on the kafkaConsumer to do it. This will ensure that no
data is missed when new topics/partitions are dynamically subscribed. Note that
'startingoffsets' only applies when a new Streaming query is started, and
that resuming will always pick up from where the query left off. See the docs for more
details.
"""
_REFUSED = {
    "auto.offset.reset": _AUTO_OFFSET_RESET,
    "key.deserializer": (
        "Kafka option 'key.deserializer' is not supported as keys are deserialized as byte arrays with "
        "ByteArrayDeserializer. Use DataFrame operations to explicitly deserialize the keys."
    ),
    "value.deserializer": (
        "Kafka option 'value.deserializer' is not supported as values are deserialized as byte arrays with "
        "ByteArrayDeserializer. Use DataFrame operations to explicitly deserialize the values."
    ),
    "enable.auto.commit": "Kafka option 'enable.auto.commit' is not supported",
    "interceptor.classes": "Kafka option 'interceptor.classes' is not supported",
}
_ISOLATION = ("read_uncommitted", "read_committed")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    kafka: dict[str, str]
    """The options with the prefix `kafka.`, without it."""
    subscription: Subscription
    start: Limit
    end: Limit
    start_is_latest_without_match: bool
    """`startingOffsetsByTimestampStrategy`: what a time after the last record means, instead of an error."""
    fail_on_data_loss: bool = True
    include_headers: bool = False
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = 900_000
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    poll_timeout_ms: int = _POLL_TIMEOUT_MS
    fetch_attempts: int = 3
    fetch_retry_interval_ms: int = 1000
    metadata_ttl_ms: int = -1
    group_prefix: str = STREAM_GROUP_PREFIX
    group_id: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_read_committed(self) -> bool:
        return self.kafka.get("isolation.level", _ISOLATION[0]).lower() == _ISOLATION[1]

    @classmethod
    def of_stream(cls, options: Mapping[str, str]) -> "SourceOptions":
        """Raises BadOption."""
        given = lowered(options)
        if "endingoffsets" in given:
            raise BadOption("ending offset not valid in streaming queries")
        if "endingoffsetsbytimestamp" in given or "endingtimestamp" in given:
            raise BadOption("ending timestamp not valid in streaming queries")
        start = limit_of(given, "starting", FROM_LATEST)
        return _source_options(given, start, FROM_LATEST, STREAM_GROUP_PREFIX, ())

    @classmethod
    def of_batch(cls, options: Mapping[str, str]) -> "SourceOptions":
        """Raises BadOption."""
        given = lowered(options)
        start = limit_of(given, "starting", FROM_EARLIEST)
        end = limit_of(given, "ending", FROM_LATEST)
        check_batch_limits(start, end)
        ignored = tuple(
            f"{name} option ignored in batch queries"
            for name in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
            if name.lower() in given
        )
        return _source_options(given, start, end, BATCH_GROUP_PREFIX, ignored)


def lowered(options: Mapping[str, str]) -> dict[str, str]:
    return {key.lower(): str(value) for key, value in options.items()}


def _source_options(
    given: Mapping[str, str], start: Limit, end: Limit, prefix: str, ignored: tuple[str, ...]
) -> SourceOptions:
    subscription = subscription_of(given)
    least, most = positive_int(given, "minPartitions"), positive(given, "maxRecordsPerPartition")
    kafka = _kafka_options(given)
    if kafka.get("isolation.level", _ISOLATION[0]).lower() not in _ISOLATION:
        raise BadOption(f"kafka.isolation.level must be one of {', '.join(_ISOLATION)}")
    smallest, largest = _trigger_limits(given)
    return SourceOptions(
        kafka,
        subscription,
        start,
        end,
        start_is_latest_without_match=_strategy(given) == "latest",
        fail_on_data_loss=flag(given, "failOnDataLoss", default=True),
        include_headers=flag(given, "includeHeaders", default=False),
        max_offsets_per_trigger=largest,
        min_offsets_per_trigger=smallest,
        max_trigger_delay_ms=duration_ms(given, "maxTriggerDelay", "15m"),
        min_partitions=least,
        max_records_per_partition=most,
        poll_timeout_ms=positive(given, "kafkaConsumer.pollTimeoutMs") or _POLL_TIMEOUT_MS,
        fetch_attempts=max(1, _or(whole(given, "fetchOffset.numRetries"), 3)),
        fetch_retry_interval_ms=max(0, _or(whole(given, "fetchOffset.retryIntervalMs"), 1000)),
        metadata_ttl_ms=_or(whole(given, "partition.metadata.cache.ttl.ms"), -1),
        group_prefix=given.get("groupidprefix", prefix),
        group_id=kafka.get("group.id"),
        warnings=(*_group_warnings(given), *ignored),
    )


def _trigger_limits(given: Mapping[str, str]) -> tuple[int | None, int | None]:
    smallest, largest = positive(given, "minOffsetsPerTrigger"), positive(given, "maxOffsetsPerTrigger")
    if smallest is not None and largest is not None and smallest > largest:
        raise BadOption(
            f"The value of minOffsetPerTrigger({smallest}) is higher than the "
            f"maxOffsetsPerTrigger({largest})."
        )
    return smallest, largest


def _strategy(given: Mapping[str, str]) -> str:
    text = given.get("startingoffsetsbytimestampstrategy", "error").strip().lower()
    if text not in {"error", "latest"}:
        raise BadOption(f"startingOffsetsByTimestampStrategy must be error or latest, got '{text}'")
    return text


def _group_warnings(given: Mapping[str, str]) -> tuple[str, ...]:
    if "kafka.group.id" not in given:
        return ()
    if "groupidprefix" not in given:
        return (_GROUP_ID_WARNING,)
    return (
        _GROUP_ID_WARNING,
        "Option groupIdPrefix will be ignored as option kafka.group.id has been set.",
    )


def _kafka_options(given: Mapping[str, str]) -> dict[str, str]:
    kafka = {key[6:]: value for key, value in given.items() if key.startswith("kafka.")}
    for key, message in _REFUSED.items():
        if key in kafka:
            raise BadOption(message)
    if not kafka.get("bootstrap.servers", "").strip():
        raise BadOption("Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer")
    return kafka


def _or(number: int | None, default: int) -> int:
    return default if number is None else number
