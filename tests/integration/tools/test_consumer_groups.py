"""kafka-consumer-groups with our broker and real members."""

import time
import uuid
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer
from tests.integration.tools.live_members import commit, commit_one, live_members, make_topic
from tests.integration.tools.programs import Ran, run_inside
from tests.patience import PATIENCE

from barnabas.testing import Broker

_TITLES = [
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
]


class _Lab:
    """A topic and the name of a group of one test."""

    def __init__(self, broker: Broker) -> None:
        salt = uuid.uuid4().hex[:8]
        self.bootstrap = broker.bootstrap_servers
        self.group = f"group-{salt}"
        self.topic = f"topic-{salt}"

    def run(self, words: str) -> Ran:
        filled = words.format(group=self.group, topic=self.topic)
        return run_inside("kafka-consumer-groups", "--bootstrap-server", self.bootstrap, *filled.split())

    def until(self, words: str, condition: Callable[[Ran], bool]) -> Ran:
        deadline = time.monotonic() + PATIENCE
        while not condition(ran := self.run(words)):
            assert time.monotonic() < deadline, ran
            time.sleep(0.05)
        return ran

    def committed(self) -> dict[int, int]:
        rows = [line.split() for line in self.run("--describe --group {group}").lines if self.topic in line]
        return {int(row[2]): int(row[3]) for row in rows}


@pytest.fixture
def lab(barnabas_broker: Broker) -> _Lab:
    return _Lab(barnabas_broker)


def _position_of(lab: _Lab) -> int:
    """The offset at which a member of the group begins to read."""
    member = Consumer(
        {"bootstrap.servers": lab.bootstrap, "group.id": lab.group, "enable.auto.commit": False}
    )
    member.subscribe([lab.topic])
    try:
        deadline = time.monotonic() + PATIENCE
        while (message := member.poll(0.1)) is None:
            assert time.monotonic() < deadline
        offset = message.offset()
        assert offset is not None
        return offset
    finally:
        member.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_are_shown_with_their_partitions_and_lag(lab: _Lab, protocol: str) -> None:
    make_topic(lab.bootstrap, lab.topic, 2, records_each=5)
    with live_members(lab.bootstrap, lab.group, lab.topic, protocol=protocol) as (member,):
        commit_one(member, lab.topic, 1, 3)
        ran = lab.until("--describe --group {group}", lambda ran: " 3 " in ran.stdout and ran.stderr == "")
        assert ran.code == 0
        blank, titles, *rows = ran.lines
        assert (blank, titles.split()) == ("", _TITLES)
        cells = [row.split() for row in rows]
        assert [row[:6] for row in cells] == [
            [lab.group, lab.topic, "0", "-", "5", "-"],
            [lab.group, lab.topic, "1", "3", "5", "2"],
        ]
        assert {row[7] for row in cells} == {"/127.0.0.1"}
        assert {row[8] for row in cells} == {"client-0"}
        state = lab.run("--describe --group {group} --state").lines[2].split()
        assert state[-2:] == ["Stable", "1"]
        assert f"{lab.topic}:0,1" in lab.run("--describe --group {group} --members --verbose").stdout


def test_members_that_left_leave_the_offsets(lab: _Lab) -> None:
    make_topic(lab.bootstrap, lab.topic, 1, records_each=2)
    with live_members(lab.bootstrap, lab.group, lab.topic) as (member,):
        commit_one(member, lab.topic, 0, 1)
    ran = lab.until("--describe --group {group}", lambda ran: "no active members" in ran.stderr)
    assert ran.stderr == f"\nConsumer group '{lab.group}' has no active members.\n"
    assert ran.lines[2].split() == [lab.group, lab.topic, "0", "1", "2", "1", "-", "-", "-"]


def test_rebalance_is_warned_about(lab: _Lab) -> None:
    make_topic(lab.bootstrap, lab.topic, 2)
    with live_members(lab.bootstrap, lab.group, lab.topic):  # it is not polled any more: it does not rejoin
        second = Consumer({"bootstrap.servers": lab.bootstrap, "group.id": lab.group})
        second.subscribe([lab.topic])
        try:
            second.poll(0.1)
            ran = lab.until("--describe --group {group}", lambda ran: "rebalancing" in ran.stderr)
            assert ran.stderr == f"\nWarning: Consumer group '{lab.group}' is rebalancing.\n"
            reset = lab.run("--reset-offsets --group {group} --all-topics --to-latest --execute")
            assert "but the current state is PreparingRebalance." in reset.stdout
        finally:
            second.close()


