import datetime as dt
from collections.abc import Mapping

import pytest
from tests.fakes.fake_cluster import Answer, FakeCluster, Fields, topics_of
from tests.fakes.scripted_cluster import scripted_cluster

from barnabas.client.admin.producers import ProducerState, describe_producers
from barnabas.client.admin.transactions import (
    AbortSpec,
    OpenTransaction,
    TransactionDescription,
    TransactionListing,
    abort_transaction,
    describe_transaction,
    find_abort_spec,
    find_hanging,
    list_transactions,
    partitions_to_search,
    terminate_transaction,
)
from barnabas.client.errors import BrokerError, Unsupported

BROKERS = {1: None, 2: None}
TOPICS = topics_of({("a", 0): (1, 2), ("a", 1): (2, 1), ("b", 0): (2,)})
START = 1_700_000_000_123
MINUTE = 60_000


def _producer(id_: int, *, start: int = -1, last: int = START, coordinator_epoch: int = 3) -> Fields:
    return {
        "producer_id": id_,
        "producer_epoch": 5,
        "last_sequence": 9,
        "last_timestamp": last,
        "coordinator_epoch": coordinator_epoch,
        "current_txn_start_offset": start,
    }


def _producers(found: Mapping[tuple[str, int], list[Fields]], code: int = 0) -> Answer:
    def answer(to: int | None, fields: Fields) -> Fields:
        topics = [
            {
                "name": topic["name"],
                "partitions": [
                    {
                        "partition_index": index,
                        "error_code": code,
                        "active_producers": found.get((topic["name"], index), []),
                    }
                    for index in topic["partition_indexes"]
                ],
            }
            for topic in fields["topics"]
        ]
        return {"topics": topics}

    return answer


def _description(id_: str, **more: object) -> Fields:
    return {
        "error_code": 0,
        "transactional_id": id_,
        "transaction_state": "Ongoing",
        "transaction_timeout": 60_000,
        "transaction_start_time": dt.datetime.fromtimestamp(START / 1000, dt.UTC),
        "producer_id": 7,
        "producer_epoch": 5,
        "topics": [{"topic": "a", "partitions": [1, 0]}],
        **more,
    }


def _coordinator(to: int | None, fields: Fields) -> Fields:
    return {"node_id": 2, "host": "127.0.0.1", "port": 3}


def test_producers_are_requested_from_each_leader() -> None:
    answer = _producers({("a", 0): [_producer(7, start=4)], ("a", 1): [_producer(8, coordinator_epoch=-1)]})
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS, "describe_producers": answer})
    assert describe_producers(cluster, [("a", 0), ("a", 1)]) == {
        ("a", 0): (ProducerState(7, 5, 9, START, 3, 4),),
        ("a", 1): (ProducerState(8, 5, 9, START, None, None),),
    }
    assert [each.to for each in cluster.requests] == [1, 2]


def test_named_replica_gets_the_request_instead_of_the_leader() -> None:
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS, "describe_producers": _producers({})})
    assert describe_producers(cluster, [("a", 0)], broker=2) == {("a", 0): ()}
    assert [each.to for each in cluster.requests] == [2]


def test_missing_topic_and_refusing_broker_raise() -> None:
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS, "describe_producers": _producers({}, code=29)})
    with pytest.raises(BrokerError, match="could not be found"):
        describe_producers(cluster, [("no", 0)])
    with pytest.raises(BrokerError, match="Topic authorization failed"):
        describe_producers(cluster, [("a", 0)])


def test_every_broker_lists_the_transactions_it_coordinates() -> None:
    def answer(to: int | None, fields: Fields) -> Fields:
        state = "Ongoing" if to == 1 else "SomethingNew"
        listed = {"transactional_id": f"t{to}", "producer_id": to, "transaction_state": state}
        return {"transaction_states": [listed]}

    cluster = FakeCluster(BROKERS, {"list_transactions": answer})
    assert list_transactions(cluster, states=["Ongoing"], longer_than_ms=5, id_pattern="t.*") == [
        TransactionListing("t1", 1, 1, "Ongoing"),
        TransactionListing("t2", 2, 2, "Unknown"),
    ]
    assert cluster.requests[1].fields == {
        "state_filters": ["Ongoing"],
        "producer_id_filters": [],
        "duration_filter": 5,
        "transactional_id_pattern": "t.*",
    }


