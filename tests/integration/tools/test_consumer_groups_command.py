"""`barnabas group` with our broker and real members, in pipes and on a terminal."""

import json
import os
import pty
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from tests.integration.tools.live_members import commit, commit_one, live_members, make_topic, produce
from tests.integration.tools.programs import Ran, run, run_inside
from tests.patience import PATIENCE

from barnabas.testing import Broker

_SOURCE = Path(__file__).parents[3] / "src"
_FRONT = (sys.executable, "-P", "-m", "barnabas", "group")


class _Lab:
    def __init__(self, broker: Broker) -> None:
        salt = uuid.uuid4().hex[:8]
        self.bootstrap = broker.bootstrap_servers
        self.group = f"group-{salt}"
        self.topic = f"topic-{salt}"

    def run(self, command: str, *words: str) -> Ran:
        return run_inside("barnabas", "group", command, "-b", self.bootstrap, *words)

    def json(self, command: str, *words: str) -> list[dict[str, object]]:
        ran = self.run(command, *words, "--json")
        assert ran.code == 0, ran
        value: list[dict[str, object]] = json.loads(ran.stdout)
        return value

    def offsets(self) -> dict[object, object]:
        (found,) = self.json("describe", self.group)
        partitions = found["partitions"]
        assert isinstance(partitions, list)
        return {each["partition"]: each["current_offset"] for each in partitions}


@pytest.fixture
def lab(barnabas_broker: Broker) -> _Lab:
    return _Lab(barnabas_broker)


@pytest.fixture
def idle(lab: _Lab) -> _Lab:
    """A group without members: at 1 and 4 of two partitions with 5 records each."""
    make_topic(lab.bootstrap, lab.topic, 2, records_each=5)
    commit(lab.bootstrap, lab.group, {(lab.topic, 0): 1, (lab.topic, 1): 4})
    return lab


def test_list_has_members_and_lag(idle: _Lab) -> None:
    (row,) = [line.split() for line in idle.run("list").lines if idle.group in line]
    assert row == [idle.group, "Empty", "Classic", "0", "5"]
    assert {"group": idle.group, "state": "Empty", "type": "Classic", "members": 0, "lag": 5} in idle.json(
        "list"
    )


def test_list_can_be_narrowed(idle: _Lab) -> None:
    def named(*words: str) -> list[object]:
        return [each["group"] for each in idle.json("list", *words)]

    assert idle.group in named("--state", "empty", "--type", "classic")
    assert idle.group not in named("--state", "Stable")
    assert idle.group not in named("--type", "consumer")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_describe_shows_members_and_lag(lab: _Lab, protocol: str) -> None:
    make_topic(lab.bootstrap, lab.topic, 2, records_each=5)
    with live_members(lab.bootstrap, lab.group, lab.topic, protocol=protocol) as (member,):
        commit_one(member, lab.topic, 0, 2)
        (found,) = lab.json("describe", lab.group)
        assert (found["type"], found["lag"]) == (protocol.capitalize(), 3)
        members = found["members"]
        assert isinstance(members, list)
        assert [each["partitions"] for each in members] == [[f"{lab.topic}-0", f"{lab.topic}-1"]]
        shown = lab.run("describe", lab.group).lines
        assert shown[0].startswith(f"{lab.group}  ")
        assert "1 member  coordinator 1 " in shown[0]
        firsts = [line.split()[0] for line in shown[1:]]
        assert (firsts[0], firsts[2:]) == ("MEMBER", ["TOPIC", lab.topic, lab.topic])


def test_watch_shows_rates_and_the_time_to_catch_up(lab: _Lab) -> None:
    make_topic(lab.bootstrap, lab.topic, 1, records_each=50)
    commit(lab.bootstrap, lab.group, {(lab.topic, 0): 0})
    process = subprocess.Popen(
        [*_FRONT, *f"watch {lab.group} -b {lab.bootstrap} --interval 0.5 --times 3 --json".split()],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(_SOURCE)},
    )
    with process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        commit(lab.bootstrap, lab.group, {(lab.topic, 0): 10})
        second, third = json.loads(process.stdout.readline()), json.loads(process.stdout.readline())
    assert process.returncode == 0
    assert [first[0][key] for key in ("lag", "rate", "catch_up_seconds")] == [50, None, None]
    assert third[0]["lag"] == 40
    assert third[0]["rate"] > 0
    assert third[0]["catch_up_seconds"] == pytest.approx(40 / third[0]["rate"], rel=0.1)
    assert second[0]["end_offset"] == 50


def test_watch_ends_with_a_row_for_all(idle: _Lab) -> None:
    produce(idle.bootstrap, idle.topic, 2, 1)
    titles, *rows, total = idle.run("watch", idle.group, "--times", "1").lines
    assert titles.split() == ["TOPIC", "PARTITION", "CURRENT", "END", "LAG", "RATE/S", "CATCH-UP", "CLIENT"]
    assert [row.split()[4] for row in rows] == ["5", "2"]
    assert total.split()[:2] == ["total", "7"]


