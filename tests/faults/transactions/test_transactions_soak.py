"""Transactions under faults: clients are killed, frozen, replaced, the broker is killed, nothing goes wrong.

The long run takes `BARNABAS_SOAK_SECONDS` (120 by default) and writes its report to `BARNABAS_SOAK_REPORT`
(`.cache/transactions-soak.md` by default).
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.faults.conftest import Serve
from tests.faults.served import Served
from tests.faults.transactions.broker_settings import SETTINGS
from tests.faults.transactions.checker import check
from tests.faults.transactions.client import SOURCE, TARGET
from tests.faults.transactions.crowd import Crowd
from tests.faults.transactions.history import History, Outcome
from tests.faults.transactions.report import Run, report
from tests.faults.transactions.run import PATIENCE, disturb, drain

from barnabas.testing.admin import Admin

pytestmark = pytest.mark.needs("confluent_kafka")
_PARTITIONS = 4
_FEW = {"producer": 2, "mixer": 2, "transformer": 2, "reader": 1, "watcher": 1}
_MANY = {"producer": 4, "mixer": 3, "transformer": 3, "reader": 2, "watcher": 2}
_SECONDS = float(os.environ.get("BARNABAS_SOAK_SECONDS", "120"))
_REPORT = os.environ.get("BARNABAS_SOAK_REPORT", ".cache/transactions-soak.md")
_AT_LEAST = 50
OpenCrowd = Callable[[Mapping[str, int], float], Crowd]


@pytest.fixture
def broker(serve: Serve) -> Served:
    started: Served = serve(SETTINGS).start()
    for topic in (SOURCE, TARGET):
        Admin("127.0.0.1", started.port).create_topic(topic, _PARTITIONS, {})
    return started


@pytest.fixture
def open_crowd(broker: Served, tmp_path: Path) -> Iterator[OpenCrowd]:
    crowds: list[Crowd] = []

    def new(roles: Mapping[str, int], pause: float) -> Crowd:
        directory = tmp_path / "journals"
        directory.mkdir()
        crowds.append(
            Crowd(f"127.0.0.1:{broker.port}", roles, directory, partitions=_PARTITIONS, pause=pause)
        )
        return crowds[-1]

    yield new
    for crowd in crowds:
        crowd.kill()


@pytest.mark.parametrize(
    ("roles", "seconds", "pause"),
    [
        pytest.param(_FEW, 15.0, 0.02, id="short"),
        pytest.param(_MANY, _SECONDS, 0.02, id="long", marks=pytest.mark.soak),
    ],
)
def test_transactions_survive(
    broker: Served,
    open_crowd: OpenCrowd,
    project: Path,
    roles: Mapping[str, int],
    seconds: float,
    pause: float,
    request: pytest.FixtureRequest,
) -> None:
    seed = random.randrange(1 << 30)
    crowd = open_crowd(roles, pause)
    begun = time.monotonic()
    crowd.start()
    rng = random.Random(seed)
    disturb(crowd, rng, seconds, broker)
    while _committed(crowd.history) < _AT_LEAST and time.monotonic() < begun + seconds + PATIENCE:
        disturb(crowd, rng, 2, broker)  # on a machine that is busy with other things
    crowd.finish()
    lasted = time.monotonic() - begun
    drain(crowd)
    history = crowd.history

    findings = check(history)

    settings = {**SETTINGS, **roles, "partitions a topic": _PARTITIONS, "mean pause": pause, "seed": seed}
    page = report(Run(settings, lasted, crowd.faults), history, findings)
    if request.node.get_closest_marker("soak") is not None:
        path = project / _REPORT
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page)
    assert not findings.anomalies, page
    assert _committed(history) >= _AT_LEAST, page
    assert crowd.faults["broker killed"], "nothing happened"
    broker.assert_no_traceback()


def _committed(history: History) -> int:
    return sum(each.outcome is Outcome.COMMITTED for each in history.transactions)
