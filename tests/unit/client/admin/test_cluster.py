from collections.abc import Mapping
from typing import Any

import pytest
from tests.fakes.scripted_broker import ScriptedBroker

from barnabas.client.address import parse_addresses
from barnabas.client.admin.cluster import Endpoint, active_controller, describe_cluster
from barnabas.client.cluster import Cluster
from barnabas.client.errors import Unsupported
from barnabas.client.settings import ClientSettings


def _cluster(broker: ScriptedBroker) -> Cluster:
    return Cluster(ClientSettings(tuple(parse_addresses(broker.address)), patience=0.0))


def _described(*ids: int, controller: int) -> Mapping[str, object]:
    brokers = [
        {"broker_id": number, "host": "h", "port": 9000 + number, "rack": None, "is_fenced": number > 5}
        for number in ids
    ]
    return {"error_code": 0, "cluster_id": "c", "controller_id": controller, "brokers": brokers}


def test_endpoints_are_by_id_and_the_controller_is_one_of_them() -> None:
    with (
        ScriptedBroker({"describe_cluster": _described(7, 2, controller=2)}) as broker,
        _cluster(broker) as cluster,
    ):
        found = describe_cluster(cluster, fenced=True)
        assert broker.requests[-1].include_fenced_brokers is True
    assert found.cluster_id == "c"
    assert found.controller_id == 2
    assert found.endpoints == (Endpoint(2, "h", 9002, None, False), Endpoint(7, "h", 9007, None, True))


def test_controller_that_is_not_listed_is_none() -> None:
    with (
        ScriptedBroker({"describe_cluster": _described(1, controller=-1)}) as broker,
        _cluster(broker) as cluster,
    ):
        assert describe_cluster(cluster).controller_id is None


def test_broker_before_describe_cluster_gets_a_metadata_request() -> None:
    with ScriptedBroker() as broker, _cluster(broker) as cluster:
        found = describe_cluster(cluster)
        assert (found.cluster_id, found.controller_id) == ("scripted", 1)
        assert [each.id for each in found.endpoints] == [1]
        with pytest.raises(Unsupported):
            describe_cluster(cluster, fenced=True)


def test_field_that_an_old_version_lacks_is_unsupported() -> None:
    answers = {"describe_cluster": _described(1, controller=1)}
    with (
        ScriptedBroker(answers, versions={"describe_cluster": 0}) as broker,
        _cluster(broker) as cluster,
    ):
        for question in ({"fenced": True}, {"controllers": True}):
            with pytest.raises(Unsupported):
                describe_cluster(cluster, **question)
        assert broker.requests == []


def test_active_controller_is_the_one_that_the_controllers_name() -> None:
    def answer(request: Any) -> Mapping[str, object]:
        assert request.endpoint_type == 2
        return _described(1, 2, controller=2)

    with (
        ScriptedBroker({"describe_cluster": answer}) as broker,
        _cluster(broker) as cluster,
        active_controller(cluster) as found,
    ):
        assert [str(each) for each in found.settings.bootstrap] == ["h:9002"]