def test_reset_shows_its_plan_and_carries_it_out(idle: _Lab) -> None:
    ran = idle.run("reset", idle.group, "--to", "99", "--topic", f"{idle.topic}:0", "--yes")
    assert ran.code == 0
    titles, row, done = ran.lines
    assert titles.split() == ["TOPIC", "PARTITION", "CURRENT", "NEW", "CHANGE", "NOTE"]
    assert row.split(maxsplit=5) == [idle.topic, "0", "1", "5", "4", "99 is higher than the latest offset"]
    assert done == f"Reset group {idle.group}."
    assert idle.offsets() == {0: 5, 1: 4}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--to", "earliest"], [0, 0]),
        (["--to", "latest"], [5, 5]),
        (["--to", "current"], [1, 4]),
        (["--to", "3"], [3, 3]),
        (["--shift-by", "-1"], [0, 3]),
        (["--to-time", "2h"], [0, 0]),
        (["--to-time", "2099-01-01"], [5, 5]),
    ],
)
def test_reset_knows_every_strategy_and_a_dry_run_changes_nothing(
    idle: _Lab, words: list[str], expected: list[int]
) -> None:
    ran = idle.run("reset", idle.group, *words, "--dry-run", "--json")
    plan = json.loads(ran.stdout)
    assert [each["new_offset"] for each in plan["offsets"]] == expected
    assert plan["changed"] is False
    assert idle.offsets() == {0: 1, 1: 4}


def test_reset_reads_what_kafkas_tool_exports(idle: _Lab) -> None:
    export = ["--reset-offsets", "--all-topics", "--to-current", "--dry-run", "--export"]
    server = ("--bootstrap-server", idle.bootstrap)
    exported = run_inside("kafka-consumer-groups", *server, *export, "--group", idle.group).stdout
    idle.run("reset", idle.group, "--to", "latest", "--yes")
    command = f"group reset {idle.group} -b {idle.bootstrap} --from-file - --yes"
    ran = run_inside("barnabas", *command.split(), stdin=exported)
    assert ran.code == 0, ran
    assert idle.offsets() == {0: 1, 1: 4}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "Exactly one of --to"),
        (["--to", "earliest", "--shift-by", "1"], "Exactly one of --to"),
        (["--to", "somewhere"], "--to somewhere: expected earliest|latest|current|OFFSET"),
        (["--to-time", "noon"], "'noon' is not a time"),
        (
            ["--to", "earliest", "--topic", "missing"],
            "missing: This server does not host this topic-partition.",
        ),
        (["--to", "earliest", "--topic", "t:x"], "Invalid partition 'x'"),
        (["--from-file", "/missing.csv"], "--from-file /missing.csv: "),
        (["--to", "earliest"], "Standard input is not a terminal: confirm with --yes"),
    ],
)
def test_bad_reset_is_one_line_and_changes_nothing(idle: _Lab, words: list[str], complaint: str) -> None:
    ran = idle.run("reset", idle.group, *words)
    assert ran.code in (1, 2)
    assert complaint in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert idle.offsets() == {0: 1, 1: 4}


def test_group_with_members_is_neither_reset_nor_deleted(lab: _Lab) -> None:
    make_topic(lab.bootstrap, lab.topic, 1)
    with live_members(lab.bootstrap, lab.group, lab.topic):
        reset = lab.run("reset", lab.group, "--to", "earliest", "--topic", lab.topic, "--yes")
        assert (reset.code, reset.stdout) == (1, "")
        assert "Stop them first." in reset.stderr
        deleted = lab.run("delete", lab.group, "--yes")
        assert (deleted.code, deleted.stderr) == (1, f"barnabas: {lab.group}: The group is not empty.\n")
        offsets = lab.run("delete-offsets", lab.group, "--topic", lab.topic, "--yes")
        assert offsets.code == 1
        assert f"barnabas: {lab.topic}-0: Deleting offsets of a topic is forbidden" in offsets.stderr


def test_delete_offsets_and_delete(idle: _Lab) -> None:
    ran = idle.run("delete-offsets", idle.group, "-t", f"{idle.topic}:0", "--yes")
    assert (ran.code, ran.stdout) == (0, f"Deleted the offsets of {idle.topic}-0.\n")
    assert idle.offsets() == {1: 4}
    ran = idle.run("delete", idle.group, f"{idle.group}-none", "--yes", "--json")
    assert ran.code == 1
    assert json.loads(ran.stdout)["deleted"] == [idle.group]
    assert idle.run("describe", idle.group).stderr == f"barnabas: Group {idle.group} not found.\n"


def test_names_of_groups_are_completed(idle: _Lab) -> None:
    words = ["barnabas", "group", "describe", idle.group[:-2]]
    environment = {
        "_BARNABAS_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "BARNABAS_BOOTSTRAP_SERVER": idle.bootstrap,
    }
    assert idle.group in run("barnabas", env=environment).stdout


@pytest.mark.parametrize(("answer", "expected"), [("y", {0: 0, 1: 0}), ("n", {0: 1, 1: 4})])
def test_terminal_shows_the_plan_and_prompts(idle: _Lab, answer: str, expected: dict[int, int]) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*_FRONT, *f"reset {idle.group} --to earliest -b {idle.bootstrap}".split()],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(_SOURCE), "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    seen = b""
    deadline = time.monotonic() + PATIENCE
    while b"[y/N]" not in seen and time.monotonic() < deadline:
        seen += os.read(ours, 4096)
    os.write(ours, answer.encode() + b"\n")
    assert process.wait(PATIENCE) == (0 if answer == "y" else 1)
    os.close(ours)
    assert b"CURRENT" in seen
    assert f"Set 2 offsets of group {idle.group}?".encode() in seen
    assert idle.offsets() == expected
