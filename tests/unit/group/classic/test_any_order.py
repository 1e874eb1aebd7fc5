"""Members that join, sync, leave, expire and rejoin in random order, on a log that sometimes fails."""

from itertools import count
from typing import Any
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.group.classic.classic_driver import GROUP, ClassicDriver, assignment, code

from barnabas.base.deferred import Deferred
from barnabas.base.errors import CoordinatorNotAvailable, ErrorCode
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import EMPTY, STABLE
from barnabas.runtime.outcome import Outcome
from barnabas.wire import Reply

INSTANCES = ("i1", "i2")
PROTOCOLS = ({"range": b"a"}, {"range": b"b", "sticky": b"b"}, {"sticky": b"c", "range": b"c"})
LONGEST_MS = 10 * 60_000


class Members(RuleBasedStateMachine):
    """What the members know: the ids they were given, the generation they joined; no more than that."""

    def __init__(self) -> None:
        super().__init__()
        # Deadlines of the same moment come in the order of their keys: random ids would make that random.
        numbers = count(100)
        self.ids: Any = patch("barnabas.group.classic.joining.any_uuid", lambda _: next(numbers))
        self.ids.start()
        self.driver: ClassicDriver = ClassicDriver(max_size=4)
        self.parked: list[Deferred[Reply]] = []
        self.known: dict[str, tuple[str | None, int]] = {}
        """Member id -> instance id and the last generation it got."""
        self.generation: int = 0
        self.group_was: ClassicGroup | None = None

    @property
    def group(self) -> ClassicGroup | None:
        group = self.driver.groups.find(GROUP)
        return group if isinstance(group, ClassicGroup) else None

    def _joined(self, answer: Deferred[Reply], instance: str | None) -> None:
        self.parked.append(answer)

        def on_done(done: Deferred[Reply]) -> None:
            if done.error is None and done.result().member_id:
                reply = done.result()
                self.known[reply.member_id] = (instance, reply.generation_id)

        answer.when_done(on_done)

    def _some(self, data: st.DataObject) -> tuple[str, str | None, int]:
        member_id = data.draw(st.sampled_from(list(self.known)))
        return (member_id, *self.known[member_id])

    # --- what happens --------------------------------------------------------------------------------------

    @rule(protocols=st.sampled_from(PROTOCOLS), version=st.sampled_from([3, 9]))
    def a_new_member_joins(self, protocols: dict[str, bytes], version: int) -> None:
        self._joined(self.driver.join(protocols=protocols, version=version), None)

    @rule(
        instance=st.sampled_from(INSTANCES),
        protocols=st.sampled_from(PROTOCOLS),
        version=st.sampled_from([8, 9]),
    )
    def a_static_member_joins(self, instance: str, protocols: dict[str, bytes], version: int) -> None:
        self._joined(self.driver.join(instance=instance, protocols=protocols, version=version), instance)

    @precondition(lambda self: self.known)
    @rule(data=st.data(), protocols=st.sampled_from(PROTOCOLS))
    def a_member_joins_again(self, data: st.DataObject, protocols: dict[str, bytes]) -> None:
        member_id, instance, _ = self._some(data)
        self._joined(self.driver.join(member_id, instance=instance, protocols=protocols), instance)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def a_member_syncs(self, data: st.DataObject) -> None:
        member_id, instance, generation = self._some(data)
        group = self.group
        assignments = {} if group is None else {each: assignment(each) for each in group.members}
        protocol = None if group is None else group.protocol
        answer = self.driver.sync(
            member_id, generation, assignments, instance=instance, protocol=protocol, version=4
        )
        self.parked.append(answer)
        if answer.is_done and code(answer) is ErrorCode.none:
            assert answer.result().assignment.startswith(b"for ")

    @initialize(dynamic=st.integers(0, 2), static=st.integers(0, 2), is_settled=st.booleans())
    def some_are_there(self, dynamic: int, static: int, is_settled: bool) -> None:
        for _ in range(dynamic):
            self.a_new_member_joins(PROTOCOLS[1], 3)
        for instance in INSTANCES[:static]:
            self.a_static_member_joins(instance, PROTOCOLS[1], 9)
        if is_settled:
            self.the_group_settles()

    @rule()
    def the_group_settles(self) -> None:
        for _ in range(3):
            self.driver.advance(3_000)
            self.all_members_follow_heartbeats()

    @rule()
    def all_members_follow_heartbeats(self) -> None:
        """Rejoin if a heartbeat requires it, and sync."""
        for member_id, (instance, generation) in list(self.known.items()):
            error_code = self.driver.heartbeat(member_id, generation, instance=instance)
            if error_code is ErrorCode.rebalance_in_progress:
                self._joined(self.driver.join(member_id, instance=instance, protocols=PROTOCOLS[1]), instance)
            elif error_code is not ErrorCode.none:
                del self.known[member_id]
        group = self.group
        if group is not None and group.protocol is not None:
            for answer in self.driver.sync_all(list(group.members), group.generation).values():
                self.parked.append(answer)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def a_member_sends_a_heartbeat(self, data: st.DataObject) -> None:
        member_id, instance, generation = self._some(data)
        self.driver.heartbeat(member_id, generation, instance=instance)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def a_member_leaves(self, data: st.DataObject) -> None:
        member_id, instance, _ = self._some(data)
        self.driver.leave(member_id, instance=instance)
        del self.known[member_id]

    @rule(ms=st.sampled_from([1, 500, 3_000, 10_000, 60_000]))
    def time_passes(self, ms: int) -> None:
        self.driver.advance(ms)

    @rule()
    def the_next_append_fails(self) -> None:
        self.driver.fail_next(CoordinatorNotAvailable())

    @rule()
    def commits_are_slow(self) -> None:
        self.driver.hold_commits()

    @rule(fails=st.booleans())
    def what_was_held_is_settled(self, fails: bool) -> None:
        self.driver.commit(CoordinatorNotAvailable() if fails else None)

    @precondition(lambda self: self.group is not None and self.group.is_empty)
    @rule()
    def the_empty_group_is_deleted(self) -> None:
        assert self.group is not None
        self.driver.run(Outcome(None, self.group.tombstones()))

    # --- what always holds ---------------------------------------------------------------------------------

    @invariant()
    def the_generation_only_grows(self) -> None:
        group = self.group
        if group is not None and group is self.group_was:
            assert group.generation >= self.generation
        self.group_was, self.generation = group, 0 if group is None else group.generation

    @invariant()
    def the_leader_is_a_member(self) -> None:
        group = self.group
        if group is not None:
            assert (group.leader in group.members) if group.members else group.leader is None

    @invariant()
    def the_books_are_right(self) -> None:
        group = self.group
        if group is None:
            return
        members = group.members.values()
        assert group.awaiting_joins == sum(each.is_awaiting_join for each in members)
        assert group.static_members == {
            each.group_instance_id: each.member_id for each in members if each.is_static
        }
        counts: dict[str, int] = {}
        for member in members:
            for name in member.protocol_names:
                counts[name] = counts.get(name, 0) + 1
        assert group.supported_protocols == counts
        assert group.pending_sync_members.keys() <= group.members.keys()
        assert not group.pending_members.keys() & group.members.keys()
        assert not (group.state is EMPTY and members)

    @invariant()
    def all_members_of_a_stable_group_have_an_assignment(self) -> None:
        group = self.group
        if group is not None and group.state is STABLE:
            assert group.members
            assert all(each.assignment for each in group.members.values())
            assert all(group.protocol in each.protocol_names for each in group.members.values())

    @invariant()
    def all_waiting_members_are_counted(self) -> None:
        """No request is forgotten: it is parked with a member, or waits for a commit, or was answered."""
        group = self.group
        members = [] if group is None else list(group.members.values())
        waiting = {id(answer) for each in members for answer in (each.awaiting_join, each.awaiting_sync)}
        held = {id(answer) for _, answer in self.driver._uncommitted}
        self.parked = [answer for answer in self.parked if not answer.is_done]
        assert {id(answer) for answer in self.parked} <= waiting | held

    @invariant()
    def the_log_replayed_is_the_group(self) -> None:
        group = self.group
        after = ClassicDriver(self.driver.clock)
        for record in self.driver.records:
            after.shard.replay(record)
        loaded = after.groups.find(GROUP)
        if group is None:
            assert loaded is None
        elif group.state in (STABLE, EMPTY):
            assert isinstance(loaded, ClassicGroup)
            assert _durable(loaded) == _durable(group)

    def teardown(self) -> None:
        """Without further requests, all waiting requests are answered, and silent members expire."""
        self.ids.stop()
        self.driver._failures.clear()
        self.driver.commit()
        self.driver.advance(LONGEST_MS)
        assert all(answer.is_done for answer in self.parked)
        group = self.group
        assert group is None or (group.is_empty and not group.pending_members)
        assert len(self.driver.environment.timers) == 0


def _durable(group: ClassicGroup) -> dict[str, Any]:
    return {
        "state": group.state,
        "generation": group.generation,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "leader": group.leader,
        "since": group.state_timestamp_ms,
        "topics": group.subscribed_topics,
        "members": {
            each.member_id: each.as_value(group.protocol or "", each.assignment)
            for each in group.members.values()
        },
    }


TestMembers = Members.TestCase
TestMembers.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
