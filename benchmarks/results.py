"""What a run found: rows of figures from all rounds, and whether they keep their targets. Pure values."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.medians import median, median_ratio
from benchmarks.metrics import Metric

APACHE_KAFKA = "Apache Kafka"


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of Barnabas and of what is beside it; an empty list was not measured."""

    group: str
    metric: Metric
    apache: list[float]
    barnabas: list[float]
    yardstick: str = APACHE_KAFKA

    @property
    def ratio(self) -> float | None:
        return median_ratio(self.barnabas, self.apache) if self.apache and self.barnabas else None

    @property
    def times_better(self) -> float | None:
        """The ratio turned so that more is better for every metric."""
        ratio = self.ratio
        if ratio is None or self.metric.more_is_better:
            return ratio
        return 1 / ratio

    @property
    def keeps_target(self) -> bool | None:
        """None: there is no target, or what it speaks of was not measured."""
        target = self.metric.target
        if target is None or not self.barnabas:
            return None
        figure = self.ratio if target.of == "ratio" else median(self.barnabas)
        return None if figure is None else target.is_met(figure)


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A rate of one broker without and with something idle beside it."""

    title: str
    unit: str
    without: list[float]
    with_idle: list[float]
    largest_loss: float

    @property
    def change_percent(self) -> float:
        return (median_ratio(self.with_idle, self.without) - 1) * 100

    @property
    def keeps_target(self) -> bool:
        return self.change_percent > self.largest_loss


@dataclass(slots=True)
class Results:
    """Everything the report is made from."""

    date: str
    machine: list[str]
    versions: list[str]
    rounds: int
    rows: list[Row] = field(default_factory=list)
    changes: list[ChangeRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def yardstick(self) -> str:
        """What most is compared with: a run of Spark's rows alone has no Apache Kafka in it."""
        yardsticks = {row.yardstick for row in self.rows if row.apache}
        return yardsticks.pop() if len(yardsticks) == 1 else APACHE_KAFKA

    def grouped(self) -> list[tuple[str, list[Row]]]:
        """Rows by group, in the order they came."""
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.group, []).append(row)
        return list(groups.items())
