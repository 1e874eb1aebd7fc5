"""Counts of the members and regular expressions by topic, and whether all subscriptions are the same."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class SubscriptionCount(NamedTuple):
    by_name: int
    """Members that name the topic."""
    by_regex: int
    """Regular expressions, not members, that match it."""


SubscriptionCounts = dict[str, SubscriptionCount]
_NONE = SubscriptionCount(0, 0)


def add(counts: SubscriptionCounts, topics: Iterable[str], *, by_name: int = 0, by_regex: int = 0) -> None:
    """Count `topics` once more, or once less. A topic without subscriptions has no entry."""
    for topic in topics:
        names, regexes = counts.get(topic, _NONE)
        names, regexes = max(names + by_name, 0), max(regexes + by_regex, 0)
        if names or regexes:
            counts[topic] = SubscriptionCount(names, regexes)
        else:
            counts.pop(topic, None)


def increment(counts: dict[str, int], key: str, by: int = 1) -> None:
    """Change a plain count. A count of zero has no entry."""
    count = counts.get(key, 0) + by
    if count > 0:
        counts[key] = count
    else:
        counts.pop(key, None)


def is_homogeneous(
    regexes: Mapping[str, int], topics: Mapping[str, SubscriptionCount], member_count: int
) -> bool:
    """Whether all members have the same topics, by Kafka's definition: all by name, or all by one regex."""
    if not regexes:
        return all(count.by_name == member_count for count in topics.values())
    if next(iter(regexes.values())) != member_count:
        return False
    return all(count.by_regex == 1 and count.by_name == 0 for count in topics.values())
