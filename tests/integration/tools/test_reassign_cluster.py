"""Reassignments and elections on three brokers, by Kafka's tools and by `barnabas reassign`."""

import json
from pathlib import Path

import pytest
from tests.integration.tools.programs import Ran, run_inside
from tests.integration.tools.waiting import until

from barnabas.testing import Cluster

pytestmark = pytest.mark.kafka_cluster(config={"broker.session.timeout.ms": 120_000})

_TOPIC = "freight"


def _run(cluster: Cluster, tool: str, *words: str) -> Ran:
    """By way of the controller, which is never paused."""
    controller = cluster.brokers[cluster.controller()]
    ran = run_inside(tool, "--bootstrap-server", controller.bootstrap_servers, *words)
    assert ran.code == 0, ran
    return ran


def _plan(path: Path, *assignment: list[int]) -> str:
    partitions = [
        {"topic": _TOPIC, "partition": number, "replicas": replicas}
        for number, replicas in enumerate(assignment)
    ]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


def _rows(cluster: Cluster) -> list[list[str]]:
    """The fields of each partition in `kafka-topics --describe`."""
    lines = _run(cluster, "kafka-topics", "--describe", "--topic", _TOPIC).lines
    return [line.strip().split("\t") for line in lines[1:]]


def test_reassignment_is_listed_cancelled_and_completed(kafka_cluster: Cluster, tmp_path: Path) -> None:
    cluster = kafka_cluster
    one = cluster.controller()
    two, new = (each for each in range(3) if each != one)
    cluster.create_topic(_TOPIC, assignment=[(one, two), (two, one)])
    plan = ("--reassignment-json-file", _plan(tmp_path / "plan.json", [new, one], [two, one]))
    cluster.pause(new)
    try:
        ran = _run(cluster, "kafka-reassign-partitions", "--execute", *plan)
        assert ran.lines[-1] == f"Successfully started partition reassignments for {_TOPIC}-0,{_TOPIC}-1"
        ran = _run(cluster, "kafka-reassign-partitions", "--list")
        listed = f"{_TOPIC}-0: replicas: {new},{one},{two}. adding: {new}. removing: {two}."
        assert ran.lines == ["Current partition reassignments:", listed]
        first, second = _rows(cluster)
        assert first[2:] == [
            f"Leader: {one}",
            f"Replicas: {new},{one},{two}",
            f"Isr: {one},{two}",
            f"Adding Replicas: {new}",
            f"Removing Replicas: {two}",
            "Elr: ",
            "LastKnownElr:",
        ]
        assert second[2:4] == [f"Leader: {two}", f"Replicas: {two},{one}"]
        ran = _run(cluster, "kafka-reassign-partitions", "--cancel", "--preserve-throttles", *plan)
        assert ran.lines[0] == f"Successfully cancelled partition reassignment for: {_TOPIC}-0"
        assert _rows(cluster)[0][2:5] == [f"Leader: {one}", f"Replicas: {one},{two}", f"Isr: {one},{two}"]
        ran = _run(cluster, "kafka-reassign-partitions", "--list")
        assert ran.lines == ["No partition reassignments found."]
    finally:
        cluster.resume(new)
    _run(cluster, "kafka-reassign-partitions", "--execute", "--throttle", "1000000", *plan)
    completed = f"Reassignment of partition {_TOPIC}-0 is completed."
    ran = until(
        lambda: _run(cluster, "kafka-reassign-partitions", "--verify", *plan),
        lambda ran: completed in ran.lines,
    )
    assert completed in ran.lines
    assert cluster.replicas(_TOPIC, 0) == [new, one]
    described = _run(cluster, "kafka-topics", "--describe", "--topic", _TOPIC).stdout
    assert "throttled" not in described


def test_leaders_are_elected_by_each_tool(kafka_cluster: Cluster, tmp_path: Path) -> None:
    cluster = kafka_cluster
    cluster.create_topic(_TOPIC, assignment=[(0, 1), (1, 0)])
    elections = (
        ("kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions"),
        ("kafka-preferred-replica-election",),
    )
    for number, words in enumerate(elections):
        order = [1, 0] if number % 2 == 0 else [0, 1]
        plan = ("--reassignment-json-file", _plan(tmp_path / "plan.json", order, [1, 0]))
        _run(cluster, "kafka-reassign-partitions", "--execute", *plan)
        assert _rows(cluster)[0][2] == f"Leader: {order[1]}"
        ran = _run(cluster, *words)
        assert f"{_TOPIC}-0" in ran.stdout
        cluster.wait_for_leader(_TOPIC, 0, [order[0]])
    ran = run_inside("barnabas", "reassign", "elect", "--all", "-b", cluster.brokers[2].bootstrap_servers)
    assert ran.code == 0, ran
