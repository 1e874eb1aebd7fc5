from collections.abc import Mapping
from typing import Any

import pytest
from tests.fakes.scripted_broker import Answer
from tests.fakes.scripted_cluster import scripted_cluster

from barnabas.client.admin.configs import (
    BROKER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    TOPIC,
    Change,
    Resource,
    Synonym,
    alter_configs,
    configured_groups,
    describe_configs,
    list_config_resources,
)
from barnabas.client.errors import BadSettings, BrokerError, Unreachable, Unsupported

INVALID_CONFIG, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_SERVER_ERROR = 40, 31, -1


def _described(request: Any) -> Mapping[str, object]:
    synonym = {"name": "log.retention.ms", "value": "5", "source": 4}
    entry = {
        "name": "retention.ms",
        "value": "1",
        "read_only": False,
        "config_source": 1,
        "is_sensitive": False,
        "synonyms": [synonym],
    }
    hidden = {**entry, "name": "password", "value": None, "is_sensitive": True, "config_source": 99}
    default = {**entry, "name": "segment.ms", "config_source": 5, "synonyms": []}
    results = [
        {
            "error_code": 0,
            "resource_type": each.resource_type,
            "resource_name": each.resource_name,
            "configs": [entry, hidden, default],
        }
        for each in request.resources
    ]
    return {"results": results}


def test_settings_are_described_with_sources_and_synonyms() -> None:
    resource = Resource(TOPIC, "t")
    with scripted_cluster({"describe_configs": _described}) as (cluster, broker):
        entry, hidden, default = describe_configs(cluster, [resource], synonyms=True)[resource]
    assert (entry.name, entry.value, entry.source) == ("retention.ms", "1", "DYNAMIC_TOPIC_CONFIG")
    assert entry.synonyms == (Synonym("log.retention.ms", "5", "STATIC_BROKER_CONFIG"),)
    assert (hidden.value, hidden.is_sensitive, hidden.source) == (None, True, "UNKNOWN")
    assert [each.is_default for each in (entry, default)] == [False, True]
    assert broker.requests[-1].include_synonyms


def test_broker_settings_are_requested_from_the_broker_and_others_from_any() -> None:
    own, every, topic = Resource(BROKER, "1"), Resource(BROKER, ""), Resource(TOPIC, "t")
    with scripted_cluster({"describe_configs": _described}) as (cluster, broker):
        found = describe_configs(cluster, [own, topic, every])
    assert set(found) == {own, every, topic}
    requested = [
        {each.resource_name for each in request.resources}
        for request in broker.requests
        if hasattr(request, "resources")
    ]
    assert requested == [{"1"}, {"t", ""}]


def test_a_broker_that_is_not_there_is_named() -> None:
    with scripted_cluster({"describe_configs": _described}) as (cluster, _):
        with pytest.raises(Unreachable, match="no broker 7"):
            describe_configs(cluster, [Resource(BROKER, "7")])
        with pytest.raises(BadSettings, match="'x' is not a broker id"):
            describe_configs(cluster, [Resource(BROKER, "x")])


def test_the_broker_says_why_it_does_not_describe() -> None:
    result = {"error_code": INVALID_CONFIG, "error_message": "bad name", "resource_type": TOPIC}
    answer = {"results": [{**result, "resource_name": "t", "configs": []}]}
    with (
        scripted_cluster({"describe_configs": answer}) as (cluster, _),
        pytest.raises(BrokerError, match=r"^bad name$"),
    ):
        describe_configs(cluster, [Resource(TOPIC, "t")])


def test_alterations_set_and_delete() -> None:
    answer = {"responses": [{"error_code": 0, "resource_type": TOPIC, "resource_name": "t"}]}
    with scripted_cluster({"incremental_alter_configs": answer}) as (cluster, broker):
        changes = [Change("a", None, DELETE), Change("b", "2")]
        alter_configs(cluster, {Resource(TOPIC, "t"): changes}, validate_only=True)
    (request,) = broker.requests
    (resource,) = request.resources
    assert request.validate_only
    assert [(each.name, each.config_operation, each.value) for each in resource.configs] == [
        ("a", DELETE, None),
        ("b", 0, "2"),
    ]


def test_a_refused_alteration_is_an_error() -> None:
    response = {"error_code": INVALID_CONFIG, "error_message": "Unknown topic config name: x"}
    answer = {"responses": [{**response, "resource_type": TOPIC, "resource_name": "t"}]}
    with (
        scripted_cluster({"incremental_alter_configs": answer}) as (cluster, _),
        pytest.raises(BrokerError, match="Unknown topic config name: x"),
    ):
        alter_configs(cluster, {Resource(TOPIC, "t"): [Change("x", "1")]})


def _listed(*names: str, kind: int) -> Mapping[str, object]:
    listed = [{"resource_name": name, "resource_type": kind} for name in names]
    return {"error_code": 0, "config_resources": listed}


def test_resources_with_settings_are_listed_sorted() -> None:
    with scripted_cluster({"list_config_resources": _listed("b", "a", kind=GROUP)}) as (cluster, broker):
        assert list_config_resources(cluster, GROUP) == ["a", "b"]
        assert configured_groups(cluster) == ["a", "b"]
    assert broker.requests[0].resource_types == (GROUP,)


def test_an_older_broker_lists_client_metrics_only() -> None:
    answers = {"list_config_resources": _listed("m", kind=CLIENT_METRICS)}
    with scripted_cluster(answers, {"list_config_resources": 0}) as (cluster, _):
        assert list_config_resources(cluster, CLIENT_METRICS) == ["m"]
        with pytest.raises(Unsupported):
            list_config_resources(cluster, GROUP)
        assert configured_groups(cluster) is None


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({}, None),
        ({"list_config_resources": {"error_code": CLUSTER_AUTHORIZATION_FAILED}}, None),
        ({"list_config_resources": _listed(kind=GROUP)}, []),
    ],
)
def test_not_knowing_the_groups_differs_from_there_being_none(
    answers: Mapping[str, Answer], expected: list[str] | None
) -> None:
    with scripted_cluster(answers) as (cluster, _):
        assert configured_groups(cluster) == expected


def test_another_error_while_listing_groups_is_raised() -> None:
    with (
        scripted_cluster({"list_config_resources": {"error_code": UNKNOWN_SERVER_ERROR}}) as (cluster, _),
        pytest.raises(BrokerError),
    ):
        configured_groups(cluster)
