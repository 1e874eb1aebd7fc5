"""From a topic's settings to the `LogConfig` its logs use."""

from collections.abc import Mapping
from dataclasses import replace

from barnabas.base.config.keys import Value
from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.topic_keys import TOPIC_KEYS


def resolve_log_config(overrides: Mapping[str, str], defaults: LogConfig) -> LogConfig:
    """The topic's own settings over the broker's defaults.

    Names that are not topic keys are ignored: a store written by an older Kafka may hold keys that were
    removed since (`message.format.version`). A bad value raises ConfigError.
    """
    fields: dict[str, Value] = {}
    for name, text in overrides.items():
        key = TOPIC_KEYS.get(name)
        if key is not None:
            fields.update(log_config_fields(name, key.parse(text)))
    if "internal_segment_bytes" in fields:
        fields["segment_bytes"] = fields.pop("internal_segment_bytes")
    return replace(defaults, **fields) if fields else defaults  # type: ignore[arg-type]


def log_config_fields(name: str, value: Value) -> dict[str, Value]:
    """The fields of LogConfig that a topic key sets."""
    if name == "cleanup.policy":
        assert isinstance(value, tuple)
        return {"cleanup_delete": "delete" in value, "cleanup_compact": "compact" in value}
    return {name.replace(".", "_"): value}
