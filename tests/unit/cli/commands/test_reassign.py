import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.fake_cluster import Fields
from tests.fakes.reassigning_cluster import ReassigningCluster

from barnabas.cli import front
from barnabas.cli.main import main
from barnabas.client.admin.reassignment_progress import DONE, MOVING, OTHER, MoveRow, ReassignmentProgress

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ReassigningCluster:
    found = ReassigningCluster({("a", 0): (1, 2), ("a", 1): (2, 3)})
    monkeypatch.setattr(front, "open_cluster", lambda bootstrap, config=None: found)
    return found


@pytest.fixture
def run(cluster: ReassigningCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["reassign", *arguments])
        return (code, *capsys.readouterr())

    return call


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., str]:
    def write(topic: str, partition: int, *replicas: int, **more: object) -> str:
        file = tmp_path / "plan.json"
        entry = {"topic": topic, "partition": partition, "replicas": list(replicas), **more}
        file.write_text(json.dumps({"version": 1, "partitions": [entry]}))
        return str(file)

    return write


def test_plan_of_one_command_is_started_by_the_next(
    run: Run, cluster: ReassigningCluster, tmp_path: Path
) -> None:
    file, back = tmp_path / "plan.json", tmp_path / "back.json"
    code, out, err = run("plan", "a", "--brokers", "1,3", "-o", str(file))
    assert code == 0
    assert out.splitlines()[0].split() == ["TOPIC", "PARTITION", "NOW", "THEN", "ADDED", "REMOVED"]
    assert f"barnabas reassign start {file}" in err
    code, out, _ = run("start", str(file), "--yes", "--rollback", str(back))
    assert (code, out.splitlines()[-1]) == (0, "Started to move 2 partitions")
    assert {tuple(sorted(target)) for target in cluster.targets.values()} == {(1, 3)}
    assert [each["replicas"] for each in json.loads(back.read_text())["partitions"]] == [[1, 2], [2, 3]]


def test_plan_as_json_is_the_file_that_start_reads(run: Run) -> None:
    code, out, _ = run("plan", "a", "--json")
    assert code == 0
    document = json.loads(out)
    assert document["version"] == 1
    assert [each["partition"] for each in document["partitions"]] == [0, 1]


def test_unknown_broker_is_no_plan(run: Run) -> None:
    assert run("plan", "a", "--brokers", "1,9") == (1, "", "barnabas: Unknown broker id 9\n")


def test_start_asks_first(run: Run, plan: Callable[..., str], cluster: ReassigningCluster) -> None:
    code, _, err = run("start", plan("a", 0, 2, 3))
    assert code == 2
    assert "confirm with --yes" in err
    assert cluster.targets == {}


