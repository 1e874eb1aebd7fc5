"""JoinGroup of a consumer group member that uses the classic protocol.

The join is equivalent to a heartbeat: it has the member's subscription and owned partitions, and advances the
member one step towards its target. It is answered at once, and the member never becomes the leader. If a
static member replaces the last member with the consumer protocol, the group becomes a classic group.
"""

import logging
from typing import TYPE_CHECKING, NamedTuple

from barnabas.base.deferred import Deferred
from barnabas.base.errors import (
    CorruptMessage,
    ErrorCode,
    InconsistentGroupProtocol,
    UnknownServerError,
)
from barnabas.base.ids import encode_uuid, random_uuid
from barnabas.group.classic.joining import FIRST_VERSION_WITH_REQUIRED_MEMBER_ID, Join, check_join
from barnabas.group.classic.replies import UNKNOWN_MEMBER, join_error
from barnabas.group.classic.subscriptions import CONSUMER_PROTOCOL_TYPE
from barnabas.group.consumer.consumer_groups import ConsumerGroups
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember, topic_names_of
from barnabas.group.consumer.membership import check_not_full, dynamic_member, static_member
from barnabas.group.consumer.reconciliation import Owned
from barnabas.group.consumer.regular_expressions import update_regular_expressions
from barnabas.group.consumer.target_assignment import Target
from barnabas.group.environment import RequestContext, ShardEnvironment
from barnabas.group.groups import Groups
from barnabas.group.migration.consumer_protocol import (
    MemberSubscription,
    by_topic_id,
    parse_subscription,
)
from barnabas.group.migration.downgrade import Downgrades
from barnabas.group.migration.policy import may_mix
from barnabas.group.records import ClassicProtocols, ConsumerMemberValue, GroupRecord
from barnabas.runtime.outcome import Outcome, written
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.join_group.v9.request import JoinGroupRequest

logger = logging.getLogger("coordinator")


class _Joining(NamedTuple):
    """The existing member, the member of the request, and the partitions it owns."""

    member: ConsumerMember
    updated: ConsumerMember
    owned: Owned