def test_consumer_goes_on_where_the_group_was_reset_to(lab: _Lab) -> None:
    make_topic(lab.bootstrap, lab.topic, 1, records_each=9)
    commit(lab.bootstrap, lab.group, {(lab.topic, 0): 9})
    ran = lab.run("--reset-offsets --group {group} --topic {topic} --shift-by -5 --execute")
    assert (ran.code, ran.stderr) == (0, "")
    assert _position_of(lab) == 4


def test_dry_run_changes_nothing(lab: _Lab) -> None:
    make_topic(lab.bootstrap, lab.topic, 2, records_each=3)
    commit(lab.bootstrap, lab.group, {(lab.topic, 0): 1, (lab.topic, 1): 2})
    for mode in ("--dry-run", ""):
        assert lab.run(f"--reset-offsets --group {{group}} --all-topics --to-earliest {mode}").code == 0
    assert lab.committed() == {0: 1, 1: 2}


def test_exported_plan_restores_the_group(lab: _Lab, tmp_path_factory: pytest.TempPathFactory) -> None:
    make_topic(lab.bootstrap, lab.topic, 2, records_each=3)
    commit(lab.bootstrap, lab.group, {(lab.topic, 0): 1, (lab.topic, 1): 2})
    exported = lab.run("--reset-offsets --group {group} --all-topics --to-current --dry-run --export").stdout
    plan = tmp_path_factory.mktemp("plan") / "offsets.csv"
    plan.write_text(exported)
    lab.run("--reset-offsets --group {group} --all-topics --to-latest --execute")
    assert lab.committed() == {0: 3, 1: 3}
    lab.run(f"--reset-offsets --group {{group}} --from-file {plan} --execute")
    assert lab.committed() == {0: 1, 1: 2}


def test_time_picks_the_first_record_that_is_as_late(lab: _Lab) -> None:
    make_topic(lab.bootstrap, lab.topic, 1, records_each=3)
    time.sleep(0.3)
    between = time.time_ns() // 1_000_000 - 100
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(between / 1000)) + f".{between % 1000:03d}"
    make = "--reset-offsets --group {group} --topic {topic} --dry-run "
    assert lab.run(f"{make} --to-datetime {stamp}").stdout.startswith(
        f"\nWarn: Partition 0 from topic {lab.topic} is empty. Falling back to latest known offset.\n"
    )
    assert lab.run(f"{make} --by-duration PT1H").lines[2].split()[-1] == "0"


def test_bad_plan_is_reported_with_its_line(lab: _Lab, tmp_path_factory: pytest.TempPathFactory) -> None:
    plan = tmp_path_factory.mktemp("plan") / "offsets.csv"
    plan.write_text("t,0,1\nt,one,1\n")
    ran = lab.run(f"--reset-offsets --group {{group}} --from-file {plan} --dry-run")
    assert "line 2 is not topic,partition,offset: t,one,1" in ran.stdout


def test_all_groups_can_be_described_at_once(lab: _Lab) -> None:
    make_topic(lab.bootstrap, lab.topic, 1, records_each=1)
    other = f"{lab.group}-other"
    commit(lab.bootstrap, lab.group, {(lab.topic, 0): 0})
    commit(lab.bootstrap, other, {(lab.topic, 0): 1})
    described = lab.run("--describe --all-groups").stdout
    assert f"\n{lab.group} " in described
    assert f"\n{other} " in described


def test_deleted_group_does_not_exist(lab: _Lab) -> None:
    make_topic(lab.bootstrap, lab.topic, 1)
    commit(lab.bootstrap, lab.group, {(lab.topic, 0): 0})
    assert lab.group in lab.run("--list").lines
    ran = lab.run("--delete --group {group} --group {group}-none")
    assert f"* Group '{lab.group}-none' could not be deleted due to: " in ran.stdout
    assert ran.stdout.endswith(f"\nThese consumer groups were deleted successfully: '{lab.group}'\n")
    assert lab.group not in lab.run("--list").lines


def test_seed_commands(barnabas_broker: Broker) -> None:
    """As the notes have them: a consumer reads with --group consumer03, then the group is looked at."""
    bootstrap = barnabas_broker.bootstrap_servers
    make_topic(bootstrap, "Hello-Kafka-groups", 1, records_each=2)
    with live_members(bootstrap, "consumer03", "Hello-Kafka-groups") as (member,):
        commit_one(member, "Hello-Kafka-groups", 0, 2)
        listed = run_inside("kafka-consumer-groups.sh", "--bootstrap-server", bootstrap, "--list")
        assert "consumer03" in listed.lines
        described = run_inside(
            "kafka-consumer-groups.sh",
            *("--bootstrap-server", bootstrap, "--describe", "--group", "consumer03"),
        )
        assert described.lines[1].split() == _TITLES
        assert described.lines[2].split()[:6] == ["consumer03", "Hello-Kafka-groups", "0", "2", "2", "0"]