def test_status_follows_to_the_end_and_removes_throttles(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = plan("a", 0, 2, 3)
    assert run("start", file, "--yes", "--throttle", "100")[0] == 0
    assert {value for _, name, value in cluster.altered() if name.endswith("rate")} == {"100"}
    cluster.requests.clear()
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            cluster.finish()

    monkeypatch.setattr("barnabas.cli.view._pause", pause)
    code, out, _ = run("status", file, "--follow", "--every", "7")
    assert code == 0
    states = [line.split()[4] for line in out.splitlines() if line.startswith("a ")]
    assert states == ["moving", "moving", "done"]
    assert pauses == [7.0, 7.0]
    assert cluster.altered() != []
    assert all(value is None for _, _, value in cluster.altered())


@pytest.mark.parametrize(
    ("looks", "end"),
    [([MOVING, MOVING, OTHER, DONE], DONE), ([MOVING, MOVING, OTHER, OTHER], OTHER)],
    ids=["a glimpse", "given up"],
)
def test_status_looks_twice_before_a_move_has_come_to_another_end(
    run: Run, plan: Callable[..., str], monkeypatch: pytest.MonkeyPatch, looks: list[str], end: str
) -> None:
    left = iter(looks)

    def look(*_: object) -> ReassignmentProgress:
        return ReassignmentProgress((MoveRow(("a", 0), (1,), (2,), next(left)),), is_cluster_quiet=True)

    monkeypatch.setattr("barnabas.client.admin.reassignment_progress.plan_progress", look)
    monkeypatch.setattr("barnabas.cli.view._pause", lambda seconds: None)
    code, out, _ = run("status", plan("a", 0, 2), "--follow", "--json")
    assert code == 0
    assert [each["state"] for each in json.loads(out.splitlines()[-1])] == [end]
    assert list(left) == []


def test_status_of_what_still_moves_leaves_throttles(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster
) -> None:
    cluster.targets["a", 0] = (2, 3)
    cluster.sizes = {("a", 0, 1): 2048, ("a", 0, 2): 2048, ("a", 0, 3): 1024}
    code, out, _ = run("status", plan("a", 0, 2, 3))
    assert code == 0
    assert out.splitlines()[1].split() == ["a", "0", "1,2,3", "2,3", "moving", "50", "1.0", "KiB"]
    assert cluster.altered() == []


def test_status_as_json_has_numbers(run: Run, cluster: ReassigningCluster) -> None:
    cluster.targets["a", 0] = (2, 3)
    cluster.sizes = {("a", 0, 1): 2048, ("a", 0, 3): 1024}
    code, out, _ = run("status", "--json")
    assert code == 0
    assert json.loads(out) == [
        {
            "topic": "a",
            "partition": 0,
            "now": [1, 2, 3],
            "target": [2, 3],
            "state": "moving",
            "percent": 50,
            "left_bytes": 1024,
        }
    ]


def test_nothing_to_show(run: Run) -> None:
    assert run("status") == (0, "", "Nothing is being moved\n")
    assert run("status", "--json") == (0, "[]\n", "")


def test_cancel_all(run: Run, cluster: ReassigningCluster) -> None:
    cluster.targets = {("a", 0): (2, 3), ("a", 1): (1, 2)}
    assert run("cancel", "--all", "--yes") == (0, "Cancelled 2 partitions\n", "")
    assert cluster.targets == {}
    assert run("cancel", "--all") == (0, "Nothing was being moved\n", "")


def test_cancel_of_a_plan_takes_directories_back(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster
) -> None:
    file = plan("a", 0, 1, 2, log_dirs=["/disk2", "any"])
    assert run("start", file, "--yes")[0] == 0
    assert cluster.future_dirs == {("a", 0, 1): "/disk2"}
    code, out, _ = run("cancel", file, "--yes", "--json", "--keep-throttles")
    assert (code, json.loads(out)) == (0, {"cancelled": 0, "log_dirs": 1})
    assert cluster.future_dirs == {}


def test_cancel_wants_a_plan_or_all(run: Run) -> None:
    code, _, err = run("cancel")
    assert code == 2
    assert "Name a PLAN or use --all" in err


def test_refusals_are_one_line_each(run: Run, plan: Callable[..., str], cluster: ReassigningCluster) -> None:
    cluster.refused = {("a", 0): (39, "no such thing")}
    code, _, err = run("start", plan("a", 0, 2, 3), "--yes")
    assert (code, err) == (1, "barnabas: a-0: no such thing\n")


def _elections(to: int | None, fields: Fields) -> Fields:
    codes = {0: 0, 1: 84, 2: 80}
    return {
        "replica_election_results": [
            {
                "topic": topic["topic"],
                "partition_result": [
                    {"partition_id": index, "error_code": codes[index]} for index in topic["partitions"]
                ],
            }
            for topic in fields["topic_partitions"]
        ]
    }


def test_elections_of_topics_and_partitions(run: Run, cluster: ReassigningCluster) -> None:
    cluster._answers = {**cluster._answers, "elect_leaders": _elections}
    code, out, _ = run("elect", "a", "--json")
    assert code == 0
    assert [each["result"] for each in json.loads(out)] == ["elected", "not needed"]
    code, out, _ = run("elect", "a:2", "--json")
    assert code == 1
    assert json.loads(out)[0]["result"] == "The preferred leader was not available."


def test_unclean_election_asks_first(run: Run, cluster: ReassigningCluster) -> None:
    cluster._answers = {**cluster._answers, "elect_leaders": _elections}
    assert run("elect", "a:0", "--unclean")[0] == 2
    assert run("elect", "a:0", "--unclean", "--yes")[0] == 0
    assert cluster.requests[-1].fields["election_type"] == 1


@pytest.mark.parametrize("arguments", [["elect"], ["elect", "a", "--all"], ["elect", "a:b"]])
def test_election_of_nothing_in_particular(run: Run, arguments: list[str]) -> None:
    assert run(*arguments)[0] == 2
