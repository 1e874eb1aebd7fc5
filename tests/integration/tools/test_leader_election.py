"""kafka-leader-election, kafka-preferred-replica-election and `barnabas reassign elect`."""

import json
from pathlib import Path

import pytest
from benchmarks.processes import BrokerProcess
from tests.integration.tools.programs import Ran, call, run_inside
from tests.integration.tools.waiting import until

from barnabas.cli.kafka.leader_election import preferred_replica_main
from barnabas.testing import Broker


def _elect(broker: Broker | BrokerProcess, *words: str) -> Ran:
    return run_inside("kafka-leader-election", "--bootstrap-server", broker.bootstrap_servers, *words)


def test_no_other_broker_can_be_elected(barnabas_broker: Broker) -> None:
    ran = _elect(barnabas_broker, "--election-type", "preferred", "--all-topic-partitions")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")
    ran = run_inside("barnabas", "reassign", "elect", "--all", "-b", barnabas_broker.bootstrap_servers)
    assert ran.code == 0, ran


def test_unreachable_broker_is_reported_in_one_line() -> None:
    words = ("--election-type", "preferred", "--all-topic-partitions")
    ran = run_inside("kafka-leader-election", "--bootstrap-server", "127.0.0.1:1", *words)
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.startswith("No broker answers (127.0.0.1:1: connection refused)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Replica election data is empty\n"),
        ("{}", 'Replica election data is missing "partitions" field\n'),
        ('{"partitions":[{"topic":"a"}]}', "No such field exists: `partition`\n"),
    ],
)
def test_files_that_name_no_partitions(
    barnabas_broker: Broker, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "p.json"
    file.write_text(text)
    ran = _elect(barnabas_broker, "--election-type", "preferred", "--path-to-json-file", str(file))
    assert (ran.code, ran.stdout, ran.stderr) == (1, "", message)


def test_old_tool_elects_at_apache_kafka(apache_broker: BrokerProcess, tmp_path: Path) -> None:
    bootstrap = ("--bootstrap-server", apache_broker.bootstrap_servers)
    run_inside("kafka-topics", *bootstrap, "--create", "--topic", "elected")
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"partitions": [{"topic": "elected", "partition": 0}]}))
    words = [*bootstrap, "--path-to-json-file", str(file)]
    ran = call(preferred_replica_main, "kafka-preferred-replica-election", words, "", 30.0)
    assert (ran.code, ran.lines[1:], ran.stderr) == (
        0,
        ["Preferred replica already elected for partitions elected-0"],
        "",
    )


def test_elections_for_people(apache_broker: BrokerProcess) -> None:
    bootstrap = apache_broker.bootstrap_servers
    run_inside("kafka-topics", "--bootstrap-server", bootstrap, "--create", "--topic", "chosen")
    ran = until(
        lambda: run_inside("barnabas", "reassign", "elect", "chosen", "-b", bootstrap, "--json"),
        lambda ran: ran.code == 0,
    )
    assert ran.code == 0
    assert json.loads(ran.stdout) == [{"topic": "chosen", "partition": 0, "result": "not needed"}]
    ran = run_inside("barnabas", "reassign", "elect", "absent:3", "-b", bootstrap)
    assert ran.code == 1
    assert "No such topic as absent" in ran.stdout
