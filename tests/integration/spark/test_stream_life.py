"""Lives of streams on real Spark, against the model of the simulated ones in `tests/faults/stream_life`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.faults.stream_life.generator import Mix, generate
from tests.faults.stream_life.life import live
from tests.faults.stream_life.step import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("pyspark", "java")
_MORE = (Step("produce", amount=3), Step("produce", partition=1, amount=3))
_TRACES = {
    "a driver, a worker and a poison record": [
        *(Step("start", option="sink"), *_MORE, Step("kill", option="committed")),
        *(Step("grow"), Step("produce", partition=2, amount=3), Step("run", option="worker")),
        *(Step("produce", amount=1, option="poison"), *_MORE, Step("run"), Step("run")),
    ],
    "a restored checkpoint": [
        *(Step("start", option="sink"), *_MORE, Step("run"), Step("back_up"), *_MORE, Step("run"), *_MORE),
        *(Step("restore"), Step("run")),
    ],
}
_SOAKED = {
    "expired records": [
        *(Step("start", option="sink"), *_MORE, Step("run"), *_MORE, Step("expire", amount=100)),
        *(Step("run"), Step("run")),
    ],
    "a topic created anew": [
        *(Step("start", option="sink"), *_MORE, Step("run"), Step("recreate"), Step("produce", amount=9)),
        *(Step("run"), Step("run")),
    ],
    "one txnAppId with two targets": [
        *(Step("start", option="pair"), *_MORE, Step("kill", option="committed"), *_MORE, Step("run")),
    ],
    "a deleted checkpoint with a txnAppId": [
        *(Step("start", option="app"), *_MORE, Step("run"), Step("delete"), Step("run")),
    ],
    "a copy for another target": [
        *(Step("start", option="sink"), *_MORE, Step("run"), Step("copy", amount=1), *_MORE),
        *(Step("run"), *_MORE, Step("run", 1)),
    ],
}
_WEIGHTS = {
    "start": 4, "produce": 16, "run": 10, "kill": 4, "back_up": 3, "restore": 2, "copy": 1, "delete": 1,
    "recreate": 1, "grow": 1, "expire": 2, "check": 1,
}  # fmt: skip


def _param(name: str) -> object:
    return pytest.param(name, marks=[pytest.mark.soak] if name in _SOAKED else [])


@pytest.mark.parametrize("name", [_param(name) for name in (*_TRACES, *_SOAKED)])
def test_life_on_spark(spark: "SparkSession", name: str, tmp_path: Path) -> None:
    from tests.faults.stream_life.spark_driver import SparkDriver

    lived = live({**_TRACES, **_SOAKED}[name], tmp_path, partial(SparkDriver, spark))

    assert lived.failure is None, str(lived.failure)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_random_life_on_spark(spark: "SparkSession", seed: int, tmp_path: Path) -> None:
    from tests.faults.stream_life.spark_driver import SparkDriver

    ways = ("", "", "", "worker")  # slow rows on Spark: test_sink_lives.py
    mix = Mix(_WEIGHTS, kinds=("sink", "loose", "shared", "pair"), deaths=("committed",), ways=ways)
    lived = live(generate(seed, 25, mix), tmp_path, partial(SparkDriver, spark))

    assert lived.failure is None, str(lived.failure)
