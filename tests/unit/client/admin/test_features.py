from collections.abc import Mapping
from typing import Any

import pytest
from tests.fakes.scripted_broker import ScriptedBroker

from barnabas.client.address import parse_addresses
from barnabas.client.admin.features import SAFE_DOWNGRADE, UPGRADE, update_features
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings

INVALID_UPDATE = 95


def _cluster(broker: ScriptedBroker) -> Cluster:
    return Cluster(ClientSettings(tuple(parse_addresses(broker.address)), patience=0.0))


@pytest.mark.parametrize("version", [0, 1])
def test_older_brokers_answer_for_each_feature(version: int) -> None:
    def answer(request: Any) -> Mapping[str, object]:
        results = [
            {"feature": "a", "error_code": 0, "error_message": None},
            {"feature": "b", "error_code": INVALID_UPDATE, "error_message": "not b"},
        ]
        return {"error_code": 0, "error_message": None, "results": results}

    with (
        ScriptedBroker({"update_features": answer}, versions={"update_features": version}) as broker,
        _cluster(broker) as cluster,
    ):
        errors = update_features(cluster, {"a": 1, "b": 2}, SAFE_DOWNGRADE)
    assert errors["a"] is None
    assert str(errors["b"]) == "not b"


def test_newer_brokers_do_all_or_nothing() -> None:
    both: list[Mapping[str, object]] = [{"error_code": 0}, {"error_code": INVALID_UPDATE}]
    answers = iter(both)
    with (
        ScriptedBroker({"update_features": lambda request: next(answers)}) as broker,
        _cluster(broker) as cluster,
    ):
        assert update_features(cluster, {"a": 1, "b": 2}, UPGRADE, validate_only=True) == {
            "a": None,
            "b": None,
        }
        request = broker.requests[-1]
        assert request.validate_only is True
        assert [
            (each.feature, each.max_version_level, each.upgrade_type) for each in request.feature_updates
        ] == [
            ("a", 1, 1),
            ("b", 2, 1),
        ]
        failed = update_features(cluster, {"a": 1, "b": 2}, UPGRADE)
    assert all(error is not None and error.code == INVALID_UPDATE for error in failed.values())
