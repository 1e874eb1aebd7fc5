"""A program that is run by the Python of an environment that is not activated."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.spark.queries import numbered, produce
from tests.integration.spark.spark_programs import SHORT_LIFE
from tests.patience import PROGRAM_PATIENCE

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("pyspark", "java")

_PROGRAM = """
import sys
import barnabas.spark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
options = {"kafka.bootstrap.servers": sys.argv[1], "subscribe": sys.argv[2]}
print("rows:", spark.read.format("barnabas").options(**options).load().count())
"""


def test_a_program_finds_the_source_from_an_environment_that_is_not_activated(
    kafka_broker: Broker, kafka_topic: str, tmp_path: Path
) -> None:
    produce(kafka_broker, kafka_topic, numbered(0, 7))
    (tmp_path / "job.py").write_text(_PROGRAM)
    done = subprocess.run(
        [sys.executable, "job.py", kafka_broker.bootstrap_servers, kafka_topic],
        env=_not_activated(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PROGRAM_PATIENCE,
        check=False,
    )
    assert "rows: 7" in done.stdout, done.stderr[-3000:]


def _not_activated() -> dict[str, str]:
    """No variable of Spark's or the environment's, and none of its programs on the PATH."""
    own = Path(sys.executable).parent
    paths = [each for each in os.environ["PATH"].split(os.pathsep) if Path(each) != own]
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYSPARK_", "VIRTUAL_ENV", "PYTHON"))
    }
    return {
        **kept,
        "PATH": os.pathsep.join(paths),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_TOOL_OPTIONS": SHORT_LIFE,
    }
