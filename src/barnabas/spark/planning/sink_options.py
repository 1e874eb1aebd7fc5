"""What the options of a sink say, as values; names know no case, messages are those of Spark's connector.

`topic`, `kafka.*` and `includeHeaders` are Spark's; ours are `exactlyOnce`, `transactionalIdPrefix`,
`writeTimestamp`, and `txnAppId` with `txnVersion` (Delta's names) for batches written from `foreachBatch`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.spark.planning.option_values import BadOption, flag, whole

BOOTSTRAP = "bootstrap.servers"
DEFAULT_PREFIX = "spark-sink"
_SERIALIZED = {
    "key.serializer": "keys are serialized with ByteArraySerializer.",
    "value.serializer": "value are serialized with ByteArraySerializer.",
}


@dataclass(frozen=True, slots=True)
class Application:
    """The identity of a batch write: a query of the user's own making, and the number of its batch."""

    id: str
    version: int


@dataclass(frozen=True, slots=True)
class SinkOptions:
    topic: str | None
    """Wins over the column."""
    kafka: Mapping[str, str]
    """What came as `kafka.*`, without it, in lower case."""
    exactly_once: bool
    """Of streams. A batch is written exactly once if it has an `application`."""
    prefix: str
    application: Application | None
    checkpoint: str | None
    """Of the query, as Spark hands it to sinks of streams."""
    write_timestamp: bool
    """Whether a column `timestamp` is the time of the records."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "SinkOptions":
        """Raises BadOption."""
        given = {key.lower(): str(value) for key, value in options.items()}
        topic = given.get("topic")
        return cls(
            topic=topic.strip() if topic is not None else None,
            kafka=_kafka(given),
            exactly_once=flag(given, "exactlyOnce", default=True),
            prefix=_prefix(given),
            application=_application(given),
            checkpoint=given.get("checkpointlocation"),
            write_timestamp=flag(given, "writeTimestamp", default=False),
        )


def _kafka(given: Mapping[str, str]) -> dict[str, str]:
    found = {key.removeprefix("kafka."): value for key, value in given.items() if key.startswith("kafka.")}
    for key, reason in _SERIALIZED.items():
        if key in found:
            raise BadOption(f"Kafka option '{key}' is not supported as {reason}")
    if "transactional.id" in found:
        raise BadOption(
            "Kafka option 'transactional.id' is not supported as every task has its own: "
            "set its beginning with the option transactionalIdPrefix"
        )
    if not found.get(BOOTSTRAP, "").strip():
        raise BadOption(f"Option 'kafka.{BOOTSTRAP}' must be specified for configuring Kafka producer")
    return found


def _prefix(given: Mapping[str, str]) -> str:
    prefix = given.get("transactionalidprefix", DEFAULT_PREFIX).strip()
    if not prefix:
        raise BadOption("Option 'transactionalIdPrefix' must not be empty")
    return prefix


def _application(given: Mapping[str, str]) -> Application | None:
    name, version = given.get("txnappid"), whole(given, "txnVersion")
    if name is None and version is None:
        return None
    if not name or version is None:
        raise BadOption("Options 'txnAppId' and 'txnVersion' must be given together")
    if not 0 <= version < 2**63 - 1:
        raise BadOption(
            f"Option 'txnVersion' must not be negative, nor the largest of all numbers: {version}"
        )
    return Application(name, version)