def test_filters_that_an_old_broker_would_ignore_are_refused() -> None:
    with scripted_cluster({"list_transactions": {}}, {"list_transactions": 0}) as (cluster, _):
        assert list_transactions(cluster) == []
        assert list_transactions(cluster, longer_than_ms=-1) == []
        with pytest.raises(Unsupported, match="duration"):
            list_transactions(cluster, longer_than_ms=1)
        with pytest.raises(Unsupported, match="pattern"):
            list_transactions(cluster, id_pattern="a")


def test_description_comes_from_the_coordinator_to_the_millisecond() -> None:
    cluster = FakeCluster(
        BROKERS,
        {
            "find_coordinator": _coordinator,
            "describe_transactions": lambda to, fields: {"transaction_states": [_description("t")]},
        },
    )
    assert describe_transaction(cluster, "t") == TransactionDescription(
        "t", 2, "Ongoing", 7, 5, 60_000, START, (("a", 0), ("a", 1))
    )
    assert cluster.requests[-1].to == 2


def test_transaction_without_a_start_is_read_from_the_wire() -> None:
    state = _description("t", transaction_state="Empty", transaction_start_time=None, topics=[])
    answers: dict[str, Fields] = {
        "describe_transactions": {"transaction_states": [state]},
        "find_coordinator": {"node_id": 1},
    }
    with scripted_cluster(answers) as (cluster, broker):
        found = describe_transaction(cluster, "t")
    assert (found.state, found.start_ms, found.partitions) == ("Empty", None, ())
    assert [
        list(each.transactional_ids) for each in broker.requests if hasattr(each, "transactional_ids")
    ] == [["t"]]


def test_unknown_transactional_id_is_reported_with_kafkas_text() -> None:
    state = {**_description("t"), "error_code": 105}
    cluster = FakeCluster(
        BROKERS,
        {
            "find_coordinator": _coordinator,
            "describe_transactions": lambda to, fields: {"transaction_states": [state]},
        },
    )
    with pytest.raises(BrokerError, match="transactionalId `t` failed because the ID could not be found"):
        describe_transaction(cluster, "t")


def test_transaction_to_abort_is_found_by_its_first_offset() -> None:
    answer = _producers(
        {("a", 0): [_producer(7), _producer(8, start=4), _producer(9, start=6, coordinator_epoch=-1)]}
    )
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS, "describe_producers": answer})
    assert find_abort_spec(cluster, ("a", 0), 4) == AbortSpec(("a", 0), 8, 5, 3)
    assert find_abort_spec(cluster, ("a", 0), 6) == AbortSpec(("a", 0), 9, 5, 0)
    assert find_abort_spec(cluster, ("a", 0), 5) is None


def _markers(code: int) -> Answer:
    partition = {"partition_index": 1, "error_code": code}
    topics = [{"name": "a", "partitions": [partition]}]
    return lambda to, fields: {"markers": [{"producer_id": 8, "topics": topics}]}


def test_abort_writes_a_marker_at_the_leader() -> None:
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS, "write_txn_markers": _markers(0)})
    abort_transaction(cluster, AbortSpec(("a", 1), 8, 5, 3))
    (requested,) = cluster.requests
    assert requested.to == 2
    assert requested.fields["markers"] == [
        {
            "producer_id": 8,
            "producer_epoch": 5,
            "coordinator_epoch": 3,
            "transaction_result": False,
            "topics": [{"name": "a", "partition_indexes": [1]}],
        }
    ]


def test_refused_marker_is_an_error() -> None:
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS, "write_txn_markers": _markers(47)})
    with pytest.raises(BrokerError, match="old epoch"):
        abort_transaction(cluster, AbortSpec(("a", 1), 8, 5, 3))
    with pytest.raises(BrokerError, match="has no partition 9"):
        abort_transaction(cluster, AbortSpec(("a", 9), 8, 5, 3))


