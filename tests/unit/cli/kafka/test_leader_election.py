from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.fake_cluster import FakeCluster, Fields

from barnabas.cli.kafka import leader_election

PREFERRED = ("--bootstrap-server", "h:1", "--election-type", "preferred")
ELECTED, NOT_NEEDED, NOT_AVAILABLE = 0, 84, 80
Run = Callable[..., tuple[int, str, str]]


class _Elections:
    def __init__(self) -> None:
        self.results: dict[tuple[str, int], int] = {}
        self.error = 0

    def __call__(self, to: int | None, fields: Fields) -> Fields:
        results = [
            {"topic": topic, "partition_result": [{"partition_id": index, "error_code": code}]}
            for (topic, index), code in self.results.items()
        ]
        return {"error_code": self.error, "replica_election_results": results}


@pytest.fixture
def elections() -> _Elections:
    return _Elections()


@pytest.fixture
def cluster(elections: _Elections, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    cluster = FakeCluster({1: None, 2: None}, {"elect_leaders": elections})
    monkeypatch.setattr(leader_election, "open_cluster", lambda bootstrap, config: cluster)
    return cluster


@pytest.fixture
def run(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(
        *arguments: str, main: Callable[[list[str]], int] = leader_election.main
    ) -> tuple[int, str, str]:
        code = main(["--bootstrap-server", "h:1", *arguments])
        return (code, *capsys.readouterr())

    return call


def test_results_are_reported_by_kind(run: Run, elections: _Elections) -> None:
    elections.results = {
        ("b", 0): ELECTED,
        ("a", 1): ELECTED,
        ("a", 2): NOT_NEEDED,
        ("c", 0): NOT_AVAILABLE,
    }
    assert run("--election-type", "unclean", "--all-topic-partitions") == (
        1,
        (
            "Successfully completed leader election (UNCLEAN) for partitions a-1, b-0\n"
            "Valid replica already elected for partitions a-2\n"
            "Error completing leader election (UNCLEAN) for partition: c-0: org.apache.kafka.common.errors."
            "PreferredLeaderNotAvailableException: The preferred leader was not available.\n"
        ),
        "1 replica(s) could not be elected\n",
    )


def test_nothing_to_elect_is_silent(run: Run, cluster: FakeCluster) -> None:
    assert run("--election-type", "PREFERRED", "--all-topic-partitions") == (0, "", "")
    assert cluster.requests[0].fields["topic_partitions"] is None


def test_partitions_of_a_file(run: Run, cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{"partitions":[{"topic":"a","partition":1}]}')
    assert run("--election-type", "preferred", "--path-to-json-file", str(file))[0] == 0
    assert cluster.requests[0].fields["topic_partitions"] == [{"topic": "a", "partitions": [1]}]


@pytest.mark.parametrize(
    ("code", "message"),
    [(7, "Timeout waiting for election results"), (31, "Not authorized to perform leader election")],
)
def test_errors_with_words_of_their_own(run: Run, elections: _Elections, code: int, message: str) -> None:
    elections.error = code
    assert run("--election-type", "preferred", "--topic", "a", "--partition", "0") == (
        1,
        f"{message}\n",
        f"{message}\n",
    )


def test_old_name_of_the_properties_is_deprecated_on_stdout(run: Run) -> None:
    code, out, _ = run("--election-type", "preferred", "--all-topic-partitions", "--admin.config", "f")
    assert code == 0
    assert out == (
        "Option --admin.config has been deprecated and will be removed in a future version. "
        "Use --command-config instead.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--all-topic-partitions"], "Missing required option(s): bootstrap-server, election-type"),
        (
            [*PREFERRED],
            (
                "One and only one of the following options is required: topic, all-topic-partitions, "
                "path-to-json-file"
            ),
        ),
        (
            [*PREFERRED, "--topic", "a"],
            "Missing required option(s): partition",
        ),
        (
            [*PREFERRED, "--all-topic-partitions", "--partition", "1"],
            "Option partition is only allowed if topic is used",
        ),
        (
            [*PREFERRED, "--all-topic-partitions", "--admin.config", "a", "--command-config", "b"],
            'Option "[admin.config]" can\'t be used with option "[command-config]"',
        ),
    ],
)
def test_flags_that_do_not_go_together(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert leader_election.main(arguments) == 1
    assert capsys.readouterr().err.splitlines()[0] == message


_DEPRECATED = "This tool is deprecated. Please use kafka-leader-election tool. Tracking issue: KAFKA-8405\n"


def test_preferred_replica_election_has_its_own_words(run: Run, elections: _Elections) -> None:
    elections.results = {("a", 1): ELECTED, ("a", 2): NOT_NEEDED, ("c", 0): NOT_AVAILABLE}
    assert run(main=leader_election.preferred_replica_main) == (
        1,
        _DEPRECATED + "Successfully completed preferred leader election for partitions a-1\n"
        "Preferred replica already elected for partitions a-2\n"
        "Error completing preferred leader election for partition: c-0: org.apache.kafka.common.errors."
        "PreferredLeaderNotAvailableException: The preferred leader was not available.\n",
        "1 preferred replica(s) could not be elected\n",
    )


def test_preferred_replica_election_wants_one_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert leader_election.preferred_replica_main(["--path-to-json-file", "f"]) == 1
    assert "Exactly one of '[bootstrap-server]' or '[zookeeper]' must be provided" in capsys.readouterr().err
    assert leader_election.preferred_replica_main(["--zookeeper", "localhost:1"]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[1] == (
        "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka."
    )
    assert "use --bootstrap-server" in err
