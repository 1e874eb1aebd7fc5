"""`make demo`: a broker, six hours of events in half a minute, three pipelines over them, and the report.

Everything lies in one directory (`demo` unless another is named), which is made anew each time; nothing is
left running.
"""

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines.common import topics
from barnabas.pipelines.common.dead_letters import topic_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipelines.common.queries import Query
    from barnabas.pipelines.common.settings import Settings

_MARK = ".barnabas-demo"
"""A directory without it is not a demo, and is left alone."""
_SECONDS, _SPEED, _RATE = 30, 720, 4000
_PATIENCE = 60.0
_PAGE = "report.html"
_SINGLE = """\
log.dirs={logs}
listeners=PLAINTEXT://127.0.0.1:{port}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    home = Path(words[0] if words else "demo").absolute()
    if home.exists() and not (home / _MARK).exists():
        _say(f"{home} is there already, and is no demo: name another directory")
        return 1
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / _MARK).touch()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    begin = time.monotonic()
    try:
        with _broker(home) as server:
            _run(home, server)
    except KeyboardInterrupt:
        return 130
    page = home / _PAGE
    if not page.exists():
        return 1
    _say(f"Done in {time.monotonic() - begin:.0f} s. The page:")
    sys.stdout.write(f"{page}\n")
    return 0


def _run(home: Path, server: str) -> None:
    _say(f"2/5 events: {_SECONDS * _SPEED // 3600} hours of a shop, sent in {_SECONDS} seconds")
    with _generator(server) as generator:
        _say("3/5 Spark starts; the pipelines logs, activity and metrics begin while events come in")
        spark = _open(home, server)
        try:
            _pipelines(spark, home, server)
            generator.wait()
            _say("    the generator has ended: to the end of the data")
            _pipelines(spark, home, server)
            _say("4/5 dead letters to tables (offline-load)")
            _load_dead_letters(spark, home, server)
        finally:
            spark.stop()
    _say("5/5 the report (a Declarative Pipelines project)")
    _report(home)


def _common(home: Path, server: str) -> dict[str, object]:
    return {
        "bootstrap_server": server,
        "warehouse": str(home / "warehouse"),
        "available_now": True,
    }


def _open(home: Path, server: str) -> "SparkSession":
    from barnabas.pipelines.common.session import open_session
    from barnabas.pipelines.common.settings import Settings

    return open_session(Settings(**_common(home, server)), "barnabas-demo")  # type: ignore[arg-type]


def _pipelines(spark: "SparkSession", home: Path, server: str) -> None:
    """All three in one Spark, each to the end of what is there."""
    from barnabas.pipelines.activity_tracking import pipeline as activity
    from barnabas.pipelines.log_collection import pipeline as logs
    from barnabas.pipelines.metrics_alerts import pipeline as metrics

    common = _common(home, server)
    of_logs = logs.LogSettings(**common)  # type: ignore[arg-type]
    of_activity = activity.ActivitySettings(**common)  # type: ignore[arg-type]
    of_metrics = metrics.MetricsSettings(**common)  # type: ignore[arg-type]
    names = (
        of_logs.logs_topic, of_logs.error_rates_topic, of_activity.activity_topic, of_activity.sessions_topic,
        of_activity.page_counts_topic, of_activity.top_pages_topic, of_metrics.metrics_topic,
        of_metrics.windows_topic, of_metrics.alerts_topic,
        topic_of(of_logs.logs_topic), topic_of(of_activity.activity_topic),
        topic_of(of_metrics.metrics_topic),
    )  # fmt: skip
    topics.ensure(server, names, of_logs.partitions)
    pipelines: list[list[Query]] = [
        logs.queries(spark, of_logs),
        activity.queries(spark, of_activity),
        metrics.queries(spark, of_metrics),
    ]
    # One after the other: every query has processes of its own, and seven at once choke two cores.
    for queries in pipelines:
        _finish(of_logs, queries)


def _load_dead_letters(spark: "SparkSession", home: Path, server: str) -> None:
    from barnabas.pipelines.offline_load import pipeline as offline_load

    settings = offline_load.LoadSettings(**_common(home, server), topics_pattern=r".*\.dead-letters")  # type: ignore[arg-type]
    _finish(settings, offline_load.queries(spark, settings))


def _finish(settings: "Settings", queries: "list[Query]") -> None:
    from barnabas.pipelines.common.running import Runner

    class Stoppable(Runner):
        @property
        def was_stopped(self) -> bool:
            return self._stop.is_set()

    runner = Stoppable(settings)
    status = runner.run(queries)
    if runner.was_stopped:  # a runner ends well at a signal; the demo ends with it
        raise KeyboardInterrupt
    if status:
        raise SystemExit(status)


def _report(home: Path) -> None:
    from barnabas.pipelines.report import pipeline as report

    settings = report.ReportSettings(
        warehouse=str(home / "warehouse"), output=str(home / _PAGE), heading="A day at the shop"
    )
    status = report.run(settings)
    if status:
        raise SystemExit(status)


# --- what runs beside --------------------------------------------------------------------------------------


@contextmanager
def _broker(home: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    properties = home / "server.properties"
    properties.write_text(_SINGLE.format(logs=home / "broker", port=port))
    server = f"127.0.0.1:{port}"
    with (
        (home / "broker.log").open("w") as log,
        _process("barnabas", "serve", str(properties), log=log) as broker,
    ):
        _await(server, broker, home / "broker.log")
        _say(f"1/5 broker on {server}")
        yield server


@contextmanager
def _generator(server: str) -> "Iterator[subprocess.Popen[bytes]]":
    pace = ("--duration", str(_SECONDS), "--speed", str(_SPEED), "--rate", str(_RATE))
    # Chosen so that what the picture of the documents shows happens again.
    with _process(
        "barnabas.pipelines.generator", "--bootstrap-server", server, *pace, "--seed", "7"
    ) as process:
        topics.ensure(server, ("access-logs", "activity", "metrics"), 4)
        yield process


@contextmanager
def _process(module: str, *arguments: str, log: object = None) -> "Iterator[subprocess.Popen[bytes]]":
    """`python -m module`, ended with the block."""
    process = subprocess.Popen(  # type: ignore[call-overload]
        [sys.executable, "-m", module, *arguments], stdout=log, stderr=log and subprocess.STDOUT
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(server: str, broker: "subprocess.Popen[bytes]", log: Path) -> None:
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import ClientError
    from barnabas.client.settings import ClientSettings

    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and broker.poll() is None:
        try:
            with Cluster(ClientSettings.of(server)) as cluster:
                cluster.metadata([])
                return
        except (ClientError, OSError):
            time.sleep(0.2)
    raise SystemExit(f"the broker did not start; see {log}")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    raise SystemExit(main())
