import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.reassigning_cluster import ReassigningCluster

from barnabas.cli.kafka import reassign_partitions

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def cluster() -> ReassigningCluster:
    return ReassigningCluster({("foo", 0): (1, 2), ("foo", 1): (2, 3), ("bar", 0): (3,)})


@pytest.fixture
def run(
    cluster: ReassigningCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    monkeypatch.setattr(reassign_partitions, "open_cluster", lambda bootstrap, config: cluster)

    def call(*arguments: str) -> tuple[int, str]:
        code = reassign_partitions.main(["--bootstrap-server", "h:1", *arguments])
        return code, capsys.readouterr().out

    return call


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., str]:
    def write(*partitions: dict[str, object]) -> str:
        file = tmp_path / "plan.json"
        file.write_text(json.dumps({"version": 1, "partitions": partitions}))
        return str(file)

    return write


def _entry(topic: str, partition: int, *replicas: int, **more: object) -> dict[str, object]:
    return {"topic": topic, "partition": partition, "replicas": list(replicas), **more}


def test_move_from_its_start_to_its_end(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster
) -> None:
    file = plan(_entry("foo", 0, 2, 3), _entry("bar", 0, 3))
    code, text = run("--execute", "--reassignment-json-file", file)
    assert (code, text) == (
        0,
        (
            "Current partition replica assignment\n\n"
            '{"version":1,"partitions":[{"topic":"bar","partition":0,"replicas":[3],"log_dirs":["/disk1"]},'
            '{"topic":"foo","partition":0,"replicas":[1,2],"log_dirs":["/disk1","/disk1"]}]}\n\n'
            "Save this to use as the --reassignment-json-file option during rollback\n"
            "Successfully started partition reassignments for bar-0,foo-0\n"
        ),
    )
    assert run("--list") == (
        0,
        "Current partition reassignments:\nfoo-0: replicas: 1,2,3. adding: 3. removing: 1.\n",
    )
    assert run("--verify", "--reassignment-json-file", file) == (
        0,
        (
            "Status of partition reassignment:\n"
            "Reassignment of partition bar-0 is completed.\n"
            "Reassignment of partition foo-0 is still in progress.\n\n"
        ),
    )
    cluster.finish()
    assert run("--verify", "--reassignment-json-file", file) == (
        0,
        (
            "Status of partition reassignment:\n"
            "Reassignment of partition bar-0 is completed.\n"
            "Reassignment of partition foo-0 is completed.\n\n"
            "Clearing broker-level throttles on brokers 1,2,3\n"
            "Clearing topic-level throttles on topics bar,foo\n"
        ),
    )
    assert run("--list") == (0, "No partition reassignments found.\n")


def test_throttle_is_set_before_the_move_begins(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster
) -> None:
    file = plan(_entry("foo", 0, 2, 3))
    code, text = run("--execute", "--reassignment-json-file", file, "--throttle", "5000")
    assert code == 0
    assert text.splitlines()[-3:] == [
        (
            "Warning: You must run --verify periodically, until the reassignment completes, to ensure the "
            "throttle is removed."
        ),
        "The inter-broker throttle limit was set to 5000 B/s",
        "Successfully started partition reassignment for foo-0",
    ]
    assert cluster.altered()[:2] == [
        ("foo", "leader.replication.throttled.replicas", "0:1,0:2"),
        ("foo", "follower.replication.throttled.replicas", "0:3"),
    ]
    assert {(name, value) for name, _, value in cluster.altered()[2:]} == {(n, "5000") for n in "123"}
    apis = cluster.apis()
    assert max(i for i, api in enumerate(apis) if api == "incremental_alter_configs") < apis.index(
        "alter_partition_reassignments"
    )


def test_second_reassignment_needs_additional(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster
) -> None:
    cluster.targets["foo", 1] = (1, 2)
    file = plan(_entry("foo", 0, 2, 3))
    code, text = run("--execute", "--reassignment-json-file", file)
    assert code == 1
    assert text.startswith(
        "Cannot execute because there is an existing partition assignment.  Use --additional"
    )
    code, text = run("--execute", "--additional", "--reassignment-json-file", file)
    assert (code, cluster.targets["foo", 0]) == (0, (2, 3))


def test_refused_partitions_are_listed(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster
) -> None:
    cluster.refused = {("foo", 1): (39, "bad"), ("foo", 0): (39, "worse")}
    file = plan(_entry("foo", 1, 1, 2), _entry("foo", 0, 2, 3))
    code, text = run("--execute", "--reassignment-json-file", file)
    assert code == 1
    assert text.endswith("rollback\nError reassigning partition(s):\nfoo-0: worse\nfoo-1: bad\n")


def test_cancelled_move_is_no_longer_listed(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster
) -> None:
    cluster.targets = {("foo", 0): (2, 3), ("foo", 1): (1, 2)}
    file = plan(_entry("foo", 0, 2, 3))
    assert run("--cancel", "--reassignment-json-file", file, "--preserve-throttles") == (
        0,
        (
            "Successfully cancelled partition reassignment for: foo-0\n"
            "None of the specified partition moves are active."
        ),
    )
    assert cluster.targets == {("foo", 1): (1, 2)}
    assert cluster.altered() == []


def test_cancelling_what_does_not_move_clears_throttles(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster
) -> None:
    assert run("--cancel", "--reassignment-json-file", plan(_entry("foo", 0, 2, 3))) == (
        0,
        (
            "None of the specified partition reassignments are active.\n"
            "None of the specified partition moves are active."
            "Clearing broker-level throttles on brokers 1,2,3\n"
            "Clearing topic-level throttles on topic foo\n"
        ),
    )
    assert all(value is None for _, _, value in cluster.altered())


