"""The features of Apache Kafka 4.3 by level: release names, defaults, dependencies.

The tables of Kafka's MetadataVersion and Feature classes, which no request returns. Levels of a newer cluster
are not in them and are shown as unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

METADATA_VERSION = "metadata.version"

_RELEASES = {
    7: "3.3-IV3",
    8: "3.4-IV0",
    9: "3.5-IV0",
    10: "3.5-IV1",
    11: "3.5-IV2",
    12: "3.6-IV0",
    13: "3.6-IV1",
    14: "3.6-IV2",
    15: "3.7-IV0",
    16: "3.7-IV1",
    17: "3.7-IV2",
    18: "3.7-IV3",
    19: "3.7-IV4",
    20: "3.8-IV0",
    21: "3.9-IV0",
    22: "4.0-IV0",
    23: "4.0-IV1",
    24: "4.0-IV2",
    25: "4.0-IV3",
    26: "4.1-IV0",
    27: "4.1-IV1",
    28: "4.2-IV0",
    29: "4.2-IV1",
    30: "4.3-IV0",
    31: "4.4-IV0",
}
"""Level of metadata.version to its name; the last is not for production yet."""

_LATEST_PRODUCTION = 30
LATEST_RELEASE = _RELEASES[_LATEST_PRODUCTION]


class UnknownLevel(ValueError):
    """The feature, release or level does not exist in 4.3. The message is Kafka's."""


@dataclass(frozen=True, slots=True)
class KnownFeature:
    name: str
    since: tuple[int, ...]
    """For each level from 0: the metadata.version with which it is the default."""
    needs: Mapping[int, Mapping[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    """For a level: the features it depends on."""

    def default_level(self, metadata_version: int) -> int:
        return max(level for level, since in enumerate(self.since) if since <= metadata_version)

    def dependencies(self, level: int) -> Mapping[str, int]:
        """Raises UnknownLevel."""
        if not 0 <= level < len(self.since):
            raise UnknownLevel(f"No feature:{self.name} with feature level {level}")
        return self.needs.get(level, {})


FEATURES = (
    KnownFeature("kraft.version", (7, 21)),
    KnownFeature("transaction.version", (7, 24, 24)),
    KnownFeature("group.version", (7, 22)),
    KnownFeature("eligible.leader.replicas.version", (7, 26), MappingProxyType({1: {METADATA_VERSION: 23}})),
    KnownFeature("share.version", (7, 28)),
    KnownFeature("streams.version", (7, 29)),
)
"""Besides metadata.version, in the order in which Kafka lists them."""


def feature_named(name: str) -> KnownFeature:
    """Raises UnknownLevel."""
    for each in FEATURES:
        if each.name == name:
            return each
    raise UnknownLevel(f"Unknown feature: {name}")


def release_of(level: int) -> str:
    """`4.3-IV0` of level 30. Raises UnknownLevel."""
    if level not in _RELEASES:
        raise UnknownLevel(f"Unknown metadata.version {level}")
    return _RELEASES[level]


def level_of(release: str) -> int:
    """Of `4.3`, `4.3.1` or `4.3-IV0`; of several within a release the last. Raises UnknownLevel."""
    key = ".".join(release.split(".")[:2])
    by_name = {name: level for level, name in _RELEASES.items()}
    by_name |= {
        name.partition("-")[0]: level for level, name in _RELEASES.items() if level <= _LATEST_PRODUCTION
    }
    if key not in by_name:
        listed = ", ".join(_RELEASES.values())
        raise UnknownLevel(f"Unknown metadata.version '{release}'. Supported metadata.version are: {listed}")
    return by_name[key]


def shown_level(feature: str, level: int) -> str:
    """As `kafka-features describe` shows it: metadata.version by its release."""
    if feature != METADATA_VERSION:
        return str(level)
    return _RELEASES.get(level, f"UNKNOWN {level}")
