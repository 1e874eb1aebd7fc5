"""Features of a cluster (KIP-584): what brokers support, what is finalized, and UpdateFeatures.

The levels come from ApiVersions, in version 4 if the broker serves it: older versions omit features whose
lowest level is 0 (KAFKA-17492).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas import __version__
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, check

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""How an update may change a level, as the protocol numbers them."""

_RESULTS_UNTIL = 1
"""Up to this version of UpdateFeatures each feature has a result; later all succeed or none (KIP-1022)."""


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    lowest: int
    highest: int
    finalized: int
    """0 if the feature is not finalized."""


@dataclass(frozen=True, slots=True)
class Features:
    epoch: int | None
    """The epoch of the finalized levels. None if the cluster finalizes no features."""
    features: tuple[Feature, ...]
    """By name."""


def describe_features(cluster: Cluster, node: int | None = None) -> Features:
    """The features of broker `node`, or of any broker."""
    answer = cluster.request(
        "api_versions", to=node, client_software_name="barnabas", client_software_version=__version__
    )
    check(answer.error_code)
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    return Features(
        answer.finalized_features_epoch if answer.finalized_features_epoch >= 0 else None,
        tuple(
            Feature(each.name, each.min_version, each.max_version, finalized.get(each.name, 0))
            for each in sorted(answer.supported_features, key=lambda each: each.name)
        ),
    )


def update_features(
    cluster: Cluster,
    levels: Mapping[str, int],
    kind: int,
    *,
    validate_only: bool = False,
    to: int | None = None,
) -> dict[str, BrokerError | None]:
    """Sets each feature to its level (0 disables it). Returns the error of each feature, or None."""
    version = cluster.version_of("update_features", to=to)
    updates = [
        {
            "feature": name,
            "max_version_level": level,
            "upgrade_type": kind,
            "allow_downgrade": kind != UPGRADE,
        }
        for name, level in levels.items()
    ]
    answer = cluster.request(
        "update_features",
        to=to,
        max_version=version if version <= _RESULTS_UNTIL else None,
        timeout=int(cluster.settings.api_timeout * 1000),
        feature_updates=updates,
        validate_only=validate_only,
    )
    if answer.error_code != 0:
        return dict.fromkeys(levels, BrokerError(answer.error_code, answer.error_message))
    results = {each.feature: each for each in getattr(answer, "results", ())}
    return {
        name: BrokerError(results[name].error_code, results[name].error_message)
        if name in results and results[name].error_code != 0
        else None
        for name in levels
    }
