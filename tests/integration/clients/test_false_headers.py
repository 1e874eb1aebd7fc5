"""Headers that contradict their records: stored, rolled, found by time and deleted as by Apache Kafka."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.apache_kafka import ApacheKafka, default_cache
from tests.integration.clients.false_headers import SETTINGS, observe

from barnabas.testing import Broker

_GOLDEN = Path(__file__).parents[2] / "golden" / "apache-kafka-4.3" / "false-headers.json"


def _golden() -> dict[str, Any]:
    golden: dict[str, Any] = json.loads(_GOLDEN.read_text())
    return golden


def test_false_headers_are_treated_as_by_apache_kafka() -> None:
    with Broker(process=True, config=SETTINGS) as broker:
        assert observe(broker.port, broker.log_dir) == _golden()


@pytest.mark.soak
@pytest.mark.needs("apache-kafka")
def test_apache_kafka_does_what_was_kept(tmp_path: Path) -> None:
    lines = "".join(f"{name}={value}\n" for name, value in SETTINGS.items())
    kafka = ApacheKafka.fetch(default_cache()).launch(tmp_path, lines)
    try:
        assert observe(kafka.port, tmp_path / "logs") == _golden()
    finally:
        kafka.kill()
