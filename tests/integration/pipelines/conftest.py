"""One broker, one Spark session and one run of the generator, for all tests of this folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.spark.conftest import spark

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
def told_events() -> Iterator[Sent]:
    """A broker of its own, with the same events each time."""
    with Broker(process=True) as broker:
        for kind in Kind:
            broker.create_topic(kind.value, partitions=PARTITIONS)
        run = Run(PLAN)
        send(run, Sending(broker.bootstrap_servers, {kind: kind.value for kind in Kind}, speed=0))
        yield Sent(broker.bootstrap_servers, run.truth)


@pytest.fixture(scope="session")
def sent() -> Iterator[Sent]:
    with told_events() as told:
        yield told


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warehouse")
