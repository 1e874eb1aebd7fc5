from collections.abc import Mapping

import pytest
from tests.fakes.scripted_broker import Answer
from tests.fakes.scripted_cluster import scripted_cluster

from barnabas.client.admin.quotas import CLIENT_ID, USER, Quotas, alter_quotas, describe_quotas
from barnabas.client.errors import BrokerError

INVALID_REQUEST = 42


def _entry(parts: Mapping[str, str | None], **values: float) -> Mapping[str, object]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in parts.items()],
        "values": [{"key": key, "value": value} for key, value in values.items()],
    }


def test_quotas_come_sorted_and_the_user_before_the_client() -> None:
    entries = [
        _entry({"client-id": "app", "user": "bob"}, request_percentage=0.5, consumer_byte_rate=1e7),
        _entry({"client-id": None, "user": "alice"}, producer_byte_rate=1.0),
    ]
    with scripted_cluster({"describe_client_quotas": {"error_code": 0, "entries": entries}}) as (
        cluster,
        broker,
    ):
        found = describe_quotas(cluster, [(USER, None), (CLIENT_ID, "")])
    assert found == [
        Quotas(((USER, "alice"), (CLIENT_ID, "")), {"producer_byte_rate": 1.0}),
        Quotas(((USER, "bob"), (CLIENT_ID, "app")), {"consumer_byte_rate": 1e7, "request_percentage": 0.5}),
    ]
    (request,) = broker.requests
    assert request.strict
    assert [(each.entity_type, each.match_type, each.match) for each in request.components] == [
        (USER, 2, None),
        (CLIENT_ID, 1, None),
    ]


def test_exact_name_is_requested_as_such() -> None:
    with scripted_cluster({"describe_client_quotas": {"error_code": 0, "entries": None}}) as (
        cluster,
        broker,
    ):
        assert describe_quotas(cluster, [(USER, "alice")]) == []
    (component,) = broker.requests[0].components
    assert (component.match_type, component.match) == (0, "alice")


def test_quotas_are_set_and_removed_in_one_request() -> None:
    answer: Answer = {"entries": [{"error_code": 0, "error_message": None, "entity": []}]}
    with scripted_cluster({"alter_client_quotas": answer}) as (cluster, broker):
        changes = {"producer_byte_rate": 5.0, "request_percentage": None}
        alter_quotas(cluster, [(USER, ""), (CLIENT_ID, "app")], changes)
    (entry,) = broker.requests[0].entries
    assert [(each.entity_type, each.entity_name) for each in entry.entity] == [
        (USER, None),
        (CLIENT_ID, "app"),
    ]
    assert [(each.key, each.value, each.remove) for each in entry.ops] == [
        ("producer_byte_rate", 5.0, False),
        ("request_percentage", 0.0, True),
    ]


def test_errors_of_either_request_are_raised() -> None:
    failed = {"error_code": INVALID_REQUEST, "error_message": "no such quota"}
    answers: Mapping[str, Answer] = {
        "describe_client_quotas": {**failed, "entries": None},
        "alter_client_quotas": {"entries": [{**failed, "entity": []}]},
    }
    with scripted_cluster(answers) as (cluster, _):
        with pytest.raises(BrokerError, match="no such quota"):
            describe_quotas(cluster, [(USER, "a")])
        with pytest.raises(BrokerError, match="no such quota"):
            alter_quotas(cluster, [(USER, "a")], {"x": 1.0})
