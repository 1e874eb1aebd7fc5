"""What a shard of transactions may use: time, deadlines, settings, producer ids. No loop, no disk."""

from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.runtime.timers import Timers

NEWEST_TRANSACTION_VERSION = 2


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    max_timeout_ms: int
    id_expiration_ms: int
    is_two_phase_enabled: bool
    is_partition_verification_enabled: bool
    transaction_version: int = NEWEST_TRANSACTION_VERSION
    """`transaction.version`: used when the coordinator itself ends a transaction (timeout, fencing)."""


def settings_of(config: BrokerConfig) -> TransactionSettings:
    return TransactionSettings(
        max_timeout_ms=config.transaction_max_timeout_ms,
        id_expiration_ms=config.transactional_id_expiration_ms,
        is_two_phase_enabled=bool(config.get("transaction.two.phase.commit.enable")),
        is_partition_verification_enabled=config.transaction_partition_verification_enable,
    )


def _no_producer_id() -> int | None:
    return None


@dataclass(slots=True)
class TransactionEnvironment:
    """One for each shard. The runtime replaces `settings` between requests when they change."""

    clock: Clock
    settings: TransactionSettings
    timers: Timers = field(init=False)
    take_producer_id: Callable[[], int | None] = _no_producer_id
    """Returns an unused producer id for a transaction that times out with its last epoch.

    If it returns None, the
    abort is retried later. Set by the runtime."""

    def __post_init__(self) -> None:
        self.timers = Timers(self.clock)
