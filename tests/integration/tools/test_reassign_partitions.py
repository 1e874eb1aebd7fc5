"""kafka-reassign-partitions and `barnabas reassign`: what one broker can show of them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks.processes import BrokerProcess
from confluent_kafka import Producer
from tests.integration.tools.programs import Ran, run, run_inside
from tests.integration.tools.waiting import until

from barnabas.testing import Broker


@pytest.fixture
def topic(barnabas_broker: Broker, request: pytest.FixtureRequest) -> str:
    name = "reassign-" + re.sub(r"[^a-z]+", "-", request.node.name)
    barnabas_broker.create_topic(name, partitions=2)
    return name


def _reassign(broker: Broker | BrokerProcess, *words: str) -> Ran:
    return run_inside("kafka-reassign-partitions", "--bootstrap-server", broker.bootstrap_servers, *words)


def _barnabas(broker: Broker | BrokerProcess, *words: str) -> Ran:
    return run_inside("barnabas", "reassign", *words, "-b", broker.bootstrap_servers)


# --- our broker --------------------------------------------------------------------------------------


def test_proposal_has_the_directories_of_today(barnabas_broker: Broker, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "topics.json"
    file.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    words = ("--topics-to-move-json-file", str(file), "--broker-list", "1", "--disable-rack-aware")
    ran = _reassign(barnabas_broker, "--generate", *words)
    assert (ran.code, ran.stderr) == (0, "")
    current = json.loads(ran.lines[1])["partitions"]
    assert [(each["partition"], each["replicas"]) for each in current] == [(0, [1]), (1, [1])]
    assert {path for each in current for path in each["log_dirs"]} == {str(barnabas_broker.log_dir)}


@pytest.mark.parametrize(
    ("action", "line"),
    [
        ("--execute", "Successfully started partition reassignment for {topic}-0"),
        ("--verify", "Reassignment of partition {topic}-0 is completed."),
        ("--cancel", "None of the specified partition reassignments are active."),
        ("--list", "No partition reassignments found."),
    ],
)
def test_plan_that_changes_nothing(
    barnabas_broker: Broker, topic: str, action: str, line: str, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "replicas": [1]}]}))
    words = [] if action == "--list" else ["--reassignment-json-file", str(file)]
    ran = _reassign(barnabas_broker, action, *words)
    assert (ran.code, ran.stderr) == (0, "")
    assert line.format(topic=topic) in ran.lines


def test_plan_for_people_and_for_start(barnabas_broker: Broker, topic: str) -> None:
    ran = _barnabas(barnabas_broker, "plan", topic)
    assert ran.code == 0
    assert [line.split()[:4] for line in ran.lines[1:]] == [[topic, "0", "1", "1"], [topic, "1", "1", "1"]]
    plan = json.loads(_barnabas(barnabas_broker, "plan", topic, "--json").stdout)
    assert [each["log_dirs"] for each in plan["partitions"]] == [["any"], ["any"]]
    status = _barnabas(barnabas_broker, "status")
    assert (status.code, status.stdout, status.stderr) == (0, "", "Nothing is being moved\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.json", None, "No such file or directory"),
        ("bad.json", "{", "The input is not valid JSON"),
        ("field.json", '{"partitions":[{"topic":"a"}]}', "No such field exists: `partition`"),
    ],
)
def test_files_that_are_no_plans(
    barnabas_broker: Broker, tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_text(content)
    ran = _reassign(barnabas_broker, "--execute", "--reassignment-json-file", str(file))
    assert (ran.code, ran.stderr) == (1, "")
    assert ran.stdout.startswith("Error: ")
    assert message in ran.stdout
    assert len(ran.lines) == 1
    ran = _barnabas(barnabas_broker, "start", str(file))
    assert ran.code == 1
    assert message in ran.stderr


def test_unreachable_broker_is_reported_in_one_line(tmp_path: Path) -> None:
    ran = run_inside("kafka-reassign-partitions", "--bootstrap-server", "127.0.0.1:1", "--list")
    assert ran.code == 1
    assert ran.stdout.startswith("Error: No broker answers (127.0.0.1:1: connection refused)")
    assert len(ran.lines) == 1


def test_zookeeper_is_answered_with_what_to_do() -> None:
    ran = run_inside("kafka-reassign-partitions", "--zookeeper", "127.0.0.1:1", "--list")
    assert ran.code == 1
    assert "use --bootstrap-server" in ran.stdout


def test_help_needs_no_broker() -> None:
    ran = run("kafka-reassign-partitions", "--help")
    assert (ran.code, ran.stderr) == (0, "")
    assert "--replica-alter-log-dirs-throttle" in ran.stdout


# --- Apache Kafka and our broker with two disks -------------------------------------------------------


class TwoDisks(NamedTuple):
    broker: Broker | BrokerProcess
    disks: set[str]


@pytest.fixture
def apache_disks(other_apache_broker: BrokerProcess) -> TwoDisks:
    first = other_apache_broker.log_dir
    return TwoDisks(other_apache_broker, {str(first), str(first.parent / "second")})


@pytest.fixture
def our_disks(tmp_path: Path) -> Iterator[TwoDisks]:
    disks = [str(tmp_path / "first"), str(tmp_path / "second")]
    with Broker(process=True, config={"node.id": 1, "log.dirs": ",".join(disks)}) as broker:
        yield TwoDisks(broker, set(disks))


def _log_dirs(broker: Broker | BrokerProcess) -> Ran:
    return run_inside("kafka-log-dirs", "--bootstrap-server", broker.bootstrap_servers, "--describe")


def _log_dirs_of(ran: Ran, topic: str) -> list[str]:
    """The directories of the topic's first partition; two while it moves."""
    return [
        directory["logDir"]
        for directory in json.loads(ran.lines[2])["brokers"][0]["logDirs"]
        for each in directory["partitions"]
        if each["partition"] == f"{topic}-0"
    ]


