"""Drivers and brokers that die in the middle: every result is there, and there once."""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.pipelines.conftest import Sent, sent_events
from tests.integration.pipelines.reading import records, table
from tests.integration.spark.spark_programs import environment
from tests.patience import PROGRAM_PATIENCE

from barnabas.pipelines.common.delta_files import Store
from barnabas.pipelines.common.delta_table import DeltaLakeTable
from barnabas.pipelines.common.settings import Settings
from barnabas.pipelines.generator import Plan, Run
from barnabas.pipelines.generator.plan import Kind
from barnabas.pipelines.generator.sending import Sending, send
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("pyspark", "java")
DRIVER = Path(__file__).parent / "drivers" / "dying_logs.py"
BATCH = 1500


@pytest.fixture(scope="module")
def sent() -> Iterator[Sent]:
    """Not the topics of the others: here the same lines are read more than once."""
    with sent_events() as sent:
        yield sent


def delta(warehouse: Path) -> DeltaLakeTable:
    return DeltaLakeTable(Store(str(warehouse / "access_logs"), {}))


def arguments(sent: Sent, warehouse: Path, table_format: str = "delta") -> list[str]:
    given = {
        "format": table_format,
        "bootstrap-server": sent.bootstrap_server,
        "warehouse": warehouse,
        "master": "local[2]",
        "trigger": "0 seconds",
        "max-offsets": BATCH,
        "shuffle-partitions": 2,
        "error-rates-topic": f"{warehouse.name}-rates",
        "partitions": 1,
    }
    return [f"--{name}={value}" for name, value in given.items()]


def run_to_the_end(spark: "SparkSession", sent: Sent, warehouse: Path, table_format: str = "delta") -> None:
    """The same pipeline, from its checkpoints, in the session that the tests share."""
    from barnabas.pipelines.common import topics
    from barnabas.pipelines.common.running import Runner
    from barnabas.pipelines.common.settings import read
    from barnabas.pipelines.log_collection.pipeline import LogSettings, queries

    flags = [*arguments(sent, warehouse, table_format), "--available-now", "--restarts=20"]
    settings = read(LogSettings, "logs", "", flags, {})
    topics.ensure(sent.bootstrap_server, [settings.error_rates_topic], 1)
    assert Runner(settings).run(queries(spark, settings)[:1]) == 0


def check(sent: Sent, warehouse: Path, letters_before: int) -> None:
    rows = table(warehouse, "access_logs")
    assert not rows.duplicated(["source_partition", "source_offset"]).any()
    assert len(rows) == len(sent.truth.kept_logs)
    expected = {reason: count for (of, reason), count in sent.truth.malformed.items() if of is Kind.LOG}
    letters = records(sent.bootstrap_server, "access-logs.dead-letters")
    assert len(letters) - letters_before == sum(expected.values())
    # Tests before this one may have read the same lines: as many times as that, each reason is there.
    times = len(letters) // sum(expected.values())
    reasons = Counter(letter.headers["error"].decode() for letter in letters)
    assert reasons == {reason: count * times for reason, count in expected.items()}


def letters_now(sent: Sent) -> int:
    from barnabas.pipelines.common import topics

    topics.ensure(sent.bootstrap_server, ["access-logs.dead-letters"], 2)
    return len(records(sent.bootstrap_server, "access-logs.dead-letters"))


@pytest.mark.parametrize(
    ("table_format", "point"),
    [
        pytest.param("delta", "committed"),
        pytest.param("delta", "staged", marks=pytest.mark.soak),
        pytest.param("delta", "between-outputs", marks=pytest.mark.soak),
        pytest.param("delta", "written", marks=pytest.mark.soak),
        pytest.param("parquet", "staged", marks=pytest.mark.soak),
        pytest.param("parquet", "decided", marks=pytest.mark.soak),
    ],
)
def test_a_driver_killed_at_a_point_of_a_batch_loses_and_doubles_nothing(
    pipelines_spark: "SparkSession", sent: Sent, tmp_path: Path, table_format: str, point: str
) -> None:
    before = letters_now(sent)
    driver = subprocess.run(
        [sys.executable, str(DRIVER), point, "1", *arguments(sent, tmp_path, table_format)],
        start_new_session=True,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert driver.returncode == -signal.SIGKILL, driver.stderr
    assert 0 < len(table(tmp_path, "access_logs")) < len(sent.truth.kept_logs)
    run_to_the_end(pipelines_spark, sent, tmp_path, table_format)
    check(sent, tmp_path, before)
    checkpoint = Settings(warehouse=str(tmp_path)).checkpoint_of("logs-lines")
    assert len(list((checkpoint / "commits").glob("[0-9]*"))) >= 3
    if table_format == "delta":
        assert len(list(delta(tmp_path).versions())) >= 3
    else:
        assert not list((tmp_path / "access_logs" / "_commits").glob("*.intent"))


@pytest.mark.soak
def test_a_broker_killed_while_a_pipeline_runs_loses_and_doubles_nothing(
    pipelines_spark: "SparkSession", tmp_path: Path
) -> None:
    with Broker(process=True) as broker:
        for kind in Kind:
            broker.create_topic(kind.value, partitions=2)
        run = Run(Plan(seed=5, start_ms=1_767_225_600_000, span=3600, rate=4))
        send(run, Sending(broker.bootstrap_servers, {kind: kind.value for kind in Kind}, speed=0))
        sent = Sent(broker.bootstrap_servers, run.truth)
        driver = subprocess.Popen(
            [sys.executable, "-m", "barnabas.pipelines.log_collection", *arguments(sent, tmp_path)],
            start_new_session=True,
            env=environment(),
        )
        try:
            wait_for(lambda: len(delta(tmp_path).files()) >= 1)
            broker.kill()
            time.sleep(3)
            broker.start()
            wait_for(lambda: len(table(tmp_path, "access_logs")) >= len(run.truth.kept_logs))
            driver.terminate()
            assert driver.wait(PROGRAM_PATIENCE) == 0
        finally:
            driver.kill()
        run_to_the_end(pipelines_spark, sent, tmp_path)
        check(sent, tmp_path, 0)


def wait_for(condition: Callable[[], bool], seconds: float = 240) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)
