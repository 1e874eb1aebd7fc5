"""`python -m benchmarks`: measure, print the table, write the page and the picture."""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks import machine, picture, report
from benchmarks.apache_kafka import ApacheKafka, ApacheKafkaUnavailable, default_cache
from benchmarks.barnabas_broker import Barnabas
from benchmarks.progress import Progress
from benchmarks.results import Results
from benchmarks.runner import Plan, Runner
from benchmarks.scenarios.base import Launcher, Settings

_RESULTS = Path(__file__).resolve().parent / "results"


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    progress = Progress()
    launchers, notes = _launchers(options, progress)
    rounds = options.rounds or (3 if options.quick else 5)
    settings = Settings.quick() if options.quick else Settings()
    now = dt.datetime.now(dt.UTC).astimezone()
    results = Results(
        now.strftime("%Y-%m-%d %H:%M"), machine.describe_machine(), machine.describe_versions(), rounds
    )
    results.notes += notes
    for launcher in launchers:
        if isinstance(launcher, ApacheKafka):
            results.versions += [f"Apache Kafka {launcher.version}", machine.java_version()]
    machine.raise_file_limit()
    shares = machine.CpuShares()
    directory = Path(tempfile.mkdtemp(prefix="barnabas-bench-"))
    try:
        plan = Plan(rounds, settings, options.only, directory, options.quick, beside=not options.no_apache)
        Runner(plan, launchers, progress).run(results)
    except KeyboardInterrupt:
        results.notes.append("Interrupted: only a part was measured.")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    results.notes += _disturbances(shares)
    if not (results.rows or results.failures):
        progress.line("Nothing was measured: no scenario has that name.")
        return 2
    _publish(results, options.out, now.strftime("%Y-%m-%d") + _suffix(options), progress)
    return 1 if results.failures else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    purpose = "Barnabas beside Apache Kafka on this machine."
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=purpose)
    parser.add_argument("--rounds", type=int, help="counted rounds of each scenario (5; 3 with --quick)")
    parser.add_argument(
        "--only",
        metavar="TEXT",
        help="only scenarios named so: small/1c, fetch, confluent, start, idle, groups/join, groups/leave, "
        "commits, heartbeats, transactions, compaction, offsets-scale, spark, spark/read, ...",
    )
    parser.add_argument(
        "--quick", action="store_true", help="about five minutes: most rows with targets, smaller"
    )
    parser.add_argument(
        "--no-apache", action="store_true", help="measure Barnabas alone, without Spark's connector too"
    )
    parser.add_argument("--no-barnabas", action="store_true", help="measure Apache Kafka alone")
    parser.add_argument(
        "--out", type=Path, default=_RESULTS, metavar="DIR", help="for the page and the picture"
    )
    return parser.parse_args(arguments)


def _disturbances(shares: machine.CpuShares) -> list[str]:
    """Figures of a busy machine are not to be read as those of a quiet one."""
    stolen, foreign = shares.stolen_and_foreign()
    notes = []
    if stolen >= 1:
        notes.append(f"The hypervisor gave {stolen:.0f} % of the CPU time to other machines meanwhile.")
    if foreign >= 3:
        notes.append(f"Other processes of this machine took {foreign:.0f} % of the CPU time meanwhile.")
    return notes


def _suffix(options: argparse.Namespace) -> str:
    """A partial run does not overwrite the page of a whole one."""
    if options.only or options.no_apache or options.no_barnabas:
        return "-partial"
    return "-quick" if options.quick else ""


def _launchers(options: argparse.Namespace, progress: Progress) -> tuple[list[Launcher], list[str]]:
    """The brokers to measure, the yardstick first, and what to say about a missing one."""
    launchers: list[Launcher] = []
    notes: list[str] = []
    if not options.no_apache:
        try:
            progress.update("fetching Apache Kafka from Maven Central (once)")
            launchers.append(ApacheKafka.fetch(default_cache()))
        except ApacheKafkaUnavailable as reason:
            notes.append(f"Apache Kafka was not measured: {reason}.")
            progress.line(notes[-1])
    if not options.no_barnabas:
        launchers.append(Barnabas())
    return launchers, notes


def _publish(results: Results, directory: Path, name: str, progress: Progress) -> None:
    sys.stdout.write("\n" + report.terminal_table(results))
    directory.mkdir(parents=True, exist_ok=True)
    page, chart = directory / f"{name}.md", directory / f"{name}.svg"
    chart.write_text(picture.svg(results))
    page.write_text(report.markdown(results, chart.name))
    progress.line(f"written: {page} and {chart}")


if __name__ == "__main__":
    sys.exit(main())
