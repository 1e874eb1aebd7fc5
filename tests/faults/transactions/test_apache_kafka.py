"""The same clients at Apache Kafka: what the checker reports there would be a fault of the checker."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.apache_kafka import ApacheKafka, default_cache
from tests.faults.transactions.anomalies import Kind
from tests.faults.transactions.broker_settings import SETTINGS
from tests.faults.transactions.checker import check
from tests.faults.transactions.client import SOURCE, TARGET
from tests.faults.transactions.crowd import Crowd
from tests.faults.transactions.run import disturb, drain

from barnabas.testing.admin import Admin

pytestmark = [pytest.mark.soak, pytest.mark.needs("confluent_kafka", "apache-kafka")]
_PARTITIONS = 4
_ROLES = {"producer": 3, "mixer": 2, "transformer": 2, "reader": 2, "watcher": 2}


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    lines = "".join(f"{name}={value}\n" for name, value in SETTINGS.items())
    kafka = ApacheKafka.fetch(default_cache()).launch(tmp_path, lines)
    journals = tmp_path / "journals"
    journals.mkdir()
    crowd = Crowd(f"127.0.0.1:{kafka.port}", _ROLES, journals, partitions=_PARTITIONS, pause=0.02)
    try:
        for topic in (SOURCE, TARGET):
            Admin("127.0.0.1", kafka.port).create_topic(topic, _PARTITIONS, {})
        yield crowd
    finally:
        crowd.kill()
        kafka.kill()


def test_apache_kafka_shows_no_anomalies_but_the_allowed_ones(crowd: Crowd) -> None:
    crowd.start()
    disturb(crowd, random.Random(1), 45.0, None)
    crowd.finish()
    drain(crowd)

    findings = check(crowd.history)

    assert not findings.anomalies, str(findings)
    assert {each.kind for each in findings.allowed} >= {Kind.WRITE_CYCLE, Kind.SKIPPED_SEND}
