"""The groups of one shard, by id, and the groups subscribed to each topic."""

from collections.abc import Iterator

from barnabas.base.errors import GroupIdNotFound
from barnabas.group.group import Group


class Groups:
    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._subscribers: dict[str, set[str]] = {}

    def __iter__(self) -> Iterator[Group]:
        """A snapshot: groups may be added or removed during the iteration."""
        return iter(list(self._groups.values()))

    def __len__(self) -> int:
        return len(self._groups)

    def find(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def get(self, group_id: str) -> Group:
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFound(f"Group {group_id} not found.")
        return group

    def put(self, group: Group) -> None:
        """Add a group, or replace the group with the same id."""
        self._groups[group.group_id] = group

    def remove(self, group_id: str) -> None:
        self._groups.pop(group_id, None)

    # --- subscriptions (of consumer groups; classic groups keep their own) --------------------------------

    def subscribe(self, group_id: str, topic: str) -> None:
        self._subscribers.setdefault(topic, set()).add(group_id)

    def unsubscribe(self, group_id: str, topic: str) -> None:
        subscribers = self._subscribers.get(topic)
        if subscribers is not None:
            subscribers.discard(group_id)
            if not subscribers:
                del self._subscribers[topic]

    def subscribed_to(self, topic: str) -> frozenset[str]:
        return frozenset(self._subscribers.get(topic, ()))
