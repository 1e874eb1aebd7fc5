"""Runs the scenarios: both brokers side by side, in turn, several rounds; the order changes each round.

Before anything is counted both brokers get a long stretch of small requests and one round of every scenario:
the JVM goes on compiling for many seconds of load, on the cores that are measured. A scenario that fails is
noted and the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from confluent_kafka import KafkaException

from benchmarks.apache_kafka import default_cache
from benchmarks.barnabas_broker import Barnabas
from benchmarks.clusters import RunningCluster
from benchmarks.confluent_client import ClientFailed
from benchmarks.figures import format_figure
from benchmarks.medians import median
from benchmarks.metrics import Metric
from benchmarks.processes import BrokerFailed, BrokerProcess
from benchmarks.progress import Progress
from benchmarks.protocol import UnexpectedAnswer
from benchmarks.results import APACHE_KAFKA, Results, Row
from benchmarks.scenarios import (
    cluster,
    cluster_failover,
    cluster_scale,
    cluster_scenarios,
    idle_cost,
    load_scenarios,
    offsets_scale,
    rounds_of,
    spark,
    start,
)
from benchmarks.scenarios.base import Launcher, Scenario, Settings
from benchmarks.scenarios.cluster import ClusterScenario
from benchmarks.scenarios.small_requests import OneRecordRequests
from benchmarks.spark_connector import ConnectorUnavailable, fetch_connector
from benchmarks.spark_jobs import OURS

FIGURES = dict[str, dict[str, list[float]]]
"""Metric key to broker name to the figures of all rounds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run."""

    rounds: int
    settings: Settings
    only: str | None
    directory: Path
    quick: bool = False
    beside: bool = True
    """Whether what Barnabas is compared with is measured too."""
    cache: Path = field(default_factory=default_cache)

    def wants(self, name: str) -> bool:
        return self.only is None or self.only in name


class Runner:
    """Measures all of a plan with the given launchers, the yardstick first."""

    def __init__(self, plan: Plan, launchers: Sequence[Launcher], progress: Progress) -> None:
        self._plan = plan
        self._launchers = launchers
        self._progress = progress

    def run(self, results: Results) -> None:
        if self._plan.wants(start.NAME):
            self._measure_starts(results)
        scenarios = [
            scenario for scenario in load_scenarios(quick=self._plan.quick) if self._plan.wants(scenario.name)
        ]
        if scenarios:
            self._measure_load(scenarios, results)
        self._measure_clusters(results)
        if self._plan.wants(offsets_scale.NAME):
            self._measure_offsets_scale(results)
        if self._plan.wants(idle_cost.NAME):
            self._measure_idle_cost(results)
        wanted = [name for name in spark.METRICS if self._plan.wants(name)]
        if wanted:
            self._measure_spark(wanted, results)

    def _measure_starts(self, results: Results) -> None:
        metrics = (start.READY, start.IDLE)
        figures: FIGURES = {metric.key: {} for metric in metrics}
        for number in range(self._plan.rounds):
            for launcher in self._in_turn(number):
                self._progress.update(f"start  round {number + 1}/{self._plan.rounds}  {launcher.name}")
                directory = self._plan.directory / "start" / f"{launcher.name}-{number}".replace(" ", "-")
                try:
                    _add(figures, launcher.name, start.measure_start(launcher, directory))
                except _FAILURES as error:
                    self._fail(results, "start", launcher.name, error)
        self._report(results, start.GROUP, metrics, figures)

    def _measure_load(self, scenarios: Sequence[Scenario], results: Results) -> None:
        with ExitStack() as stack:
            brokers = []
            for launcher in self._launchers:
                self._progress.update(f"starting {launcher.name}")
                directory = self._plan.directory / "load" / launcher.name.replace(" ", "-")
                directory.mkdir(parents=True)
                try:
                    broker = launcher.launch(directory)
                except _FAILURES as error:
                    self._fail(results, "load", launcher.name, error)
                    continue
                stack.callback(broker.stop)
                brokers.append(broker)
            failed = self._warm_up(scenarios, brokers, results)
            for scenario in scenarios:
                able = [broker for broker in brokers if (scenario.name, broker.name) not in failed]
                self._measure(scenario, able, results)
            loaded: FIGURES = {start.LOADED.key: {}}
            for broker in brokers:
                try:
                    _add(loaded, broker.name, {start.LOADED.key: broker.rss_mb()})
                except BrokerFailed as error:
                    self._fail(results, "memory", broker.name, error)
            self._report(results, start.GROUP, (start.LOADED,), loaded)

    def _warm_up(
        self, scenarios: Sequence[Scenario], brokers: Sequence[BrokerProcess], results: Results
    ) -> set[tuple[str, str]]:
        failed = set()
        for broker in brokers:
            self._progress.update(
                f"warming up  {broker.name}  {self._plan.settings.compile_seconds:.0f} s of requests"
            )
            try:
                OneRecordRequests(4, 4).measure(broker, self._plan.settings.for_compiling())
            except _FAILURES as error:
                self._fail(results, "warming up", broker.name, error)
        for number, scenario in enumerate(scenarios):
            for broker in brokers:
                self._progress.update(
                    f"warming up  {number + 1}/{len(scenarios)}  {broker.name}  {scenario.name}"
                )
                try:
                    scenario.measure(broker, self._plan.settings.for_warming_up())
                except _FAILURES as error:
                    self._fail(results, scenario.name, broker.name, error)
                    failed.add((scenario.name, broker.name))
        return failed

    def _measure(self, scenario: Scenario, brokers: Sequence[BrokerProcess], results: Results) -> None:
        figures: FIGURES = {metric.key: {} for metric in scenario.metrics}
        rounds = rounds_of(scenario.name, self._plan.rounds, self._plan.settings)
        for number in range(rounds):
            for broker in brokers if number % 2 == 0 else list(reversed(brokers)):
                self._progress.update(self._live(scenario, f"{number + 1}/{rounds}", figures))
                try:
                    _add(figures, broker.name, scenario.measure(broker, self._plan.settings))
                except _FAILURES as error:
                    self._fail(results, scenario.name, broker.name, error)
        self._report(results, scenario.group, scenario.metrics, figures)

    def _measure_clusters(self, results: Results) -> None:
        wanted = [
            each
            for each in cluster_scenarios(self._plan.settings, quick=self._plan.quick)
            if self._plan.wants(each.name)
        ]
        wants_start = self._plan.wants(cluster_failover.NAME)
        if not wanted and not wants_start:
            return
        metrics = (cluster_failover.READY, cluster_failover.IDLE)
        figures: FIGURES = {metric.key: {} for metric in metrics}
        with ExitStack() as stack:
            clusters = []
            for launcher in self._launchers:
                self._progress.update(f"starting three brokers of {launcher.name}")
                directory = self._plan.directory / "cluster" / launcher.name.replace(" ", "-")
                try:
                    started, found = cluster_failover.measure_start(launcher, directory)
                except _FAILURES as error:
                    self._fail(results, cluster_failover.NAME, launcher.name, error)
                    continue
                stack.callback(started.stop)
                clusters.append(started)
                _add(figures, launcher.name, found)
            if wants_start:
                self._report(results, cluster.GROUP, metrics, figures)
            for scenario in wanted:
                self._measure_cluster(scenario, clusters, results)

    def _measure_cluster(
        self, scenario: ClusterScenario, clusters: Sequence[RunningCluster], results: Results
    ) -> None:
        """One round that does not count first, where there are several: the JVM compiles."""
        figures: FIGURES = {metric.key: {} for metric in scenario.metrics}
        is_once = scenario.name == cluster_scale.NAME
        rounds = 1 if is_once else min(self._plan.rounds, self._plan.settings.long_rounds)
        for number in range(0 if is_once else -1, rounds):
            for each in clusters if number % 2 == 0 else list(reversed(clusters)):
                self._progress.update(self._live(scenario, f"{number + 1}/{rounds}", figures))
                try:
                    found = scenario.measure(each, self._plan.settings)
                except _FAILURES as error:
                    self._fail(results, scenario.name, each.name, error)
                    continue
                if number >= 0:
                    _add(figures, each.name, found)
        self._report(results, scenario.group, scenario.metrics, figures)

    def _measure_offsets_scale(self, results: Results) -> None:
        settings = self._plan.settings
        for load in offsets_scale.loads(settings):
            figures: FIGURES = {metric.key: {} for metric in load.metrics}
            for launcher in self._launchers:
                self._progress.update(f"{load.records:,} offset records  {launcher.name}")
                directory = self._plan.directory / load.name / launcher.name.replace(" ", "-")
                scale = offsets_scale.OffsetsScale(launcher, directory, load, settings.offset_keys)
                try:
                    scale.measure(settings, partial(_add, figures, launcher.name))
                except _FAILURES as error:
                    self._fail(results, f"{offsets_scale.NAME}/{load.name}", launcher.name, error)
            self._report(results, offsets_scale.GROUP, load.metrics, figures)

    def _measure_idle_cost(self, results: Results) -> None:
        barnabas = next((launcher for launcher in self._launchers if isinstance(launcher, Barnabas)), None)
        if barnabas is None:
            return
        cost = idle_cost.IdleCost(barnabas, self._plan.directory / "idle", self._plan.settings)
        try:
            changes, restarts = cost.run(
                self._plan.rounds, lambda text: self._progress.update(f"idle cost  {text}")
            )
        except _FAILURES as error:
            self._fail(results, idle_cost.NAME, barnabas.name, error)
            return
        results.changes.extend(changes)
        for change in changes:
            self._progress.line(f"{change.title}: {change.change_percent:+.1f} %")
        self._report(
            results, idle_cost.GROUP, (idle_cost.RESTART,), {idle_cost.RESTART.key: {barnabas.name: restarts}}
        )

    def _measure_spark(self, names: Sequence[str], results: Results) -> None:
        barnabas = next((launcher for launcher in self._launchers if isinstance(launcher, Barnabas)), None)
        if barnabas is None:
            return
        if reason := spark.missing():
            self._note(results, f"Spark's rows were left out: {reason}.")
            return
        directory = self._plan.directory / "spark"
        directory.mkdir()
        rows = spark.SparkRows(barnabas, directory, self._plan.settings, self._connector(results))
        figures: FIGURES = {name: {} for name in names}
        try:
            for found in rows.run(
                names, self._plan.rounds, lambda text: self._progress.update(f"spark  {text}")
            ):
                broker = Barnabas.name if found.form == OURS else spark.YARDSTICK
                if isinstance(found, spark.Failure):
                    self._fail(results, found.job, broker, spark.SparkProcessFailed(found.error))
                else:
                    figures[found.job].setdefault(broker, []).append(found.figure)
        except _FAILURES as error:
            self._fail(results, spark.NAME, barnabas.name, error)
        for name in names:
            metric = spark.METRICS[name]
            self._report(results, spark.GROUP, (metric,), {metric.key: figures[name]}, spark.YARDSTICK)

    def _connector(self, results: Results) -> list[Path]:
        if not self._plan.beside:
            return []
        try:
            self._progress.update("fetching Spark's connector from Maven Central (once)")
            return fetch_connector(self._plan.cache)
        except ConnectorUnavailable as reason:
            self._note(results, f"Spark's connector was not measured: {reason}.")
            return []

    def _in_turn(self, number: int) -> list[Launcher]:
        return list(self._launchers) if number % 2 == 0 else list(reversed(self._launchers))

    def _live(self, scenario: Scenario | ClusterScenario, turn: str, figures: FIGURES) -> str:
        metric = scenario.metrics[0]
        so_far = "  ".join(
            f"{name} {format_figure(median(values), metric.unit)}"
            for name, values in figures[metric.key].items()
        )
        return f"{metric.title}  round {turn}  {so_far}"

    def _report(
        self,
        results: Results,
        group: str,
        metrics: Sequence[Metric],
        figures: FIGURES,
        yardstick: str = APACHE_KAFKA,
    ) -> None:
        for metric in metrics:
            measured = figures[metric.key]
            row = Row(group, metric, measured.get(yardstick, []), measured.get(Barnabas.name, []), yardstick)
            if not (row.apache or row.barnabas):
                continue
            results.rows.append(row)
            parts = [
                f"{name} {format_figure(median(values), metric.unit)}" for name, values in measured.items()
            ]
            ratio = "" if row.ratio is None else f"  ratio {row.ratio:.2f}"
            self._progress.line(f"{group}: {metric.title}:  {'  '.join(parts)}{ratio}")

    def _note(self, results: Results, text: str) -> None:
        results.notes.append(text)
        self._progress.line(text)

    def _fail(self, results: Results, scenario: str, broker: str, error: Exception) -> None:
        text = f"{scenario} on {broker}: {str(error) or type(error).__name__}"
        results.failures.append(text)
        self._progress.line(f"FAILED {text}")


def _add(figures: FIGURES, broker: str, measured: dict[str, float]) -> None:
    for key, figure in measured.items():
        figures[key].setdefault(broker, []).append(figure)


_FAILURES: tuple[type[Exception], ...] = (
    OSError,
    BrokerFailed,
    UnexpectedAnswer,
    ClientFailed,
    KafkaException,
    spark.SparkProcessFailed,
)
