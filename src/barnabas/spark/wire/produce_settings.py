"""How records are produced: the producer properties that have a meaning here. Times are in seconds inside."""

from dataclasses import dataclass

from barnabas.client.errors import BadSettings
from barnabas.records.compression import NONE

ACKS_ALL = -1
MOST_IN_FLIGHT = 5
"""Brokers remember the last five batches of a producer: beyond that they cannot detect duplicates."""


@dataclass(frozen=True, slots=True)
class ProduceSettings:
    acks: int = ACKS_ALL
    """-1 all in-sync replicas, 1 the leader, 0 no acknowledgement."""
    codec: int = NONE
    """As batches number them: none, gzip, snappy, lz4, zstd."""
    batch_bytes: int = 1_000_000
    """Before compression. What Kafka brokers take by default is 1 MiB; here it is bulk that is moved."""
    request_timeout: float = 30.0
    delivery_timeout: float = 120.0
    """The longest time from `send` to the broker's answer, all attempts included."""
    retry_backoff: float = 0.1
    max_in_flight: int = MOST_IN_FLIGHT
    max_request_size: int = 4 << 20
    """Of one request, and so of one record."""
    buffer_memory: int = 32 << 20
    """How much may be unanswered before `send` waits."""
    is_idempotent: bool = True
    transactional_id: str | None = None
    transaction_timeout_ms: int = 900_000


def check_produce_settings(settings: ProduceSettings) -> None:
    """Raises BadSettings for the combinations that Kafka's producer refuses."""
    if settings.acks not in (-1, 0, 1):
        raise BadSettings(f"acks={settings.acks}: expected all, -1, 0 or 1")
    if not settings.is_idempotent and settings.transactional_id is not None:
        raise BadSettings("Cannot set a transactional.id without also enabling idempotence.")
    if settings.is_idempotent and settings.acks != ACKS_ALL:
        raise BadSettings("Must set acks to all in order to use the idempotent producer.")
    if settings.is_idempotent and settings.max_in_flight > MOST_IN_FLIGHT:
        raise BadSettings(
            "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer."
        )
