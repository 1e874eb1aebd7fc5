"""Rows of the table before they have figures: what is measured, in which unit, and what was promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Target:
    """A promise: on the ratio Barnabas / Apache Kafka, or on Barnabas' own figure."""

    of: Literal["ratio", "value"]
    at: Literal["least", "most"]
    bound: float

    def is_met(self, figure: float) -> bool:
        return figure >= self.bound if self.at == "least" else figure <= self.bound


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table."""

    key: str
    title: str
    unit: str
    more_is_better: bool
    target: Target | None = None
