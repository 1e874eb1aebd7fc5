"""Builds a `BrokerConfig` from a properties file and overrides. An error is one line."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.properties import load_properties
from barnabas.base.errors import KafkaError

DEFAULTS: Mapping[str, str] = {
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "log.dirs": "data/kafka-logs",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
"""The configuration of `barnabas serve` without a file: a single broker that listens on localhost."""


class SettingsError(Exception):
    """The configuration is invalid. The message is one line."""


def load_settings(
    properties: Path | None,
    overrides: Sequence[str],
    defaults: Mapping[str, str] = DEFAULTS,
) -> BrokerConfig:
    """The file, or `defaults` without a file, plus the overrides. Prints warnings on stderr."""
    values = dict(defaults) if properties is None else _read(properties)
    for override in overrides:
        key, separator, value = override.partition("=")
        if not separator or not key.strip():
            raise SettingsError(f"--override {override!r}: expected key=value")
        values[key.strip()] = value.strip()
    try:
        config = BrokerConfig.from_properties(values)
    except KafkaError as error:
        raise SettingsError(error.message) from error
    for warning in config.warnings:
        complain(f"warning: {warning}")
    return config


def _read(properties: Path) -> dict[str, str]:
    try:
        return load_properties(properties)
    except OSError as error:
        raise SettingsError(f"{properties}: {error.strerror or error}") from error
    except KafkaError as error:
        raise SettingsError(error.message) from error


def complain(line: str) -> None:
    print(f"barnabas: {line}", file=sys.stderr)
