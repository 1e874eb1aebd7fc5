"""Groups as brokers rarely show them: old brokers, groups on their way to the new protocol."""

from collections.abc import Mapping

import pytest
from tests.fakes.scripted_broker import Answer, ScriptedBroker

from barnabas.cli.kafka.consumer_groups import main

COORDINATOR = {"node_id": 1, "host": "127.0.0.1", "port": 1}
NO_OFFSETS: Mapping[str, object] = {"topics": []}
NOTHING: Mapping[str, object] = {"topic_partitions": []}


def _described(answers: Mapping[str, Answer], *words: str) -> int:
    with ScriptedBroker({"find_coordinator": COORDINATOR, "offset_fetch": NO_OFFSETS, **answers}) as broker:
        return main(["--bootstrap-server", broker.address, "--describe", "--group", "g", *words])


def _classic(state: str, protocol_type: str = "consumer") -> Mapping[str, Answer]:
    group = {"group_id": "g", "group_state": state, "protocol_type": protocol_type, "protocol_data": ""}
    return {"describe_groups": {"groups": [{**group, "members": []}]}}


def _member(name: str, kind: int) -> Mapping[str, object]:
    assignment = {"topic_partitions": [{"topic_id": None, "topic_name": "t", "partitions": [kind]}]}
    return {
        "member_id": name,
        "client_id": "c",
        "client_host": "/h",
        "member_epoch": 7,
        "assignment": assignment,
        "target_assignment": NOTHING,
        "member_type": kind,
    }


@pytest.mark.parametrize("words", [[], ["--state"]])
def test_dead_group_does_not_exist(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert _described(_classic("Dead"), *words) == 0
    assert capsys.readouterr().out == "\nError: Consumer group 'g' does not exist.\n"


def test_group_of_connect_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert _described(_classic("Stable", "connect")) == 0
    assert capsys.readouterr().out == (
        "\nError: Executing consumer group command failed due to java.lang.IllegalArgumentException: "
        "GroupId g is not a consumer group (connect).\n"
    )


def test_unknown_state_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert _described(_classic("Dreaming")) == 0
    assert capsys.readouterr().out == (
        "\nError: Executing consumer group command failed due to "
        "Expected a valid consumer group state, but found 'Unknown'.\n"
    )


def test_group_in_migration_shows_which_members_are_upgraded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    group = {
        "group_id": "g",
        "group_state": "Stable",
        "group_epoch": 8,
        "assignment_epoch": 8,
        "assignor_name": "uniform",
        "members": [_member("old", 0), _member("new", 1)],
    }
    answers = {"consumer_group_describe": {"groups": [group]}}
    assert _described(answers, "--members", "--verbose") == 0
    _, titles, *rows = capsys.readouterr().out.splitlines()
    assert titles.split()[-3:] == ["TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED"]
    assert [row.split() for row in rows] == [
        ["g", "old", "/h", "c", "1", "7", "t:0", "8", "-", "false"],
        ["g", "new", "/h", "c", "1", "7", "t:1", "8", "-", "true"],
    ]


def test_broker_without_groups_says_so_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedBroker() as broker:
        assert main(["--bootstrap-server", broker.address, "--list"]) == 1
    assert capsys.readouterr().out == (
        "\nError: Executing consumer group command failed due to The broker does not support LIST_GROUPS\n"
    )
