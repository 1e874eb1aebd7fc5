import pytest
from tests.fakes.fake_cluster import FakeCluster, Fields
from tests.fakes.scripted_cluster import scripted_cluster

from barnabas.client.admin.elections import ElectionType, elect_leaders
from barnabas.client.errors import BrokerError, Unsupported


def _results(to: int | None, fields: Fields) -> Fields:
    results = [
        {"partition_id": 0, "error_code": 0},
        {"partition_id": 1, "error_code": 84},
        {"partition_id": 2, "error_code": 80, "error_message": "no replica"},
    ]
    return {"replica_election_results": [{"topic": "a", "partition_result": results}]}


def test_every_partition_has_its_own_result() -> None:
    cluster = FakeCluster({4: None, 5: None}, {"elect_leaders": _results})
    found = elect_leaders(cluster, ElectionType.UNCLEAN, [("a", 2), ("b", 0), ("a", 1)])
    assert {topic_partition: error and error.name for topic_partition, error in found.items()} == {
        ("a", 0): None,
        ("a", 1): "election_not_needed",
        ("a", 2): "preferred_leader_not_available",
    }
    (requested,) = cluster.requests
    assert requested.to == 4
    assert requested.fields["election_type"] == 1
    assert requested.fields["topic_partitions"] == [
        {"topic": "a", "partitions": [1, 2]},
        {"topic": "b", "partitions": [0]},
    ]


def test_all_partitions_are_no_list() -> None:
    cluster = FakeCluster({1: None}, {"elect_leaders": lambda to, fields: {}})
    assert elect_leaders(cluster, ElectionType.PREFERRED, None) == {}
    assert cluster.requests[0].fields["topic_partitions"] is None


def test_error_of_the_whole_request_is_raised() -> None:
    cluster = FakeCluster({1: None}, {"elect_leaders": lambda to, fields: {"error_code": 31}})
    with pytest.raises(BrokerError, match="Cluster authorization failed"):
        elect_leaders(cluster, ElectionType.PREFERRED, None)


def test_old_broker_has_only_preferred_elections() -> None:
    answer = {"replica_election_results": [{"topic": "a", "partition_result": [{"partition_id": 0}]}]}
    with scripted_cluster({"elect_leaders": answer}, {"elect_leaders": 0}) as (cluster, _):
        assert elect_leaders(cluster, ElectionType.PREFERRED, [("a", 0)]) == {("a", 0): None}
        with pytest.raises(Unsupported, match="elections of type UNCLEAN"):
            elect_leaders(cluster, ElectionType.UNCLEAN, [("a", 0)])
