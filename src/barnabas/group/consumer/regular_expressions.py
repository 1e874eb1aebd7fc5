"""The topics that match a group's regular expressions. They are stored with the group.

Kafka resolves expressions outside of its coordinator and bumps the group epoch later. Here it is done at
once, in the heartbeat that needs it: RE2 takes microseconds for a name. Resolving stops after
`BUDGET_SECONDS`, so that no expression can block the broker. An expression is resolved when a member sends
it. All expressions of the group are resolved again when topics were created, and after
`group.consumer.regex.refresh.interval.ms`, but not more often than every ten seconds.
"""

import logging
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from barnabas.base.errors import InvalidRegularExpression
from barnabas.base.topic_regex import compile_topic_regex
from barnabas.group.consumer.group import ConsumerGroup
from barnabas.group.consumer.member import ConsumerMember
from barnabas.group.consumer.subscription import ResolvedRegexes
from barnabas.group.consumer.subscription_counts import increment
from barnabas.group.environment import ShardEnvironment
from barnabas.group.records import (
    ConsumerGroupRegularExpression,
    GroupRecord,
    RegularExpressionValue,
)

logger = logging.getLogger("coordinator")

REFRESH_MIN_INTERVAL_MS = 10_000
BUDGET_SECONDS = 0.25
_NAMES_AT_A_TIME = 16

_METADATA_VERSION = 0
"""Images have no version here. Kafka, which compares it, resolves such an expression again."""


class RegexUpdate(NamedTuple):
    has_changed: bool
    """The member has another expression than before, or none."""
    have_topics_changed: bool
    """Expressions match other topics than before."""
    resolved: ResolvedRegexes
    """All expressions of the group, once the records are written."""


def update_regular_expressions(
    group: ConsumerGroup,
    member: ConsumerMember,
    updated: ConsumerMember,
    environment: ShardEnvironment,
    records: list[GroupRecord],
) -> RegexUpdate:
    """Resolve the member's expression and those that are due. Remove expressions without a member."""
    old, new = member.topic_regex, updated.topic_regex
    if old == new and not group.subscribed_regexes:
        return RegexUpdate(False, False, group.resolved_regexes)
    wanted = _wanted_regexes(group, old, new)
    resolved = dict(group.resolved_regexes)
    if old and old not in wanted:
        resolved.pop(old, None)
        records.append(ConsumerGroupRegularExpression(group.group_id, old, None))
    stale = (
        wanted if _is_refresh_due(group, environment) else [each for each in wanted if each not in resolved]
    )
    have_topics_changed = False
    for regex in stale:
        value = _resolve(
            group, regex, environment, is_new=regex == new and regex not in group.subscribed_regexes
        )
        before = resolved.get(regex)
        have_topics_changed |= value.topics != (frozenset() if before is None else before.topics)
        resolved[regex] = value
        records.append(ConsumerGroupRegularExpression(group.group_id, regex, value))
    return RegexUpdate(old != new, have_topics_changed, resolved)


def _wanted_regexes(group: ConsumerGroup, old: str, new: str) -> dict[str, int]:
    wanted = group.subscribed_regexes
    if old != new:
        wanted = dict(wanted)
        if old:
            increment(wanted, old, -1)
        if new:
            increment(wanted, new)
    return wanted


def _is_refresh_due(group: ConsumerGroup, environment: ShardEnvironment) -> bool:
    if not group.resolved_regexes:
        return False
    now_ms = environment.clock.now_ms()
    oldest_ms = min(value.timestamp_ms for value in group.resolved_regexes.values())
    if now_ms <= oldest_ms + REFRESH_MIN_INTERVAL_MS:
        return False
    return (
        oldest_ms <= group.topics_created_ms
        or now_ms > oldest_ms + environment.settings.consumer_regex_refresh_interval_ms
    )


def _resolve(
    group: ConsumerGroup, regex: str, environment: ShardEnvironment, *, is_new: bool
) -> RegularExpressionValue:
    """Raises InvalidRegularExpression only for a new expression of the current member (`is_new`)."""
    try:
        topics = _matching(regex, environment.image.topics, environment)
    except InvalidRegularExpression as error:
        if is_new:
            raise
        logger.error(
            "Group %s: a regular expression can no longer be resolved: %s", group.group_id, error.message
        )
        before = group.resolved_regexes.get(regex)
        topics = frozenset() if before is None else before.topics
    return RegularExpressionValue(topics, _METADATA_VERSION, environment.clock.now_ms())


def _matching(regex: str, names: Iterable[str], environment: ShardEnvironment) -> frozenset[str]:
    pattern = compile_topic_regex(regex)
    deadline = environment.clock.monotonic() + BUDGET_SECONDS
    found: set[str] = set()
    remaining = iter(names)
    while chunk := list(islice(remaining, _NAMES_AT_A_TIME)):
        found |= pattern.matching(chunk)
        if environment.clock.monotonic() > deadline:
            raise InvalidRegularExpression(
                f"SubscribedTopicRegex `{regex[:200]}` is not a valid regular expression: it takes too long."
            )
    return frozenset(found)
