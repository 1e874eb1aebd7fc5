"""One broker, one Spark session and one run of the generator, for all tests of this folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.spark.conftest import spark
from tests.integration.spark.drivers.spark_failures import is_sparks_own

from barnabas.pipelines.generator import Plan, Run, Truth
from barnabas.pipelines.generator.plan import Kind
from barnabas.pipelines.generator.sending import Sending, send
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = 1_767_225_600_000  # 2026-01-01T00:00:00Z
PLAN = Plan(seed=11, start_ms=START, span=5400, rate=2, malformed=0.02)
PARTITIONS = 2

__all__ = ["spark"]


@pytest.fixture(scope="module", autouse=True)
def _only_sparks_own_failures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pipelines start failed queries again, as they should: a fault of theirs that heals must not go by
    unseen. What a file makes fail on purpose is in its `MEANT_TO_FAIL`.
    """
    from barnabas.pipelines.common import running

    meant: str | None = getattr(request.module, "MEANT_TO_FAIL", None)
    real: Callable[[Exception], str] = vars(running)["reason_of"]
    foreign: list[str] = []

    def noted(error: Exception) -> str:
        text = str(error)
        if not is_sparks_own(text) and (meant is None or meant not in text):
            foreign.append(text)
        return real(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "reason_of", noted)
        yield
    assert foreign == []


@pytest.fixture(scope="session")
def pipelines_spark(spark: "SparkSession") -> "SparkSession":
    """A session of its own, with the settings of the pipelines, in the process that all tests of Spark
    share.
    """
    from barnabas.pipelines.common.session import session_options
    from barnabas.pipelines.common.settings import Settings

    session = spark.newSession()
    for key, value in session_options(Settings(shuffle_partitions=2)).items():
        session.conf.set(key, value)
    return session


@dataclass(frozen=True, slots=True)
class Sent:
    """Topics filled by the generator, and what is true of them."""

    bootstrap_server: str
    truth: Truth


@contextmanager
def sent_events() -> Iterator[Sent]:
    """A broker of its own, with the same events each time."""
    with Broker(process=True) as broker:
        for kind in Kind:
            broker.create_topic(kind.value, partitions=PARTITIONS)
        run = Run(PLAN)
        send(run, Sending(broker.bootstrap_servers, {kind: kind.value for kind in Kind}, speed=0))
        yield Sent(broker.bootstrap_servers, run.truth)


@pytest.fixture(scope="session")
def sent() -> Iterator[Sent]:
    with sent_events() as sent:
        yield sent


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warehouse")
