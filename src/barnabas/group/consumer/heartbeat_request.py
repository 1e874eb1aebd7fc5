"""A ConsumerGroupHeartbeat request: its validation, and the changes of the member."""

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from barnabas.base.errors import InvalidRequest, UnsupportedAssignor, UnsupportedVersion
from barnabas.base.ids import ZERO_UUID
from barnabas.group.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH, topic_names_of
from barnabas.group.consumer.reconciliation import Owned
from barnabas.group.environment import RequestContext
from barnabas.group.group import CONSUMER
from barnabas.group.records import ConsumerMemberValue
from barnabas.group.settings import GroupSettings

if TYPE_CHECKING:
    from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest

_UNCHANGED = timedelta(milliseconds=-1)
_MILLISECOND = timedelta(milliseconds=1)
_MEMBER_ID_FROM_CLIENT_VERSION = 1
"""From this version on (KIP-1082) the client generates its member id."""


def check_request(body: "ConsumerGroupHeartbeatRequest", version: int, settings: GroupSettings) -> None:
    epoch = body.member_epoch
    if CONSUMER not in settings.rebalance_protocols:
        raise UnsupportedVersion("The consumer group protocol is not enabled.")
    if version >= _MEMBER_ID_FROM_CLIENT_VERSION or epoch > 0 or epoch == LEAVE_EPOCH:
        _check_not_blank(body.member_id, "MemberId can't be empty.")
    _check_not_blank(body.group_id, "GroupId can't be empty.")
    _check_not_blank(body.instance_id, "InstanceId can't be empty.")
    _check_not_blank(body.rack_id, "RackId can't be empty.")
    if epoch == JOIN_EPOCH:
        _check_first_request(body)
    elif epoch == STATIC_LEAVE_EPOCH:
        if body.instance_id is None:
            raise InvalidRequest("InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")
    if body.server_assignor is not None and body.server_assignor not in settings.consumer_assignors:
        supported = ", ".join(settings.consumer_assignors)
        raise UnsupportedAssignor(
            f"ServerAssignor {body.server_assignor} is not supported. Supported assignors: {supported}."
        )


def _check_first_request(body: "ConsumerGroupHeartbeatRequest") -> None:
    if body.rebalance_timeout == _UNCHANGED:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    if body.topic_partitions is None or body.topic_partitions:
        raise InvalidRequest("TopicPartitions must be empty when (re-)joining.")
    # An empty subscription is valid: a member may have no topics and still be in the group.
    if body.subscribed_topic_names is None and body.subscribed_topic_regex is None:
        raise InvalidRequest(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _check_not_blank(text: str | None, message: str) -> None:
    if text is not None and not text.strip():
        raise InvalidRequest(message)


def is_full(body: "ConsumerGroupHeartbeatRequest") -> bool:
    """Whether the request has all fields, as after a join or an error: the response then has them too."""
    return (
        body.topic_partitions is not None
        and body.rebalance_timeout != _UNCHANGED
        and (body.subscribed_topic_names is not None or body.subscribed_topic_regex is not None)
    )


def owned_partitions(body: "ConsumerGroupHeartbeatRequest") -> Owned | None:
    if body.topic_partitions is None:
        return None
    owned: dict[UUID, set[int]] = {}
    for topic in body.topic_partitions:
        owned.setdefault(topic.topic_id or ZERO_UUID, set()).update(topic.partitions)
    return owned


def updated_value(
    value: ConsumerMemberValue, context: RequestContext, body: "ConsumerGroupHeartbeatRequest"
) -> ConsumerMemberValue:
    """Returns the member's value after this request. The same object if nothing has changed."""
    if _says_nothing(value, context, body):
        return value
    names, regex, timeout = body.subscribed_topic_names, body.subscribed_topic_regex, body.rebalance_timeout
    updated = ConsumerMemberValue(
        instance_id=value.instance_id if body.instance_id is None else body.instance_id,
        rack_id=value.rack_id if body.rack_id is None else body.rack_id,
        client_id=context.client_id,
        client_host=context.client_host,
        subscribed_topic_names=value.subscribed_topic_names if names is None else topic_names_of(names),
        subscribed_topic_regex=value.subscribed_topic_regex if regex is None else regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms if timeout == _UNCHANGED else timeout // _MILLISECOND,
        server_assignor=value.server_assignor if body.server_assignor is None else body.server_assignor,
    )
    return value if updated == value else updated


def _says_nothing(
    value: ConsumerMemberValue, context: RequestContext, body: "ConsumerGroupHeartbeatRequest"
) -> bool:
    return (
        body.subscribed_topic_names is None
        and body.subscribed_topic_regex is None
        and body.server_assignor is None
        and body.rack_id is None
        and body.rebalance_timeout == _UNCHANGED
        and (body.instance_id is None or body.instance_id == value.instance_id)
        and context.client_id == value.client_id
        and context.client_host == value.client_host
        and value.classic is None
    )
