"""Transactions on three brokers that are killed, paused and restarted, in combination: nothing goes wrong.

Besides what a single broker promises (`checker`): no two leaders in an epoch, no end offset and no committed
group offset goes back (`cluster_watch`), and after a clean stop the replicas are equal byte by byte.

The long run takes `BARNABAS_SOAK_SECONDS` (120 by default) and writes its report to
`BARNABAS_CLUSTER_SOAK_REPORT` (`.cache/cluster-soak.md` by default).
"""

import os
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.faults.transactions.anomalies import Anomaly, Kind
from tests.faults.transactions.broker_settings import SETTINGS
from tests.faults.transactions.checker import check
from tests.faults.transactions.client import SOURCE, TARGET, TRANSFORMERS
from tests.faults.transactions.cluster_faults import ClusterFaults
from tests.faults.transactions.cluster_watch import ClusterWatch
from tests.faults.transactions.crowd import Crowd
from tests.faults.transactions.history import History, Outcome
from tests.faults.transactions.report import Run, report
from tests.faults.transactions.run import PATIENCE, drain

from barnabas.testing import Cluster

pytestmark = pytest.mark.needs("confluent_kafka")
_PARTITIONS = 3
_BROKERS = 3
_FEW = {"producer": 2, "transformer": 1, "reader": 1}
_MANY = {"producer": 3, "mixer": 2, "transformer": 2, "reader": 1, "watcher": 1}
_SECONDS = float(os.environ.get("BARNABAS_SOAK_SECONDS", "120"))
_REPORT = os.environ.get("BARNABAS_CLUSTER_SOAK_REPORT", ".cache/cluster-soak.md")
_AT_LEAST = 20
_SETTINGS: Mapping[str, object] = {
    **SETTINGS,
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "min.insync.replicas": 2,
    "broker.session.timeout.ms": 3000,
    "replica.lag.time.max.ms": 3000,
    "log.cleaner.enable": "false",
}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(_BROKERS, config=_SETTINGS) as started:
        for topic in (SOURCE, TARGET):
            started.create_topic(topic, _PARTITIONS)
        yield started


@pytest.mark.parametrize(
    ("roles", "seconds"),
    [
        pytest.param(_FEW, 15.0, id="short"),
        pytest.param(_MANY, _SECONDS, id="long", marks=pytest.mark.soak),
    ],
)
def test_transactions_survive_the_death_of_brokers(
    cluster: Cluster,
    tmp_path: Path,
    project: Path,
    roles: Mapping[str, int],
    seconds: float,
    request: pytest.FixtureRequest,
) -> None:
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    crowd = Crowd(
        cluster.bootstrap_servers, roles, tmp_path, partitions=_PARTITIONS, pause=0.02, may_crash=True
    )
    faults = ClusterFaults(cluster, rng)
    ports = [each.port for each in cluster.brokers]
    begun = time.monotonic()
    try:
        crowd.start()
        with ClusterWatch(ports, [SOURCE, TARGET], TRANSFORMERS) as watch:
            _disturb(crowd, faults, rng, begun + seconds)
            faults.heal()
            for topic in (SOURCE, TARGET):
                for number in range(_PARTITIONS):
                    cluster.wait_for_isr(topic, number, range(_BROKERS), PATIENCE)
            crowd.finish()
        lasted = time.monotonic() - begun
        drain(crowd)
    finally:
        crowd.kill()
    history = crowd.history

    findings = check(history)
    different = _stop_and_compare(cluster)
    findings = replace(findings, anomalies=[*findings.anomalies, *watch.findings, *different])

    settings = {**_SETTINGS, **roles, "partitions a topic": _PARTITIONS, "seed": seed, "looks": watch.looks}
    page = report(Run(settings, lasted, crowd.faults + faults.counts), history, findings)
    if request.node.get_closest_marker("soak") is not None:
        path = project / _REPORT
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page)
    assert not findings.anomalies, page
    assert _committed(history) >= _AT_LEAST, page
    assert faults.counts, "nothing happened"
    assert watch.looks > 100, "the cluster was not watched"


def _disturb(crowd: Crowd, faults: ClusterFaults, rng: random.Random, end: float) -> None:
    """For so long, and on a busy machine until enough is committed."""
    next_of_crowd = time.monotonic()
    while time.monotonic() < end or (
        time.monotonic() < end + PATIENCE and _committed(crowd.history) < _AT_LEAST
    ):
        time.sleep(0.1)
        faults.step()
        if time.monotonic() > next_of_crowd:
            crowd.disturb(rng)
            next_of_crowd = time.monotonic() + rng.uniform(0.5, 2.5)


def _stop_and_compare(cluster: Cluster) -> Iterator[Anomaly]:
    """The replicas of each partition are equal up to the end of the shortest: others may go on."""
    for number in range(_BROKERS):
        cluster.stop(number)
    names = {
        each.name
        for broker in cluster.brokers
        for each in broker.log_dir.iterdir()
        if each.is_dir() and not each.name.endswith(("-delete", "-stray"))
    }
    assert len(names) > 2 * _PARTITIONS
    for name in sorted(names):
        logs = [_log_bytes(broker.log_dir / name) for broker in cluster.brokers]
        shortest = min(map(len, logs))
        if any(log[:shortest] != logs[0][:shortest] for log in logs):
            yield Anomaly(Kind.REPLICAS_DIFFER, f"the logs of {name} have {[len(log) for log in logs]} bytes")


def _log_bytes(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def _committed(history: History) -> int:
    return sum(each.outcome is Outcome.COMMITTED for each in history.transactions)