def test_cancellation_that_is_refused_is_listed(
    run: Run, plan: Callable[..., str], cluster: ReassigningCluster
) -> None:
    cluster.targets = {("foo", 0): (2, 3)}
    cluster.refused = {("foo", 0): (85, "nothing goes on")}
    assert run("--cancel", "--reassignment-json-file", plan(_entry("foo", 0, 2, 3))) == (
        1,
        "Error cancelling partition reassignment for:\nfoo-0: nothing goes on\n",
    )


def test_move_between_directories(run: Run, plan: Callable[..., str], cluster: ReassigningCluster) -> None:
    file = plan(_entry("foo", 0, 1, 2, log_dirs=["any", "/disk2"]))
    code, text = run("--execute", "--reassignment-json-file", file, "--replica-alter-log-dirs-throttle", "9")
    assert code == 0
    assert text.endswith(
        "The replica-alter-dir throttle limit was set to 9 B/s\n"
        "Successfully started partition reassignment for foo-0\n"
        "Successfully started moving log directory to /disk2 for replica foo-0 with broker 2 \n"
    )
    assert cluster.altered() == [("2", "replica.alter.log.dirs.io.max.bytes.per.second", "9")]
    _, text = run("--verify", "--reassignment-json-file", file)
    assert text.splitlines()[-1] == "Reassignment of replica foo-0-2 is still in progress."
    _, text = run("--cancel", "--preserve-throttles", "--reassignment-json-file", file)
    assert text.endswith(
        "Successfully started moving log directory to /disk1 for replica foo-0 with broker 2 \n"
    )
    _, text = run("--verify", "--preserve-throttles", "--reassignment-json-file", file)
    assert text.splitlines()[-1] == (
        "Partition foo-0 on broker 2 is not being moved from log dir /disk1 to /disk2."
    )
    cluster.dirs["foo", 0, 2] = "/disk2"
    _, text = run("--verify", "--preserve-throttles", "--reassignment-json-file", file)
    assert text.splitlines()[-1] == "Reassignment of replica foo-0-2 completed successfully."
    cluster.future_dirs["foo", 0, 2] = "/disk1"
    _, text = run("--verify", "--reassignment-json-file", file)
    assert text.splitlines()[-1] == (
        "Partition foo-0 on broker 2 is being moved to log dir /disk1 instead of /disk2."
    )


def test_other_replicas_than_planned_are_reported(run: Run, plan: Callable[..., str]) -> None:
    file = plan(_entry("foo", 0, 3, 2))
    _, text = run("--verify", "--preserve-throttles", "--reassignment-json-file", file)
    assert text == (
        "Status of partition reassignment:\n"
        "There is no active reassignment of partition foo-0, but replica set is 1,2 rather than 3,2.\n\n"
    )


def test_proposal_keeps_to_the_brokers_that_were_named(run: Run, tmp_path: Path) -> None:
    topics = tmp_path / "topics.json"
    topics.write_text('{"version":1,"topics":[{"topic":"foo"}]}')
    code, text = run("--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,3")
    assert code == 0
    title, current, empty, proposal, proposed = text.splitlines()
    assert (title, empty, proposal) == (
        "Current partition replica assignment",
        "",
        "Proposed partition reassignment configuration",
    )
    assert [each["log_dirs"] for each in json.loads(current)["partitions"]] == [["/disk1", "/disk1"]] * 2
    assert [sorted(each["replicas"]) for each in json.loads(proposed)["partitions"]] == [[1, 3]] * 2


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ([_entry("foo", 0, 7)], "Error: Unknown broker id 7\n"),
        (
            [_entry("no", 0, 1)],
            "Error: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: Topic no not found.\n",
        ),
        (
            [_entry("foo", 5, 1)],
            (
                "Error: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
                "Unable to find partition: foo-5\n"
            ),
        ),
        ([], "Error: Partition reassignment list cannot be empty\n"),
    ],
)
def test_bad_plans_are_errors_on_stdout(
    run: Run, plan: Callable[..., str], partitions: list[dict[str, object]], message: str
) -> None:
    assert run("--execute", "--reassignment-json-file", plan(*partitions)) == (1, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--list", "--verify"],
            "Command must include exactly one action: --generate, --execute, --verify, --cancel, --list",
        ),
        (["--list"], "Please specify either --bootstrap-server or --bootstrap-controller"),
        (
            ["--list", "--bootstrap-server", "h:1", "--bootstrap-controller", "h:2"],
            "Please don't specify both --bootstrap-server and --bootstrap-controller",
        ),
        (["--execute", "--bootstrap-server", "h:1"], 'Missing required argument "[reassignment-json-file]"'),
        (
            ["--verify", "--bootstrap-server", "h:1", "--reassignment-json-file", "f", "--throttle", "1"],
            'Option "[throttle]" can\'t be used with action "[verify]"',
        ),
        (
            ["--execute", "--bootstrap-controller", "h:1", "--reassignment-json-file", "f"],
            'Option "[bootstrap-controller]" can\'t be used with action "[execute]"',
        ),
        (
            ["--bootstrap-server", "h:1", "--cancel", "--timeout", "x"],
            "Cannot parse argument 'x' of option timeout",
        ),
    ],
)
def test_flags_that_do_not_go_together(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reassign_partitions.main(arguments) == 1
    assert capsys.readouterr().err.splitlines()[0] == message


def test_bootstrap_controller_is_not_supported(capsys: pytest.CaptureFixture[str]) -> None:
    assert reassign_partitions.main(["--bootstrap-controller", "h:1", "--list"]) == 1
    assert capsys.readouterr().out == (
        "Error: --bootstrap-controller is not supported: every broker takes these requests, "
        "use --bootstrap-server\n"
    )