@pytest.mark.parametrize("fixture", ["apache_disks", "our_disks"])
def test_partition_moves_to_the_other_disk_and_back(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    two_disks, disks = request.getfixturevalue(fixture)
    producer = Producer({"bootstrap.servers": two_disks.bootstrap_servers})
    producer.produce("moved", b"x" * 1000)
    producer.flush()
    (before,) = _log_dirs_of(_log_dirs(two_disks), "moved")
    (other,) = disks - {before}
    plan, back = tmp_path / "plan.json", tmp_path / "back.json"
    entry = {"topic": "moved", "partition": 0, "replicas": [1], "log_dirs": [other]}
    plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    words = ("--reassignment-json-file", str(plan))
    ran = _reassign(two_disks, "--execute", *words, "--replica-alter-log-dirs-throttle", "1000000")
    assert ran.code == 0
    assert ran.lines[-1] == (
        f"Successfully started moving log directory to {other} for replica moved-0 with broker 1 "
    )
    back.write_text(ran.lines[2])
    until(lambda: _log_dirs(two_disks), lambda ran: _log_dirs_of(ran, "moved") == [other])
    ran = _reassign(two_disks, "--verify", *words)
    assert (ran.code, ran.lines) == (
        0,
        [
            "Status of partition reassignment:",
            "Reassignment of partition moved-0 is completed.",
            "Reassignment of replica moved-0-1 completed successfully.",
            "Clearing broker-level throttles on broker 1",
            "Clearing topic-level throttles on topic moved",
        ],
    )
    assert _barnabas(two_disks, "start", str(back), "--yes").code == 0
    ran = _barnabas(two_disks, "status", str(back), "--follow", "--every", "0.1", "--json")
    assert ran.code == 0
    assert {each["state"] for each in json.loads(ran.lines[-1])} == {"done"}
    assert _log_dirs_of(_log_dirs(two_disks), "moved") == [before]
