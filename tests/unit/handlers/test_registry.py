"""The table of APIs beside what Apache Kafka 4.3.1 advertises."""

import re
from pathlib import Path

import pytest
from tests.fakes.node import Node

from barnabas.handlers.registry import API_VERSIONS, APIS, PRODUCE, handler_of

_GOLDEN = Path(__file__).parents[2] / "golden" / "apache-kafka-4.3" / "apis.txt"
_LINE = re.compile(r"(?P<name>\w+)\((?P<key>\d+)\): (?P<first>\d+)(?: to (?P<last>\d+))?")
_TELEMETRY = {71, 72}
"""Listed without versions: Kafka advertises them with a receiver of telemetry only."""


def _of_kafka() -> dict[int, tuple[str, int, int]]:
    found = {}
    for line in _GOLDEN.read_text().splitlines():
        if (match := _LINE.fullmatch(line)) is not None:
            first = int(match["first"])
            found[int(match["key"])] = match["name"], first, int(match["last"] or first)
    return found


def test_every_api_of_kafka_is_answered_in_its_versions() -> None:
    ours = {
        api.key: (api.name, api.advertised_min, api.max_version - 1 if api.opened_by else api.max_version)
        for api in APIS.values()
        if api.key not in _TELEMETRY and not api.is_between_brokers
    }
    assert ours == _of_kafka()


def test_every_api_has_a_handler() -> None:
    assert all(callable(handler_of(key)) for key in APIS)


def test_api_versions_names_what_is_advertised(node: Node) -> None:
    answer = node.ask("ApiVersions", 4, client_software_name="test", client_software_version="1")
    named = {each.api_key for each in answer.api_keys}
    assert named == {key for key, api in APIS.items() if api.is_advertised}
    assert named >= {PRODUCE, API_VERSIONS}


@pytest.mark.parametrize(
    "feature", ["ShareFetch", "ShareGroupHeartbeat", "StreamsGroupHeartbeat", "GetTelemetrySubscriptions"]
)
def test_features_that_clients_would_use_are_not_advertised(feature: str) -> None:
    (api,) = (api for api in APIS.values() if api.name == feature)
    assert not api.is_advertised
