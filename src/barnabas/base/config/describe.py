"""The DescribeConfigs entries of a broker, a topic or a group: every value and its source.

Synonyms are, in order of precedence, all sources that set the key or one of its other names. The first is the
source of the value. As in Kafka, a key whose own name is set nowhere and has no default has no synonyms
(`log.retention.ms`, though `log.retention.hours` gives its value), and secrets are null everywhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from barnabas.base.config.broker_keys import BROKER_KEYS, base_name, synonyms_of
from barnabas.base.config.documentation import Scope, documentation_of
from barnabas.base.config.group_keys import GROUP_KEYS, GROUP_SYNONYMS
from barnabas.base.config.keys import ConfigKey, ConfigType, format_value
from barnabas.base.config.topic_keys import TOPIC_KEYS, TOPIC_SYNONYMS

if TYPE_CHECKING:
    from barnabas.base.config.broker_config import BrokerConfig


class ConfigSource(IntEnum):
    """The numbers are those of the DescribeConfigs response."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    name: str
    value: str | None
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
    type: ConfigType
    read_only: bool
    sensitive: bool
    scope: Scope

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG

    @property
    def doc(self) -> str | None:
        """Loaded when first requested."""
        return documentation_of(self.scope, base_name(self.name) if self.scope is Scope.BROKER else self.name)


def describe_broker(config: "BrokerConfig") -> Iterator[DescribedConfig]:
    """Every key that is not hidden, then whatever else was set."""
    for name, key in BROKER_KEYS.items():
        if not key.hidden or config.is_set(name):
            yield _describe_broker_key(config, name, key)
    others = {*config.originals, *config.dynamic_defaults, *config.dynamic} - BROKER_KEYS.keys()
    for name in sorted(others):
        yield _describe_broker_key(config, name, BROKER_KEYS.get(base_name(name)))


def describe_cluster_defaults(config: "BrokerConfig") -> Iterator[DescribedConfig]:
    """What was set dynamically for all brokers: the resource with the empty name."""
    for name, text in sorted(config.dynamic_defaults.items()):
        key = BROKER_KEYS.get(base_name(name))
        sensitive = key is None or key.is_sensitive
        synonyms = tuple(
            synonym
            for synonym in _broker_synonyms(config, name, sensitive)
            if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        )
        yield DescribedConfig(
            name=name,
            value=None if sensitive else text,
            source=_source(synonyms),
            synonyms=synonyms,
            type=ConfigType.UNKNOWN if key is None else key.type,
            read_only=key is None or key.is_read_only,
            sensitive=sensitive,
            scope=Scope.BROKER,
        )


def describe_topic(overrides: Mapping[str, str], config: "BrokerConfig") -> Iterator[DescribedConfig]:
    """`overrides` are the topic's own settings, `config` that of the broker that answers."""
    for name, key in TOPIC_KEYS.items():
        if key.hidden and name not in overrides:
            continue
        own = overrides.get(name)
        value = format_value(config.topic_default(name) if own is None else key.parse(own))
        synonyms: list[Synonym] = []
        if own is not None:
            synonyms.append(Synonym(name, value, ConfigSource.DYNAMIC_TOPIC_CONFIG))
        if name in TOPIC_SYNONYMS:
            synonyms += _broker_synonyms(config, TOPIC_SYNONYMS[name], key.is_sensitive)
        yield _described_resource(Scope.TOPIC, key, value, synonyms)


def describe_group(overrides: Mapping[str, str], config: "BrokerConfig") -> Iterator[DescribedConfig]:
    """`overrides` are the group's own settings, `config` that of the broker that answers."""
    for name, key in GROUP_KEYS.items():
        own = overrides.get(name)
        synonym = GROUP_SYNONYMS.get(name)
        behind = key.default if synonym is None else format_value(config.get(synonym))
        value = behind if own is None else format_value(key.parse(own))
        synonyms: list[Synonym] = []
        if own is not None:
            synonyms.append(Synonym(name, value, ConfigSource.GROUP_CONFIG))
        if synonym is None:
            synonyms.append(Synonym(name, key.default, ConfigSource.DEFAULT_CONFIG))
        else:
            synonyms += _broker_synonyms(config, synonym, key.is_sensitive)
        yield _described_resource(Scope.GROUP, key, value, synonyms)


def _describe_broker_key(config: "BrokerConfig", name: str, key: ConfigKey | None) -> DescribedConfig:
    sensitive = key is None or key.is_sensitive
    synonyms = _broker_synonyms(config, name, sensitive)
    if sensitive:
        value = None
    elif name in BROKER_KEYS:
        value = format_value(config.get(name))
    else:
        value = synonyms[0].value
    return DescribedConfig(
        name=name,
        value=value,
        source=_source(synonyms),
        synonyms=synonyms,
        type=ConfigType.UNKNOWN if key is None else key.type,
        read_only=name not in BROKER_KEYS or BROKER_KEYS[name].is_read_only,
        sensitive=sensitive,
        scope=Scope.BROKER,
    )


def _broker_synonyms(config: "BrokerConfig", name: str, sensitive: bool) -> tuple[Synonym, ...]:
    names = synonyms_of(name)
    found: list[Synonym] = []
    for layer, source in (
        (config.dynamic, ConfigSource.DYNAMIC_BROKER_CONFIG),
        (config.dynamic_defaults, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (config.originals, ConfigSource.STATIC_BROKER_CONFIG),
    ):
        found += [Synonym(each, layer[each], source) for each in names if each in layer]
    for each in names:
        default = BROKER_KEYS[each].default if each in BROKER_KEYS else None
        if default is not None:
            found.append(Synonym(each, default, ConfigSource.DEFAULT_CONFIG))
    own = next((position for position, synonym in enumerate(found) if synonym.name == name), len(found))
    if sensitive:
        return tuple(synonym._replace(value=None) for synonym in found[own:])
    return tuple(found[own:])


def _described_resource(
    scope: Scope, key: ConfigKey, value: str | None, synonyms: list[Synonym]
) -> DescribedConfig:
    return DescribedConfig(
        name=key.name,
        value=None if key.is_sensitive else value,
        source=_source(synonyms),
        synonyms=tuple(synonyms),
        type=key.type,
        read_only=False,
        sensitive=key.is_sensitive,
        scope=scope,
    )


def _source(synonyms: tuple[Synonym, ...] | list[Synonym]) -> ConfigSource:
    return synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
