from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from tests.fakes.scripted_broker import Answer, ScriptedBroker
from tests.patience import PATIENCE

from barnabas.client.address import Address
from barnabas.client.admin.group_offsets import (
    CommittedOffset,
    commit_offsets,
    committed_offsets,
    delete_offsets,
)
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.client.settings import ClientSettings

UNKNOWN_TOPIC_OR_PARTITION, COORDINATOR_LOADING, SUBSCRIBED, NO_GROUP = 3, 14, 86, 69
COORDINATOR = {"node_id": 1, "host": "127.0.0.1", "port": 1}


@contextmanager
def _cluster(answers: Mapping[str, Answer]) -> Iterator[tuple[Cluster, ScriptedBroker]]:
    with ScriptedBroker({"find_coordinator": COORDINATOR, **answers}) as broker:
        settings = ClientSettings(
            (Address("127.0.0.1", broker.port),), request_timeout=PATIENCE, patience=0.0
        )
        with Cluster(settings) as cluster:
            yield cluster, broker


def _fetched(number: int, offset: int, epoch: int = -1, code: int = 0) -> Mapping[str, object]:
    return {
        "partition_index": number,
        "committed_offset": offset,
        "committed_leader_epoch": epoch,
        "metadata": "",
        "error_code": code,
    }


def _result(number: int, code: int) -> Mapping[str, object]:
    return {"partition_index": number, "error_code": code}


def test_committed_offsets_leave_out_what_is_not_committed_and_what_failed() -> None:
    partitions = [_fetched(0, 5, 2), _fetched(1, -1), _fetched(2, 7), _fetched(3, 9, code=3)]
    with _cluster({"offset_fetch": {"topics": [{"name": "t", "partitions": partitions}]}}) as (
        cluster,
        broker,
    ):
        assert committed_offsets(cluster, "g") == {
            ("t", 0): CommittedOffset(5, 2, ""),
            ("t", 2): CommittedOffset(7, None, ""),
        }
        assert broker.requests[-1].topics is None  # all of them


def test_commit_is_that_of_no_member() -> None:
    answer = {"topics": [{"name": "t", "partitions": [_result(0, 0), _result(1, 0)]}]}
    with _cluster({"offset_commit": answer}) as (cluster, broker):
        commit_offsets(cluster, "g", {("t", 0): 5, ("t", 1): 6})
        request = broker.requests[-1]
    assert (request.group_id, request.member_id, request.generation_id_or_member_epoch) == ("g", "", -1)
    (topic,) = request.topics
    assert [(each.partition_index, each.committed_offset) for each in topic.partitions] == [(0, 5), (1, 6)]


def test_commit_of_nothing_sends_no_request() -> None:
    with _cluster({}) as (cluster, broker):
        commit_offsets(cluster, "g", {})
        assert broker.requests == []


def test_commit_that_is_refused_for_a_partition_is_an_error_at_once() -> None:
    answer = {"topics": [{"name": "t", "partitions": [_result(0, UNKNOWN_TOPIC_OR_PARTITION)]}]}
    with _cluster({"offset_commit": answer}) as (cluster, broker):
        with pytest.raises(BrokerError, match="does not host this topic-partition"):
            commit_offsets(cluster, "g", {("t", 0): 5})
        assert [type(each).__name__ for each in broker.requests].count("OffsetCommitRequest") == 1


def test_commit_is_tried_again_while_the_coordinator_loads() -> None:
    codes = [COORDINATOR_LOADING, 0]

    def answer(request: Any) -> Mapping[str, object]:
        return {"topics": [{"name": "t", "partitions": [_result(0, codes.pop(0))]}]}

    with _cluster({"offset_commit": answer}) as (cluster, _):
        commit_offsets(cluster, "g", {("t", 0): 5})
    assert codes == []


def test_deletion_returns_the_error_of_each_partition() -> None:
    partitions = [_result(0, 0), _result(1, SUBSCRIBED)]
    answer = {"error_code": 0, "topics": [{"name": "t", "partitions": partitions}]}
    with _cluster({"offset_delete": answer}) as (cluster, _):
        results = delete_offsets(cluster, "g", [("t", 1), ("t", 0)])
    assert results["t", 0] is None
    assert isinstance(results["t", 1], BrokerError)
    assert results["t", 1].name == "group_subscribed_to_topic"


def test_deletion_of_a_group_that_is_not_there_is_raised() -> None:
    with (
        _cluster({"offset_delete": {"error_code": NO_GROUP, "topics": []}}) as (cluster, _),
        pytest.raises(BrokerError, match="The group id does not exist"),
    ):
        delete_offsets(cluster, "g", [("t", 0)])
