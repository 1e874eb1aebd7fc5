import json
from collections.abc import Callable

import pytest
from tests.fakes.fake_cluster import FakeCluster, Fields, topics_of

from barnabas.cli import front
from barnabas.cli.main import main

Run = Callable[..., tuple[int, str, str]]


def _producers(to: int | None, fields: Fields) -> Fields:
    """One producer without and one with an open transaction, last heard of in 1970."""
    states = [
        {"producer_id": 7, "producer_epoch": 0, "coordinator_epoch": 2, "last_timestamp": -1},
        {"producer_id": 8, "producer_epoch": 1, "coordinator_epoch": -1, "last_timestamp": 5000},
    ]
    states[1]["current_txn_start_offset"] = 3
    topics = [
        {"name": topic["name"], "partitions": [{"partition_index": 0, "active_producers": states}]}
        for topic in fields["topics"]
    ]
    return {"topics": topics}


def _described(to: int | None, fields: Fields) -> Fields:
    (id_,) = fields["transactional_ids"]
    state = {
        "error_code": 0,
        "transactional_id": id_,
        "transaction_state": "Empty",
        "transaction_timeout": 90_000,
        "transaction_start_time": None,
        "producer_id": 7,
        "producer_epoch": 0,
        "topics": [],
    }
    return {"transaction_states": [state]}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    listed = [
        {"transactional_id": "t2", "producer_id": 8, "transaction_state": "Ongoing"},
        {"transactional_id": "t1", "producer_id": 7, "transaction_state": "Empty"},
    ]
    found = FakeCluster(
        {1: None},
        {
            "metadata": topics_of({("a", 0): (1,)}),
            "find_coordinator": lambda to, fields: {"node_id": 1},
            "list_transactions": lambda to, fields: {
                "transaction_states": [] if fields["producer_id_filters"] else listed
            },
            "describe_transactions": _described,
            "describe_producers": _producers,
            "init_producer_id": lambda to, fields: {},
            "write_txn_markers": lambda to, fields: {},
        },
    )
    monkeypatch.setattr(front, "open_cluster", lambda bootstrap, config=None: found)
    return found


@pytest.fixture
def run(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["transaction", *arguments])
        return (code, *capsys.readouterr())

    return call


def test_list_is_sorted_and_filters_are_the_brokers_work(run: Run, cluster: FakeCluster) -> None:
    code, out, _ = run("list", "--state", "ongoing", "--longer-than", "1.5", "--id-pattern", "t.*")
    assert code == 0
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["t1", "Empty", "7", "1"],
        ["t2", "Ongoing", "8", "1"],
    ]
    assert cluster.requests[-1].fields == {
        "state_filters": ["Ongoing"],
        "producer_id_filters": [],
        "duration_filter": 1500,
        "transactional_id_pattern": "t.*",
    }


def test_unknown_state_is_a_usage_error(run: Run, cluster: FakeCluster) -> None:
    code, _, err = run("list", "--state", "asleep")
    assert code == 2
    assert "'asleep' is not one of Ongoing, PrepareAbort" in err
    assert cluster.requests == []


def test_description_for_people_and_for_programs(run: Run) -> None:
    assert "0:01:30" in run("describe", "t1")[1].splitlines()[1].split()
    (value,) = json.loads(run("describe", "t1", "--json")[1])
    assert (value["timeout_ms"], value["open_ms"], value["partitions"]) == (90_000, None, [])


def test_producers_of_a_partition(run: Run) -> None:
    code, out, _ = run("producers", "a", "0", "--json")
    assert code == 0
    assert [(each["producer_id"], each["transaction_start_offset"]) for each in json.loads(out)] == [
        (7, None),
        (8, 3),
    ]
    assert [each["last_timestamp"] for each in json.loads(out)] == [None, "1970-01-01T00:00:05.000+00:00"]


def test_hanging_transaction_is_found_in_all_topics(run: Run) -> None:
    code, out, _ = run("hanging", "--json")
    assert code == 0
    (value,) = json.loads(out)
    assert (value["topic"], value["partition"], value["producer_id"], value["start_offset"]) == ("a", 0, 8, 3)


def test_nothing_hangs(run: Run) -> None:
    assert run("hanging", "a", "--older-than", "1e12") == (0, "", "No transaction hangs in 1 partition\n")


def test_abort_in_a_partition(run: Run, cluster: FakeCluster) -> None:
    assert run("abort", "a", "0", "--start-offset", "3")[0] == 2
    assert "write_txn_markers" not in cluster.apis()
    assert run("abort", "a", "0", "--start-offset", "3", "--yes") == (
        0,
        "Aborted the transaction of producer 8 in a-0\n",
        "",
    )
    assert cluster.apis()[-1] == "write_txn_markers"


def test_abort_of_a_transactional_id(run: Run, cluster: FakeCluster) -> None:
    assert run("abort", "--id", "t1", "--yes") == (0, "Aborted the transaction of t1\n", "")
    assert cluster.apis()[-1] == "init_producer_id"


def test_abort_of_nothing(run: Run) -> None:
    code, _, err = run("abort", "a", "0", "--start-offset", "9", "--yes")
    assert (code, err) == (1, "barnabas: No open transaction begins at offset 9 of a-0\n")
    assert run("abort", "a", "0")[0] == 2
    assert run("abort", "a", "--id", "t1")[0] == 2
