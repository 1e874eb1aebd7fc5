from collections.abc import Callable

import pytest
from tests.fakes.fake_cluster import FakeCluster, Fields, topics_of

from barnabas.cli.kafka import transactions

Run = Callable[..., tuple[int, str, str]]
BASE = ("--bootstrap-server", "h:1")


def _open_producer(to: int | None, fields: Fields) -> Fields:
    """Producer 41 has a transaction from 1970 open in every partition."""
    producer = {
        "producer_id": 41,
        "producer_epoch": 2,
        "last_sequence": 8,
        "last_timestamp": 5,
        "coordinator_epoch": -1,
        "current_txn_start_offset": 6,
    }
    topics = [
        {
            "name": topic["name"],
            "partitions": [
                {"partition_index": index, "active_producers": [producer]}
                for index in topic["partition_indexes"]
            ],
        }
        for topic in fields["topics"]
    ]
    return {"topics": topics}


def _written(to: int | None, fields: Fields) -> Fields:
    return {"markers": []}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    found = FakeCluster(
        {1: None, 2: None},
        {
            "metadata": topics_of({("foo", 0): (1, 2), ("foo", 1): (2,)}),
            "describe_producers": _open_producer,
            "list_transactions": lambda to, fields: {},
            "write_txn_markers": _written,
        },
    )
    monkeypatch.setattr(transactions, "open_cluster", lambda bootstrap, config: found)
    return found


@pytest.fixture
def run(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = transactions.main([*BASE, *arguments])
        return (code, *capsys.readouterr())

    return call


def test_table_is_padded_and_every_column_ends_with_a_tab(capsys: pytest.CaptureFixture[str]) -> None:
    transactions.print_table(("A", "Long"), [("wide", 1), ("x", None)])
    assert capsys.readouterr().out == "A   \tLong\t\nwide\t1   \t\nx   \tNone\t\n"


def test_empty_table_has_its_head(run: Run) -> None:
    assert run("list") == (0, "TransactionalId\tCoordinator\tProducerId\tTransactionState\t\n", "")


def test_hanging_transactions_of_a_broker(run: Run) -> None:
    code, out, _ = run("find-hanging", "--broker-id", "1")
    assert code == 0
    head, row = out.splitlines()
    assert [cell.strip() for cell in head.split("\t")] == [
        "Topic",
        "Partition",
        "ProducerId",
        "ProducerEpoch",
        "CoordinatorEpoch",
        "StartOffset",
        "LastTimestamp",
        "Duration(min)",
        "",
    ]
    assert [cell.strip() for cell in row.split("\t")][:7] == ["foo", "0", "41", "2", "-1", "6", "5"]


def test_abort_by_start_offset_uses_what_the_leader_knows(run: Run, cluster: FakeCluster) -> None:
    assert run("abort", "--topic", "foo", "--partition", "1", "--start-offset", "6") == (0, "", "")
    marker = cluster.requests[-1].fields["markers"][0]
    assert (marker["producer_id"], marker["producer_epoch"], marker["coordinator_epoch"]) == (41, 2, 0)


def test_abort_for_old_brokers_is_the_only_request(run: Run, cluster: FakeCluster) -> None:
    arguments = "abort --topic foo --partition 1 --producer-id 3 --producer-epoch 4 --coordinator-epoch -1"
    assert run(*arguments.split()) == (0, "", "")
    assert cluster.apis() == ["write_txn_markers"]
    marker = cluster.requests[-1].fields["markers"][0]
    assert (marker["producer_id"], marker["producer_epoch"], marker["coordinator_epoch"]) == (3, 4, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("abort --topic foo --partition 0", "The transaction to abort must be identified either with"),
        ("abort --topic foo --partition 0 --producer-id 1", "Missing required argument --producer-epoch"),
        (
            "abort --topic foo --partition 0 --producer-id 1 --producer-epoch 1",
            "Missing required argument --coordinator-epoch",
        ),
        (
            "abort --topic foo --partition 0 --start-offset 99",
            "Could not find any open transactions starting at offset 99 on partition foo-0",
        ),
        ("find-hanging", "The `find-hanging` command requires either --topic or --broker-id"),
        ("find-hanging --broker-id 1 --partition 0", "The --partition argument requires --topic"),
        (
            "describe-producers --topic foo --partition 7",
            "Failed to describe producers for partition foo-7",
        ),
        (
            "describe --transactional-id t",
            "Failed to describe transaction state of transactional-id `t`",
        ),
        ("forceTerminateTransaction --transactionalId t", "Failed to force terminate transactionalId `t`"),
    ],
)
def test_errors_are_one_line_on_stderr(run: Run, arguments: str, message: str) -> None:
    code, out, err = run(*arguments.split())
    assert (code, out) == (1, "")
    assert err.startswith(message)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "too few arguments"),
        ("frob", "invalid choice: 'frob' (choose from 'list', 'describe', 'describe-producers', 'abort', "),
        ("list --topic foo", "unrecognized arguments: '--topic'"),
        ("list more", "unrecognized arguments: 'more'"),
        ("describe", "argument --transactional-id is required"),
        ("describe-producers --topic foo", "argument --partition is required"),
        ("abort --topic foo --partition x", "Cannot parse argument 'x' of option partition"),
    ],
)
def test_wrong_command_lines(run: Run, arguments: str, message: str) -> None:
    code, out, err = run(*arguments.split())
    assert (code, out) == (1, "")
    assert err.startswith(message)


def test_bootstrap_server_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert transactions.main(["list"]) == 1
    assert capsys.readouterr().err.startswith("argument --bootstrap-server is required")
