"""Every key a group accepts, the broker key behind each, and the check of what a client wants to set.

A group may choose within bounds that the broker sets (such as `group.consumer.min.session.timeout.ms`).
"""

from collections.abc import Callable, Mapping

from barnabas.base.config.keys import ConfigError, ConfigKey, Value
from barnabas.base.config.tables import group

GROUP_KEYS: Mapping[str, ConfigKey] = {key.name: key for key in group.GROUP_KEYS}

_WITHOUT_BROKER_KEY = ("share.auto.offset.reset", "share.isolation.level", "share.renew.acknowledge.enable")

# The broker key that gives a group key its default: the same name under `group.`.
GROUP_SYNONYMS: Mapping[str, str] = {
    name: f"group.{name}" for name in GROUP_KEYS if name not in _WITHOUT_BROKER_KEY
}

# group key -> the broker keys of its lower and upper bound
_BOUNDS: Mapping[str, tuple[str | None, str]] = {
    name: (f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}")
    for kind, rests in {
        "consumer": ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"),
        "share": (
            "heartbeat.interval.ms",
            "session.timeout.ms",
            "assignment.interval.ms",
            "record.lock.duration.ms",
            "delivery.count.limit",
            "partition.max.record.locks",
        ),
        "streams": ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"),
    }.items()
    for rest in rests
    for name in (f"{kind}.{rest}",)
} | {"streams.num.standby.replicas": (None, "group.streams.max.standby.replicas")}


def validate_group_configs(configs: Mapping[str, str | None], broker_value: Callable[[str], Value]) -> None:
    """Check the whole set of a group's own settings; `broker_value` is `BrokerConfig.get`."""
    nulls = sorted(name for name, value in configs.items() if value is None)
    if nulls:
        message = f"Null value not supported for group configs: {','.join(nulls)}"
        raise ConfigError.saying(nulls[0], message)
    for name in configs:
        if name not in GROUP_KEYS:
            raise ConfigError.saying(name, f"Unknown group config name: {name}")
    values = {name: GROUP_KEYS[name].parse(value) for name, value in configs.items() if value is not None}
    for name, (lower, upper) in _BOUNDS.items():
        if name in values:
            _check_bounds(name, _number(values[name]), lower, upper, broker_value)
    for kind in ("consumer", "share", "streams"):
        _check_session_outlasts_heartbeat(kind, values, broker_value)


def _check_bounds(
    name: str, value: int, lower: str | None, upper: str, broker_value: Callable[[str], Value]
) -> None:
    if lower is not None and value < _number(broker_value(lower)):
        raise ConfigError(name, value, f"at least {lower} ({broker_value(lower)})")
    if value > _number(broker_value(upper)):
        raise ConfigError(name, value, f"at most {upper} ({broker_value(upper)})")


def _check_session_outlasts_heartbeat(
    kind: str, values: Mapping[str, Value], broker_value: Callable[[str], Value]
) -> None:
    session_key, heartbeat_key = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
    if session_key not in values and heartbeat_key not in values:
        return
    session = _number(values.get(session_key, broker_value(GROUP_SYNONYMS[session_key])))
    heartbeat = _number(values.get(heartbeat_key, broker_value(GROUP_SYNONYMS[heartbeat_key])))
    if session <= heartbeat:
        raise ConfigError(session_key, session, f"greater than {heartbeat_key} ({heartbeat})")


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
