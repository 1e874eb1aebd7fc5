from collections.abc import Sequence

import pytest

from barnabas.cli.kafka import leader_election, run_class, topics


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []

    def record(arguments: Sequence[str] | None = None) -> int:
        calls.append(list(arguments or []))
        return 7

    monkeypatch.setattr(topics, "main", record)
    monkeypatch.setattr(leader_election, "preferred_replica_main", record)
    return calls


@pytest.mark.parametrize("name", ["kafka.admin.TopicCommand", "org.apache.kafka.tools.TopicCommand"])
def test_tool_is_known_by_its_class(called: list[list[str]], name: str) -> None:
    assert run_class.main(["-daemon", "-name", "x", name, "--list"]) == 7
    assert called == [["--list"]]


def test_class_that_stood_for_a_flag_brings_it(called: list[list[str]]) -> None:
    run_class.main(["kafka.admin.DeleteTopicCommand", "--topic", "t", "--zookeeper127.0.0.1:2181"])
    assert called == [["--delete", "--topic", "t", "--zookeeper=127.0.0.1:2181"]]


@pytest.mark.parametrize("words", [["--zookeeper", "a:1"], ["--zookeeper=a:1"], ["--topic", "zookeeper:1"]])
def test_well_formed_flags_stay(called: list[list[str]], words: list[str]) -> None:
    run_class.main(["TopicCommand", *words])
    assert called == [words]


def test_second_tool_of_a_module_is_found(called: list[list[str]]) -> None:
    assert run_class.main(["kafka.admin.PreferredReplicaLeaderElectionCommand"]) == 7


@pytest.mark.parametrize("words", [[], ["kafka.Kafka"], ["-daemon"]])
def test_unknown_class_is_answered_with_the_known_ones(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_class.main(words) == 1
    assert "TopicCommand" in capsys.readouterr().err