class ClassicJoins:
    def __init__(
        self,
        groups: Groups,
        environment: ShardEnvironment,
        consumer: ConsumerGroups,
        downgrades: Downgrades,
    ) -> None:
        self._groups: Groups = groups
        self._environment: ShardEnvironment = environment
        self._consumer: ConsumerGroups = consumer
        self._downgrades: Downgrades = downgrades

    def join(self, group: ConsumerGroup, context: RequestContext, body: "JoinGroupRequest") -> Outcome[Reply]:
        join = Join.of(context, body)
        check_join(join, self._environment.settings)
        if not may_mix(self._environment.settings):
            raise InconsistentGroupProtocol(
                f"Group {group.group_id} is a consumer group, and the migration of groups is disabled."
            )
        is_unknown = join.member_id == UNKNOWN_MEMBER
        if is_unknown:
            join = join._replace(member_id=encode_uuid(random_uuid(self._environment.rng)))
        check_not_full(group, join.member_id, self._environment.settings.consumer_max_size)
        if not group.supports_classic_protocols(join.protocol_type, join.protocol_names):
            raise InconsistentGroupProtocol(
                f"{join.protocol_names} of {join.protocol_type!r} does not fit group {group.group_id}"
            )
        needs_id = is_unknown and join.group_instance_id is None
        if needs_id and join.version >= FIRST_VERSION_WITH_REQUIRED_MEMBER_ID:
            logger.info(
                "Group %s requires a new member to join with member id %s", group.group_id, join.member_id
            )
            return Outcome(join_error(ErrorCode.member_id_required, join.member_id))
        records: list[GroupRecord] = []
        member = _member(group, join, records, is_unknown=is_unknown)
        subscription = _subscription(join)
        joining = _Joining(
            member,
            member.with_value(_updated_value(member.value, join, subscription)),
            by_topic_id(subscription.owned, self._environment.image),
        )
        replaced = group.static_member(join.group_instance_id)
        if replaced is not None and self._downgrades.is_due_when_replaced(group, replaced):
            return self._downgrade(group, replaced, joining, records)
        return self._advance(group, join, joining, records)

    def _advance(
        self, group: ConsumerGroup, join: Join, joining: _Joining, records: list[GroupRecord]
    ) -> Outcome[Reply]:
        updated = self._consumer.rebalance.advance(
            group, joining.member, joining.updated, joining.owned, records
        )

        def on_written(done: "Deferred[None]") -> None:
            if done.error is None:
                self._watch(join)

        return Outcome(_joined(updated, join.protocols[0][0]), records, written=written(on_written))

    def _watch(self, join: Join) -> None:
        """The member has joined, and must sync within its rebalance timeout."""
        group = self._groups.find(join.group_id)
        if not isinstance(group, ConsumerGroup) or join.member_id not in group.members:
            # It was fenced, or the group became a classic group, while the join was being committed.
            return
        fencing = self._consumer.fencing
        fencing.cancel_join(join.group_id, join.member_id)
        fencing.watch_session(join.group_id, join.member_id, join.session_timeout_ms)
        fencing.watch_sync(join.group_id, join.member_id, join.rebalance_timeout_ms)

    def _downgrade(
        self, group: ConsumerGroup, replaced: ConsumerMember, joining: _Joining, records: list[GroupRecord]
    ) -> Outcome[Reply]:
        rebalance, (member, updated, owned) = self._consumer.rebalance, joining
        have_names_changed = rebalance.update_subscription(group, member, updated, records)
        regexes = update_regular_expressions(group, member, updated, self._environment, records)
        state = rebalance.update_subscription_state(
            group, member, updated, regexes, have_names_changed, records
        )
        reason: str | None = "it was a consumer group whose target is out of date"
        if group.assignment_epoch >= state.epoch:
            target = Target(group.assignment_epoch, group.target_of(updated.member_id, updated.instance_id))
            has_changed = have_names_changed or regexes.has_changed
            updated = rebalance.reconcile(
                group, updated, target, regexes.resolved, has_changed, owned, records
            )
            reason = _unreconciled(group, replaced, updated)
        try:
            downgraded = self._downgrades.replace(group, replaced, updated, reason)
        except CorruptMessage as error:
            raise UnknownServerError(f"Group {group.group_id} has a malformed member: {error}") from error
        return Outcome(
            _joined(updated, downgraded.group.protocol or ""),
            [*records, *downgraded.records],
            on_replayed=downgraded.on_replayed,
        )


def _unreconciled(group: ConsumerGroup, replaced: ConsumerMember, joining: ConsumerMember) -> str | None:
    """Why the members of a group that becomes classic must rejoin: one may own another's target."""
    others = [member for member in group.members.values() if member is not replaced]
    if all(member.is_reconciled_to(group.assignment_epoch) for member in (joining, *others)):
        return None
    return "it was a consumer group that was not fully reconciled"


def _member(
    group: ConsumerGroup, join: Join, records: list[GroupRecord], *, is_unknown: bool
) -> ConsumerMember:
    no_epoch = -1
    if join.group_instance_id is None:
        return dynamic_member(group, join.member_id, no_epoch, None, may_create=True, is_classic=True)
    return static_member(
        group,
        join.member_id,
        no_epoch,
        join.group_instance_id,
        None,
        records,
        may_create=is_unknown,
        is_classic=True,
    )


def _subscription(join: Join) -> MemberSubscription:
    try:
        # A consumer's subscription is the same for every protocol.
        return parse_subscription(join.protocols[0][1])
    except CorruptMessage as error:
        raise UnknownServerError(f"The subscription of {join.member_id} is malformed: {error}") from error


def _updated_value(
    value: ConsumerMemberValue, join: Join, subscription: MemberSubscription
) -> ConsumerMemberValue:
    return ConsumerMemberValue(
        instance_id=value.instance_id if join.group_instance_id is None else join.group_instance_id,
        rack_id=value.rack_id if subscription.rack_id is None else subscription.rack_id,
        client_id=join.client_id,
        client_host=join.client_host,
        subscribed_topic_names=topic_names_of(subscription.topics),
        subscribed_topic_regex="",
        rebalance_timeout_ms=join.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=ClassicProtocols(join.session_timeout_ms, join.protocols),
    )


def _joined(member: ConsumerMember, protocol_name: str) -> Reply:
    return Reply(
        error_code=ErrorCode.none,
        generation_id=member.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=protocol_name,
        leader="",
        skip_assignment=False,
        member_id=member.member_id,
        members=(),
    )
