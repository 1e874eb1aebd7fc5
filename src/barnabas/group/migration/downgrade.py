"""Converts a consumer group to a classic group when its last member with the consumer protocol is removed.

The member leaves, is fenced, or is replaced: a static member rejoins with the classic protocol. The remaining
members use the classic protocol. The classic group has the consumer group's epoch as its generation and the
targets as its assignments, and rebalances at once.

Nothing changes before the records are replayed. The tombstones delete the consumer group, the record of the
classic group creates it, and then the live members are set: see `ClassicGroups.install`.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from barnabas.base.errors import CorruptMessage
from barnabas.group.classic.classic_groups import ClassicGroups
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.classic.group_state import STABLE
from barnabas.group.classic.member import ClassicMember
from barnabas.group.classic.subscriptions import CONSUMER_PROTOCOL_TYPE
from barnabas.group.consumer.fencing import Fencing
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember
from barnabas.group.environment import ShardEnvironment
from barnabas.group.migration.consumer_protocol import (
    by_topic_name,
    protocol_version,
    serialize_assignment,
)
from barnabas.group.migration.policy import may_downgrade
from barnabas.group.records import Assignment, ClassicGroupMetadata, GroupRecord
from barnabas.runtime.outcome import Outcome

logger = logging.getLogger("coordinator")


class Downgraded(NamedTuple):
    group: ClassicGroup
    records: Sequence[GroupRecord]
    on_replayed: Callable[[], None]


class Downgrades:
    def __init__(self, classic: ClassicGroups, fencing: Fencing, environment: ShardEnvironment) -> None:
        self._classic: ClassicGroups = classic
        self._fencing: Fencing = fencing
        self._environment: ShardEnvironment = environment

    # --- members that leave ------------------------------------------------------------------------------

    def when_fenced(self, group: ConsumerGroup, leaving: Sequence[ConsumerMember]) -> Outcome[None] | None:
        """Returns the conversion without the leaving members, or None if the group stays a consumer group."""
        remaining = len(group.members) - len(leaving)
        if not group.all_use_classic_protocol_except(leaving) or not remaining:
            return None
        if not self._is_allowed(group, remaining):
            return None
        leaving_ids = {member.member_id for member in leaving}
        members = [
            (member, group.target_of(member_id))
            for member_id, member in group.members.items()
            if member_id not in leaving_ids
        ]
        try:
            classic_group = self._classic_group_of(group, members)
        except CorruptMessage as error:
            logger.warning(
                "Group %s stays a consumer group; its members cannot be parsed: %s", group.group_id, error
            )
            return None
        reason = f"it was a consumer group until {', '.join(sorted(leaving_ids))} left"
        downgraded = self._install(group, classic_group, group.tombstones(), reason)
        return Outcome(None, downgraded.records, on_replayed=downgraded.on_replayed)

    def _is_allowed(self, group: ConsumerGroup, size: int) -> bool:
        settings = self._environment.settings
        reason = None
        if not may_downgrade(settings):
            reason = "the migration policy does not allow a downgrade"
        elif size > settings.max_size:
            reason = f"a classic group must not have more than {settings.max_size} members"
        if reason is not None:
            logger.info("Group %s stays a consumer group: %s", group.group_id, reason)
        return reason is None

    # --- a static member that is replaced ----------------------------------------------------------------

    def is_due_when_replaced(self, group: ConsumerGroup, replaced: ConsumerMember) -> bool:
        """Whether no member uses the consumer protocol once a classic member replaces `replaced`."""
        if replaced.uses_classic_protocol or not group.all_use_classic_protocol_except([replaced]):
            return False
        return self._is_allowed(group, len(group.members))

    def replace(
        self,
        group: ConsumerGroup,
        replaced: ConsumerMember,
        joining: ConsumerMember,
        rebalance_reason: str | None,
    ) -> Downgraded:
        """Returns the records to write after those that replace `replaced` by `joining`.

        Raises CorruptMessage. Without a reason to rebalance, all members continue with their assignment.
        """
        members = [
            (joining if member is replaced else member, group.target_of(member_id))
            for member_id, member in group.members.items()
        ]
        classic_group = self._classic_group_of(group, members)
        tombstones = group.tombstones({replaced.member_id: joining.member_id})
        return self._install(group, classic_group, tombstones, rebalance_reason)

    # --- the classic group -------------------------------------------------------------------------------

    def _classic_group_of(
        self, group: ConsumerGroup, members: Sequence[tuple[ConsumerMember, Assignment]]
    ) -> ClassicGroup:
        classic_group = ClassicGroup(group.group_id, self._environment.clock, STABLE)
        classic_group.generation = group.epoch
        for member, _ in members:
            classic_group.add(_classic_member_of(member))
        protocol = classic_group.protocol = classic_group.select_protocol()
        for member, target in members:
            classic_member = classic_group.members[member.member_id]
            classic_member.assignment = serialize_assignment(
                by_topic_name(target, self._environment.image),
                protocol_version(classic_member.metadata_for(protocol)),
            )
        return classic_group

    def _install(
        self,
        group: ConsumerGroup,
        classic_group: ClassicGroup,
        tombstones: Sequence[GroupRecord],
        rebalance_reason: str | None,
    ) -> Downgraded:
        member_ids = {*group.members, *classic_group.members}

        def on_installed() -> None:
            for member_id in member_ids:
                self._fencing.cancel(group.group_id, member_id)
            if rebalance_reason is not None:
                # No member has joined yet, so the rebalance writes no records.
                self._classic.prepare_rebalance(classic_group, rebalance_reason)
            logger.info(
                "Group %s is now a classic group, at generation %d with %d members",
                group.group_id, classic_group.generation, len(classic_group.members),
            )  # fmt: skip

        value = classic_group.stable_value(
            {member.member_id: member.assignment for member in classic_group.members.values()}
        )
        record = ClassicGroupMetadata(group.group_id, value)

        def on_replayed() -> None:
            self._classic.install(classic_group, value)
            on_installed()

        return Downgraded(classic_group, [*tombstones, record], on_replayed)


def _classic_member_of(member: ConsumerMember) -> ClassicMember:
    value, classic = member.value, member.value.classic
    if classic is None:
        raise AssertionError(f"member {member.member_id} does not use the classic protocol")
    return ClassicMember(
        member.member_id,
        value.instance_id,
        value.client_id,
        value.client_host,
        value.rebalance_timeout_ms,
        classic.session_timeout_ms,
        CONSUMER_PROTOCOL_TYPE,
        classic.protocols,
    )
