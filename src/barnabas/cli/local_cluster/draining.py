"""Moves the replicas of a broker to other brokers, before it is stopped.

Each replica goes to the broker with the fewest replicas that has none of its partition, at the same position.
Where every other broker has one, the replica stays.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from barnabas.cli.tool_errors import ToolError

Replicas = Mapping[tuple[str, int], Sequence[int]]
_PATIENCE = 600.0
_LOOK_SECONDS = 0.1


class Drained(NamedTuple):
    moved: int
    stayed: int


def drain(bootstrap: str, broker: int) -> Drained:
    """Returns when the replicas are moved. Raises ClientError, and ToolError if it takes too long."""
    from barnabas.client.admin.reassignments import alter_reassignments, list_reassignments, replicas_of
    from barnabas.client.admin.topics import list_topics
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings

    with Cluster(ClientSettings.of(bootstrap)) as cluster:
        current = replicas_of(cluster, [topic.name for topic in list_topics(cluster)])
        targets = plan(current, broker, sorted(set(cluster.nodes) - {broker}))
        for (topic, index), error in alter_reassignments(cluster, targets).items():
            raise ToolError(f"partition {topic}-{index} cannot be moved: {error}")
        deadline = time.monotonic() + _PATIENCE
        while targets and any(key in targets for key in list_reassignments(cluster)):
            if time.monotonic() > deadline:
                raise ToolError("the replicas are still being moved: see `barnabas reassign status`")
            time.sleep(_LOOK_SECONDS)
    assigned = sum(broker in replicas for replicas in current.values())
    return Drained(len(targets), assigned - len(targets))


def plan(current: Replicas, broker: int, others: Sequence[int]) -> dict[tuple[str, int], list[int]]:
    """The new replicas of each partition that can leave the broker."""
    load = Counter(dict.fromkeys(others, 0))
    for replicas in current.values():
        load.update(each for each in replicas if each in load)
    targets = {}
    for key, replicas in sorted(current.items()):
        free = [each for each in others if each not in replicas]
        if broker in replicas and free:
            chosen = min(free, key=lambda each: (load[each], each))
            load[chosen] += 1
            targets[key] = [chosen if each == broker else each for each in replicas]
    return targets
