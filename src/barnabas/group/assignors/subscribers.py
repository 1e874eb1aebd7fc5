"""The subscribers of each topic, as indexes into an ordered list of the members.

Groups have many members and few different subscriptions, so members with the same subscription are handled
together: the cost of a topic depends on its different subscriptions, not on its subscribers.
"""

from collections.abc import Sequence
from itertools import chain
from uuid import UUID

from barnabas.group.assignors.spec import GroupSpec


def subscribers_of_topics(spec: GroupSpec, member_ids: Sequence[str]) -> dict[UUID, Sequence[int]]:
    """The indexes are ascending.

    Topics with the same subscribers share one sequence, which must not change.
    """
    subscriptions = _subscriptions(spec, member_ids)
    indexes = list(subscriptions.values())
    of_topic: dict[UUID, list[int]] = {}
    for number, topic_ids in enumerate(subscriptions):
        for topic_id in topic_ids:
            of_topic.setdefault(topic_id, []).append(number)
    merged: dict[tuple[int, ...], Sequence[int]] = {}
    subscribers: dict[UUID, Sequence[int]] = {}
    for topic_id, numbers in of_topic.items():
        key = tuple(numbers)
        row = merged.get(key)
        if row is None:
            row = merged[key] = sorted(chain.from_iterable(indexes[number] for number in key))
        subscribers[topic_id] = row
    return subscribers


def _subscriptions(spec: GroupSpec, member_ids: Sequence[str]) -> dict[frozenset[UUID], Sequence[int]]:
    if not member_ids:
        return {}
    if spec.homogeneous:
        return {spec.members[member_ids[0]].topic_ids: range(len(member_ids))}
    subscriptions: dict[frozenset[UUID], list[int]] = {}
    for index, member_id in enumerate(member_ids):
        subscriptions.setdefault(spec.members[member_id].topic_ids, []).append(index)
    return dict(subscriptions)
