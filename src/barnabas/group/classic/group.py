"""A classic group: its members, its generation, and its current rebalance.

The durable part (generation, protocol, leader, the members of the last stable generation with their
assignments) is set by `replay` alone, from the group's record, live and at load. Joined, waiting and awaited
members are soft state: it is lost at a restart, and members join again. Only the other files of this package
change a group. The migration creates one from a consumer group.

Invariants: `awaiting_joins` counts the members that wait for a join. The leader is a member, or None if there
are no members. A static member is in `static_members` under its instance id. A protocol's count in
`supported_protocols` is the number of members that support it.
"""

import logging
from collections.abc import Collection, Mapping, Sequence

from barnabas.base.clock import Clock
from barnabas.base.deferred import Deferred
from barnabas.base.errors import FencedInstanceId, UnknownMemberId
from barnabas.group.classic.group_state import (
    COMES_FROM,
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicState,
)
from barnabas.group.classic.member import NO_ASSIGNMENT, ClassicMember, Protocols
from barnabas.group.classic.offset_rules import OffsetRules
from barnabas.group.classic.subscriptions import (
    CONSUMER_PROTOCOL_TYPE,
    MalformedSubscription,
    all_subscribed_topics,
)
from barnabas.group.group import CLASSIC
from barnabas.group.records import ClassicGroupMetadata, ClassicGroupValue, GroupRecord
from barnabas.wire import Reply

logger = logging.getLogger("group.classic")