def test_termination_fences_the_producer_of_the_id() -> None:
    cluster = FakeCluster(
        BROKERS, {"find_coordinator": _coordinator, "init_producer_id": lambda to, fields: {}}
    )
    terminate_transaction(cluster, "t")
    requested = cluster.requests[-1]
    assert requested.to == 2
    assert requested.fields == {
        "transactional_id": "t",
        "transaction_timeout": 5000,
        "producer_id": -1,
        "producer_epoch": -1,
    }


def _searched(listed: list[Fields], described: Fields) -> FakeCluster:
    """Producers 7 (of a-0) and 8 (of a-1) have old open transactions, 9 a young one, 10 none."""
    old, young = START, START + 20 * MINUTE
    producers = _producers(
        {
            ("a", 0): [_producer(7, start=1, last=old), _producer(9, start=3, last=young)],
            ("a", 1): [_producer(8, start=2, last=old), _producer(10, last=old)],
        }
    )
    return FakeCluster(
        BROKERS,
        {
            "metadata": TOPICS,
            "find_coordinator": _coordinator,
            "describe_producers": producers,
            "list_transactions": lambda to, fields: {"transaction_states": listed if to == 1 else []},
            "describe_transactions": lambda to, fields: {"transaction_states": [described]},
        },
    )


def _hanging(cluster: FakeCluster) -> list[tuple[tuple[str, int], int]]:
    found = find_hanging(
        cluster,
        [("a", 1), ("a", 0)],
        older_than_ms=15 * MINUTE,
        now_ms=lambda: START + 30 * MINUTE,
    )
    assert all(isinstance(each, OpenTransaction) for each in found)
    return [(each.topic_partition, each.producer.id) for each in found]


def _listed(producer_id: int) -> Fields:
    return {"transactional_id": "t", "producer_id": producer_id, "transaction_state": "Ongoing"}


def test_old_transaction_of_an_unknown_producer_hangs() -> None:
    cluster = _searched([], _description("t"))
    assert _hanging(cluster) == [(("a", 0), 7), (("a", 1), 8)]
    requested = next(each for each in cluster.requests if each.api == "list_transactions")
    assert sorted(requested.fields["producer_id_filters"]) == [7, 8]


def test_transaction_that_its_coordinator_will_end_does_not_hang() -> None:
    assert _hanging(_searched([_listed(7)], _description("t"))) == [(("a", 1), 8)]


def test_partition_that_the_coordinator_knows_nothing_of_hangs() -> None:
    elsewhere = _description("t", topics=[{"topic": "b", "partitions": [0]}])
    assert _hanging(_searched([_listed(7)], elsewhere)) == [(("a", 0), 7), (("a", 1), 8)]


def test_transaction_of_an_id_expired_in_the_meantime_hangs() -> None:
    missing = {**_description("t"), "error_code": 105}
    assert _hanging(_searched([_listed(8)], missing)) == [(("a", 0), 7), (("a", 1), 8)]


def test_nothing_old_asks_no_coordinator() -> None:
    cluster = _searched([], _description("t"))
    found = find_hanging(cluster, [("a", 0)], older_than_ms=15 * MINUTE, now_ms=lambda: START + MINUTE)
    assert found == []
    assert set(cluster.apis()) == {"describe_producers"}


def test_many_partitions_are_requested_in_parts() -> None:
    topic_partitions = {("big", index): (1,) for index in range(1001)}
    cluster = FakeCluster(
        BROKERS, {"metadata": topics_of(topic_partitions), "describe_producers": _producers({})}
    )
    assert find_hanging(cluster, sorted(topic_partitions), older_than_ms=0) == []
    sizes = [len(each.fields["topics"][0]["partition_indexes"]) for each in cluster.requests]
    assert sizes == [500, 500, 1]


def test_partitions_to_search_are_those_of_a_topic_or_of_a_broker() -> None:
    cluster = FakeCluster(BROKERS, {"metadata": TOPICS})
    assert partitions_to_search(cluster, "a") == [("a", 0), ("a", 1)]
    assert partitions_to_search(cluster, None, broker=1) == [("a", 0), ("a", 1)]
    assert partitions_to_search(cluster, None) == [("a", 0), ("a", 1), ("b", 0)]
    with pytest.raises(BrokerError):
        partitions_to_search(cluster, "no")
