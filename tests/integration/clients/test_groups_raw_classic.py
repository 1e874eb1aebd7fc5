"""The classic protocol over bare sockets: every version, and what Apache Kafka answers to what is wrong."""

import select
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.conftest import QUICK_GROUPS
from tests.integration.clients.drivers.member import until
from tests.integration.clients.group_requests import (
    beat,
    join,
    join_alone,
    join_as_new,
    join_fields,
    leave,
    member_count,
    subscription,
    sync,
)
from tests.integration.clients.raw import RawClient
from tests.patience import NEVER_MS, PATIENCE

from barnabas.testing import Broker

_UNKNOWN = "raw-no-such-member"


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


@pytest.fixture
def other(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


# --- every version -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(10))
def test_join_group(client: RawClient, group: str, version: int) -> None:
    first = join(client, group, version=version)
    if version >= 4:
        assert first.error_code == ErrorCode.member_id_required
        assert (first.generation_id, first.leader, first.members) == (-1, "", ())
        assert first.member_id.startswith("raw-")
        first = join(client, group, first.member_id, version=version)
    assert (first.error_code, first.generation_id) == (0, 1)
    assert first.leader == first.member_id
    assert first.member_id.startswith("raw-")
    assert first.protocol_name == "range"
    assert getattr(first, "protocol_type", "consumer") == "consumer"  # since version 7
    assert getattr(first, "skip_assignment", False) is False  # since version 9
    (member,) = first.members
    assert (member.member_id, member.metadata) == (first.member_id, subscription())
    assert getattr(member, "group_instance_id", None) is None  # since version 5


@pytest.mark.parametrize("version", range(6))
def test_sync_group(client: RawClient, group: str, version: int) -> None:
    joined = join_as_new(client, group)
    assignments = {joined.member_id: b"what the leader says"}
    answer = sync(client, group, 1, joined.member_id, assignments, version=version)
    assert (answer.error_code, answer.assignment) == (0, b"what the leader says")
    assert getattr(answer, "protocol_type", "consumer") == "consumer"  # since version 5
    assert getattr(answer, "protocol_name", "range") == "range"


@pytest.mark.parametrize("version", range(5))
def test_heartbeat(client: RawClient, group: str, version: int) -> None:
    generation, member = join_alone(client, group)
    assert beat(client, group, generation, member, version=version) == 0
    assert beat(client, group, generation + 1, member, version=version) == ErrorCode.illegal_generation
    assert beat(client, group, generation, _UNKNOWN, version=version) == ErrorCode.unknown_member_id


@pytest.mark.parametrize("version", range(6))
def test_leave_group(client: RawClient, group: str, version: int) -> None:
    _, member = join_alone(client, group)
    refused = leave(client, group, (_UNKNOWN, None), version=version)
    left = leave(client, group, (member, None), version=version)
    assert left.error_code == 0
    if version < 3:
        assert refused.error_code == ErrorCode.unknown_member_id
        return
    assert refused.error_code == 0
    assert [(each.member_id, each.error_code) for each in refused.members] == [(_UNKNOWN, 25)]
    assert [(each.member_id, each.error_code) for each in left.members] == [(member, 0)]


# --- what is wrong with a JoinGroup ------------------------------------------------------------------------


def _assert_refused(answer: Any, error: ErrorCode, member: str = "") -> None:
    assert answer.error_code == error
    assert (answer.generation_id, answer.leader, answer.members) == (-1, "", ())
    assert answer.member_id == member
    assert answer.protocol_name in (None, "")


@pytest.mark.parametrize("version", [0, 5, 9])
def test_join_with_an_empty_group_id(client: RawClient, group: str, version: int) -> None:
    _assert_refused(join(client, "", "m", version=version), ErrorCode.invalid_group_id, "m")


@pytest.mark.parametrize("milliseconds", [0, 99, 1_800_001, 2**31 - 1])
def test_join_with_a_session_timeout_out_of_bounds(client: RawClient, group: str, milliseconds: int) -> None:
    answer = join(client, group, session_timeout=milliseconds)
    _assert_refused(answer, ErrorCode.invalid_session_timeout)


def test_join_with_an_unknown_member_id(client: RawClient, group: str) -> None:
    _assert_refused(join(client, group, _UNKNOWN), ErrorCode.unknown_member_id, _UNKNOWN)
    join_alone(client, group)
    _assert_refused(join(client, group, _UNKNOWN), ErrorCode.unknown_member_id, _UNKNOWN)


@pytest.mark.parametrize(
    "options",
    [
        {"protocols": ("roundrobin",)},
        {"protocol_type": "connect"},
        {"protocols": ()},
        {"protocol_type": ""},
    ],
)
def test_join_with_protocols_that_the_group_does_not_share(
    client: RawClient, group: str, options: dict[str, Any]
) -> None:
    join_alone(client, group)
    _assert_refused(join(client, group, **options), ErrorCode.inconsistent_group_protocol)


@pytest.mark.parametrize("options", [{"protocols": ()}, {"protocol_type": ""}])
def test_first_member_must_name_a_protocol(client: RawClient, group: str, options: dict[str, Any]) -> None:
    _assert_refused(join(client, group, **options), ErrorCode.inconsistent_group_protocol)


def test_group_takes_no_more_than_its_size(kafka_broker: Broker, client: RawClient, group: str) -> None:
    size = int(str(QUICK_GROUPS["group.max.size"]))
    never: dict[str, Any] = {"session_timeout": NEVER_MS, "rebalance_timeout": NEVER_MS}
    # A member that does not rejoin keeps the rebalance open, and does not count while it is: as in Kafka.
    join_alone(client, group, **never)
    with ExitStack() as connections:
        joining = [connections.enter_context(RawClient(kafka_broker.port)) for _ in range(2 * size)]
        for each in joining:
            each.send("join_group", 3, **join_fields(group, **never))
        for count in range(size):
            answered, _, _ = select.select([each._socket for each in joining], [], [], PATIENCE)
            assert answered, f"only {count} of {2 * size} members are refused, the group takes {size}"
            each = next(each for each in joining if each._socket in answered)
            assert each.receive("join_group", 3).error_code == ErrorCode.group_max_size_reached
            joining.remove(each)
        assert member_count(kafka_broker, group) == size + 1
        assert select.select([each._socket for each in joining], [], [], 0)[0] == []


# --- what is wrong with the others -------------------------------------------------------------------------


def test_sync_with_something_wrong(client: RawClient, group: str) -> None:
    joined = join_as_new(client, group)
    member = joined.member_id
    cases: list[tuple[str, int, str, dict[str, Any], ErrorCode]] = [
        ("", 1, member, {}, ErrorCode.invalid_group_id),
        (group, 1, _UNKNOWN, {}, ErrorCode.unknown_member_id),
        (f"{group}-unknown", 1, member, {}, ErrorCode.unknown_member_id),
        (group, 2, member, {}, ErrorCode.illegal_generation),
        (group, 1, member, {"protocol_type": "connect"}, ErrorCode.inconsistent_group_protocol),
        (group, 1, member, {"protocol_name": "roundrobin"}, ErrorCode.inconsistent_group_protocol),
    ]
    for name, generation, who, options, expected in cases:
        answer = sync(client, name, generation, who, {}, **options)
        assert (answer.error_code, answer.assignment) == (expected, b""), (name, generation, who, options)
    # Older versions do not name the protocol, and no client requests it.
    assert sync(client, group, 1, member, {}, version=4).error_code == 0


def test_heartbeat_with_something_wrong(client: RawClient, group: str) -> None:
    assert beat(client, "", 1, "m") == ErrorCode.invalid_group_id
    assert beat(client, group, 1, "m") == ErrorCode.unknown_member_id


def test_leave_of_several_members_at_once(client: RawClient, group: str) -> None:
    """By member id, by instance id, by both, and by what is not there."""
    _, member = join_alone(client, group, group_instance_id="one")
    answer = leave(
        client, group, (_UNKNOWN, None), ("", "nobody"), ("somebody-else", "one"), ("", "one"), (member, None)
    )
    assert answer.error_code == 0
    codes = [(each.member_id, each.group_instance_id, each.error_code) for each in answer.members]
    assert codes == [
        (_UNKNOWN, None, ErrorCode.unknown_member_id),
        ("", "nobody", ErrorCode.unknown_member_id),
        ("somebody-else", "one", ErrorCode.fenced_instance_id),
        ("", "one", 0),
        (member, None, ErrorCode.unknown_member_id),
    ]


def test_leave_of_an_unknown_or_nameless_group(client: RawClient, group: str) -> None:
    unknown = leave(client, group, ("m", None))
    assert [each.error_code for each in unknown.members] == [ErrorCode.unknown_member_id]
    assert leave(client, "", ("m", None)).error_code == ErrorCode.invalid_group_id


# --- generations -------------------------------------------------------------------------------------------


def test_second_member_makes_a_new_generation(client: RawClient, other: RawClient, group: str) -> None:
    generation, leader = join_alone(client, group)
    given = join(other, group)
    assert given.error_code == ErrorCode.member_id_required
    assert beat(client, group, generation, leader) == 0, "a member without id does not disturb the others"
    other.send("join_group", 9, **join_fields(group, given.member_id))
    _wait_for_code(client, group, generation, leader, ErrorCode.rebalance_in_progress)
    first = join(client, group, leader)
    second = other.receive("join_group", 9)
    assert (first.generation_id, second.generation_id) == (generation + 1, generation + 1)
    assert first.leader == second.leader == leader
    assert {each.member_id for each in first.members} == {leader, second.member_id}
    assert second.members == ()
    # The follower waits for what the leader says.
    waiting = {"generation_id": 2, "member_id": second.member_id, "group_instance_id": None}
    named = {"protocol_type": "consumer", "protocol_name": "range", "assignments": []}
    other.send("sync_group", 5, group_id=group, **waiting, **named)
    assignments = {leader: b"a", second.member_id: b"b"}
    assert sync(client, group, 2, leader, assignments).assignment == b"a"
    assert other.receive("sync_group", 5).assignment == b"b"
    # And may ask again.
    assert sync(other, group, 2, second.member_id, {}).assignment == b"b"


def _wait_for_code(client: RawClient, group: str, generation: int, member: str, code: ErrorCode) -> None:
    for _ in range(2000):
        if beat(client, group, generation, member) == code:
            return
    raise AssertionError("no rebalance")


def test_member_that_does_not_come_back_is_left_out(client: RawClient, other: RawClient, group: str) -> None:
    """Its rebalance timeout is over before its session is."""
    _, expired = join_alone(client, group, rebalance_timeout=1000)
    joined = join_as_new(other, group, rebalance_timeout=1000)
    assert (joined.error_code, joined.generation_id) == (0, 2)
    assert [each.member_id for each in joined.members] == [joined.member_id]
    assert beat(client, group, 1, expired) == ErrorCode.unknown_member_id


def _state(client: RawClient, group: str) -> str:
    requested = {"groups": [group], "include_authorized_operations": False}
    (found,) = client.call("describe_groups", 5, **requested).groups
    return str(found.group_state)


def test_member_that_is_silent_for_its_session_is_out(client: RawClient, group: str) -> None:
    session = 1.5
    while not (kept := _kept_by_heartbeats(client, group, session)):
        pass
    generation, member = kept
    until(lambda: _state(client, group) == "Empty")
    assert beat(client, group, generation, member) == ErrorCode.unknown_member_id


def _kept_by_heartbeats(client: RawClient, group: str, session: float) -> tuple[int, str] | None:
    """Heartbeats for two sessions; None if they came late because the machine is busy."""
    generation, member = join_alone(client, group, session_timeout=int(session * 1000))
    last = time.monotonic()
    end = last + 2 * session
    while last < end:
        time.sleep(0.1)
        code = beat(client, group, generation, member)
        if code and time.monotonic() - last > session:
            return None
        assert code == 0
        last = time.monotonic()
    return generation, member


def test_leader_that_joins_again_gets_everybody_to_join(client: RawClient, group: str) -> None:
    generation, member = join_alone(client, group)
    assert join(client, group, member).generation_id == generation + 1


# --- static members ----------------------------------------------------------------------------------------


def test_static_member_is_replaced_and_the_old_one_fenced(
    client: RawClient, other: RawClient, group: str
) -> None:
    generation, member = join_alone(client, group, group_instance_id="one")
    again = join(other, group, group_instance_id="one")
    assert (again.error_code, again.generation_id) == (0, generation)
    assert again.member_id != member
    assert again.skip_assignment is True
    assert again.leader == again.member_id
    fenced = ErrorCode.fenced_instance_id
    assert beat(client, group, generation, member, group_instance_id="one") == fenced
    assert sync(client, group, generation, member, {}, group_instance_id="one").error_code == fenced
    assert join(client, group, member, group_instance_id="one").error_code == fenced
    synced = sync(other, group, generation, again.member_id, {}, group_instance_id="one")
    assert (synced.error_code, synced.assignment) == (0, b"mine")
    assert beat(other, group, generation, again.member_id, group_instance_id="one") == 0
    assert (
        beat(other, group, generation, again.member_id, group_instance_id="two")
        == ErrorCode.unknown_member_id
    )


def test_static_member_that_comes_back_makes_a_new_generation_only_for_another_assignor(
    client: RawClient, group: str
) -> None:
    generation, _ = join_alone(client, group, group_instance_id="one")
    again = join(client, group, group_instance_id="one", topics=("something", "new"))
    assert (again.error_code, again.generation_id) == (0, generation)
    changed = join(client, group, group_instance_id="one", protocols=("roundrobin", "range"))
    assert (changed.error_code, changed.generation_id) == (0, generation + 1)
    assert changed.protocol_name == "roundrobin"