class ClassicGroup(OffsetRules):
    # A broker may have a hundred thousand groups with offsets and no members.
    __slots__ = (
        "_clock",
        "_protocol_type",
        "awaiting_joins",
        "generation",
        "group_id",
        "has_new_member",
        "leader",
        "members",
        "pending_members",
        "pending_sync_members",
        "previous_state",
        "protocol",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "supported_protocols",
    )

    def __init__(self, group_id: str, clock: Clock, state: ClassicState = EMPTY) -> None:
        self.group_id: str = group_id
        self.state: ClassicState = state
        self.previous_state: ClassicState = DEAD
        self.state_timestamp_ms: int | None = clock.now_ms()
        """The time of the last change of state. None for a group written before Kafka 2.1."""
        self.generation: int = 0
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        """Instance id -> member id."""
        self.pending_members: dict[str, None] = {}
        """Member ids that were assigned and have not joined yet (KIP-394)."""
        self.pending_sync_members: dict[str, None] = {}
        self.awaiting_joins: int = 0
        self.supported_protocols: dict[str, int] = {}
        self.subscribed_topics: frozenset[str] | None = None
        """None if it is unknown: not the consumer protocol, or bytes that are not a subscription."""
        self.has_new_member: bool = False
        """A member has joined during the initial delay, which is then extended."""
        self._protocol_type: str | None = None
        self._clock: Clock = clock

    # --- the interface of every group --------------------------------------------------------------------

    @property
    def type(self) -> str:
        return CLASSIC

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str:
        return self._protocol_type or ""

    @protocol_type.setter
    def protocol_type(self, value: str) -> None:
        self._protocol_type = value or None

    @property
    def is_empty(self) -> bool:
        return self.state is EMPTY

    @property
    def is_simple(self) -> bool:
        """Whether no member ever joined: its offsets are committed without group management."""
        return self._protocol_type is None and self.is_empty and not self.pending_members

    @property
    def uses_consumer_protocol(self) -> bool:
        return self._protocol_type == CONSUMER_PROTOCOL_TYPE

    def tombstones(self) -> Sequence[GroupRecord]:
        return [ClassicGroupMetadata(self.group_id, None)]

    # --- members -----------------------------------------------------------------------------------------

    def add(self, member: ClassicMember, awaiting_join: Deferred[Reply] | None = None) -> None:
        if not self.members:
            self._protocol_type = member.protocol_type or None
        if member.group_instance_id is not None:
            if member.group_instance_id in self.static_members:
                raise AssertionError(f"{member.group_instance_id} is a member of {self.group_id} already")
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, 1)
        self.await_join(member, awaiting_join)
        self.pending_members.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Remove the member. The caller has answered its waiting requests before."""
        self.pending_members.pop(member_id, None)
        self.pending_sync_members.pop(member_id, None)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._count_protocols(member, -1)
        if member.is_awaiting_join:
            self.awaiting_joins -= 1
        if member.group_instance_id is not None:
            del self.static_members[member.group_instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def replace_static_member(self, group_instance_id: str, member_id: str) -> ClassicMember:
        """The same instance with a new member id (KIP-345).

        The requests of the old id were answered before.
        """
        old = self.members.pop(self.static_members[group_instance_id])
        if old.is_awaiting_join:
            raise AssertionError(f"{old.member_id} still waits for its join")
        new = ClassicMember(
            member_id,
            group_instance_id,
            old.client_id,
            old.client_host,
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            old.protocol_type,
            old.protocols,
            old.assignment,
        )
        self.members[member_id] = new
        self.static_members[group_instance_id] = member_id
        if self.leader == old.member_id:
            self.leader = member_id
        if old.member_id in self.pending_sync_members:
            del self.pending_sync_members[old.member_id]
            self.pending_sync_members[member_id] = None
        return new

    def update_member(
        self, member: ClassicMember, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def validate_member(self, member_id: str, group_instance_id: str | None) -> ClassicMember:
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is None:
                raise UnknownMemberId(f"{group_instance_id} is not a member of group {self.group_id}")
            if current != member_id:
                raise FencedInstanceId(
                    f"Member {member_id} with instance id {group_instance_id} is fenced by {current}"
                )
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId(f"{member_id!r} is not a member of group {self.group_id}")
        return member

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of all members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # --- waiting requests --------------------------------------------------------------------------------

    def await_join(self, member: ClassicMember, answer: Deferred[Reply] | None) -> None:
        self.awaiting_joins += (answer is not None) - member.is_awaiting_join
        member.awaiting_join = answer

    def answer_join(self, member: ClassicMember, reply: Reply) -> bool:
        """Returns whether the member was waiting."""
        answer = member.awaiting_join
        if answer is None:
            return False
        self.await_join(member, None)
        _answer(answer, reply)
        return True

    def answer_sync(self, member: ClassicMember, reply: Reply) -> bool:
        answer = member.awaiting_sync
        if answer is None:
            return False
        member.awaiting_sync = None
        _answer(answer, reply)
        return True

    def answer_removed(self, member: ClassicMember, join_reply: Reply, sync_reply: Reply) -> None:
        """Answer the waiting requests of a member that a record has removed."""
        if member.awaiting_join is not None:
            _answer(member.awaiting_join, join_reply)
            member.awaiting_join = None
        self.answer_sync(member, sync_reply)

    @property
    def has_all_members_joined(self) -> bool:
        return len(self.members) == self.awaiting_joins and not self.pending_members

    # --- the protocol ------------------------------------------------------------------------------------

    def supports(self, protocol_type: str, names: Collection[str]) -> bool:
        """Whether a member with these protocols has one in common with all others."""
        if self.state is EMPTY:
            return bool(protocol_type and names)
        return self._protocol_type == protocol_type and any(
            self.supported_protocols.get(name, 0) == len(self.members) for name in names
        )

    def select_protocol(self) -> str:
        """Each member votes for its preferred protocol among those that all members support."""
        member_count = len(self.members)
        candidates = {name for name, count in self.supported_protocols.items() if count == member_count}
        votes: dict[str, int] = {}
        for member in self.members.values():
            name = member.vote(candidates)
            votes[name] = votes.get(name, 0) + 1
        return max(votes, key=votes.__getitem__)

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        counts = self.supported_protocols
        for name, _ in member.protocols:
            count = counts.get(name, 0) + change
            if count:
                counts[name] = count
            else:
                del counts[name]

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol is None:
            return None
        try:
            return all_subscribed_topics(
                member.metadata_for(self.protocol) for member in self.members.values()
            )
        except MalformedSubscription as error:
            logger.warning("The subscribed topics of group %s are unknown: %s", self.group_id, error)
            return None

    # --- generations -------------------------------------------------------------------------------------

    @property
    def can_rebalance(self) -> bool:
        return self.state in COMES_FROM[PREPARING_REBALANCE]

    def transition_to(self, state: ClassicState) -> None:
        if self.state not in COMES_FROM[state]:
            raise AssertionError(f"group {self.group_id} cannot go from {self.state} to {state}")
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = self._clock.now_ms()

    def elect_joined_leader(self) -> bool:
        """Elect a leader that has joined, if needed. Returns whether there is a leader."""
        leader = None if self.leader is None else self.members[self.leader]
        if leader is None or leader.is_awaiting_join:
            return leader is not None
        for member in self.members.values():
            if member.is_awaiting_join:
                logger.info(
                    "Leader %s of group %s did not rejoin in time; the new leader is %s",
                    leader.member_id, self.group_id, member.member_id,
                )  # fmt: skip
                self.leader = member.member_id
                return True
        return False

    def begin_generation(self) -> None:
        """The join phase is over: begin the next generation with the current members."""
        self.generation += 1
        self.protocol = self.select_protocol()
        self.subscribed_topics = self.compute_subscribed_topics()
        self.pending_sync_members = dict.fromkeys(self.members)
        self.transition_to(COMPLETING_REBALANCE)

    def stable_value(self, assignments: Mapping[str, bytes]) -> ClassicGroupValue:
        """The value to write when the leader has assigned. Members without an assignment get an empty one."""
        if self.protocol is None:
            raise AssertionError(f"group {self.group_id} has chosen no protocol")
        return ClassicGroupValue(
            protocol_type=self.protocol_type,
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp_ms=self._clock.now_ms(),
            members=tuple(
                member.as_value(self.protocol, assignments.get(member.member_id, NO_ASSIGNMENT))
                for member in self.members.values()
            ),
        )

    def empty_value(self, generation: int) -> ClassicGroupValue:
        """The value to write when no member is left, or when the group is new."""
        return ClassicGroupValue(self.protocol_type, generation, None, None, self._clock.now_ms(), ())

    def replay(self, value: ClassicGroupValue) -> None:
        """Make the durable part what its record says, live and at load.

        Members that stay keep what the record does not have: all their protocols, and waiting requests.
        """
        self._replay_members(value)
        self._protocol_type = value.protocol_type or None
        self.generation, self.protocol, self.leader = value.generation, value.protocol, value.leader
        if self.leader not in self.members:
            self.leader = next(iter(self.members), None)
        state = STABLE if value.members else EMPTY
        if self.state is not state:
            self.previous_state, self.state = self.state, state
        timestamp_ms = value.current_state_timestamp_ms
        self.state_timestamp_ms = None if timestamp_ms == -1 else timestamp_ms
        self.subscribed_topics = self.compute_subscribed_topics()

    def _replay_members(self, value: ClassicGroupValue) -> None:
        stay = {each.member_id for each in value.members}
        for member_id in [each for each in self.members if each not in stay]:
            self.remove(member_id)
        protocol = value.protocol or ""
        for each in value.members:
            member = self.members.get(each.member_id)
            if member is not None and member.is_as_written(each, protocol):
                member.assignment = each.assignment
                continue
            if member is not None:
                self.remove(each.member_id)
            self.add(ClassicMember.from_value(each, value.protocol_type, protocol))
        # In the record's order, as at load: it decides which member leads after the leader has left.
        self.members = {each.member_id: self.members[each.member_id] for each in value.members}


def _answer(answer: Deferred[Reply], reply: Reply) -> None:
    # The runtime has already failed a request that arrived while an earlier write could not be committed.
    if not answer.is_done:
        answer.complete(reply)
