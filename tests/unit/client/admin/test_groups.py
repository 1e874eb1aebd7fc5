from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.fakes.scripted_cluster import scripted_cluster

from barnabas.client.admin.groups import (
    GroupListing,
    delete_groups,
    list_consumer_groups,
    list_groups,
)
from barnabas.client.errors import BrokerError, Unsupported

NOT_COORDINATOR, NON_EMPTY_GROUP = 16, 68


def _coordinator(request: Any) -> Mapping[str, object]:
    return {"node_id": 1, "host": "127.0.0.1", "port": 1}


def _group(id_: str, state: str = "Stable", type_: str = "classic", protocol: str = "consumer") -> object:
    return {"group_id": id_, "group_state": state, "group_type": type_, "protocol_type": protocol}


def test_groups_are_listed_by_name_with_kafkas_names_of_states_and_types() -> None:
    answer = {"groups": [_group("b"), _group("a", "EMPTY", "consumer", "")]}
    with scripted_cluster({"list_groups": answer}) as (cluster, _):
        assert list_groups(cluster) == [
            GroupListing("a", "Empty", "Consumer", ""),
            GroupListing("b", "Stable", "Classic", "consumer"),
        ]


def test_unknown_state_is_unknown() -> None:
    with scripted_cluster({"list_groups": {"groups": [_group("a", "Dreaming")]}}) as (cluster, _):
        assert [each.state for each in list_groups(cluster)] == ["Unknown"]


def test_groups_of_others_than_consumers_are_left_out() -> None:
    answer = {"groups": [_group("a"), _group("b", protocol="connect"), _group("c", protocol="")]}
    with scripted_cluster({"list_groups": answer}) as (cluster, _):
        assert [each.id for each in list_consumer_groups(cluster)] == ["a", "c"]


def test_filters_are_the_brokers_business() -> None:
    with scripted_cluster({"list_groups": {"groups": []}}) as (cluster, broker):
        list_groups(cluster, ["Stable"], ["Classic"])
        request = broker.requests[-1]
        assert (request.states_filter, request.types_filter) == (("Stable",), ("Classic",))


def test_broker_that_cannot_filter_by_state_says_so() -> None:
    with (
        scripted_cluster({"list_groups": {"groups": []}}, {"list_groups": 3}) as (cluster, _),
        pytest.raises(Unsupported, match="older than Kafka"),
    ):
        list_groups(cluster, ["Stable"])


def test_broker_that_knows_no_types_has_classic_groups_only() -> None:
    answer = {"groups": [{"group_id": "a", "protocol_type": "consumer", "group_state": "Stable"}]}
    with scripted_cluster({"list_groups": answer}, {"list_groups": 4}) as (cluster, _):
        assert [each.id for each in list_groups(cluster, types=["Classic", "Consumer"])] == ["a"]
        assert list_groups(cluster, types=["Consumer"]) == []


def _in_turn(*answers: Mapping[str, object]) -> Callable[[Any], Mapping[str, object]]:
    left = list(answers)
    return lambda request: left.pop(0)


def test_deletion_returns_the_error_of_each_group() -> None:
    def answer(request: Any) -> Mapping[str, object]:
        code = NON_EMPTY_GROUP if request.groups_names == ("busy",) else 0
        return {"results": [{"group_id": request.groups_names[0], "error_code": code}]}

    with scripted_cluster({"find_coordinator": _coordinator, "delete_groups": answer}) as (cluster, _):
        results = delete_groups(cluster, ["busy", "idle", "idle"])
    assert list(results) == ["busy", "idle"]
    assert results["idle"] is None
    assert isinstance(results["busy"], BrokerError)
    assert results["busy"].name == "non_empty_group"


def test_coordinator_that_moved_is_looked_for_again() -> None:
    moved = {"results": [{"group_id": "g", "error_code": NOT_COORDINATOR}]}
    done = {"results": [{"group_id": "g", "error_code": 0}]}
    answers = {"find_coordinator": _coordinator, "delete_groups": _in_turn(moved, done)}
    with scripted_cluster(answers) as (cluster, broker):
        assert delete_groups(cluster, ["g"]) == {"g": None}
        found = [type(request).__name__ for request in broker.requests]
    assert found.count("FindCoordinatorRequest") == 2
