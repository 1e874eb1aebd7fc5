"""The little statistics the benchmark needs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of the values do not exceed (nearest rank)."""
    if not values:
        raise ValueError("no values")
    rank = math.ceil(percent / 100 * len(values))
    return sorted(values)[max(rank, 1) - 1]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The ratio of the medians; zero is refused because nothing measured here can be zero."""
    yardstick = median(theirs)
    if yardstick <= 0:
        raise ValueError("the yardstick is not positive")
    return median(ours) / yardstick


def relative_spread(values: Sequence[float]) -> float:
    """(largest - smallest) / median: how much rounds differ."""
    return (max(values) - min(values)) / median(values)
