"""Which replica a consumer should read from (KIP-392). Pure decisions, by the rules of Kafka's selectors.

A leader sends a consumer that names its rack to a follower in the same rack. The follower must be in sync,
have an address on the consumer's listener, and have the requested offset. Of several the one that is most
caught up is taken. The leader serves itself if it is in that rack or if no such follower is.
"""

from collections.abc import Iterable
from typing import NamedTuple

LEADER = -1


class ReadableReplica(NamedTuple):
    """A follower from which the requested offset can be read."""

    broker_id: int
    rack: str | None
    log_end_offset: int
    last_caught_up_ms: int


def closest_replica(rack: str, leader_rack: str | None, followers: Iterable[ReadableReplica]) -> int:
    """The broker in `rack` to read from; `LEADER` if the leader serves the consumer itself."""
    if leader_rack == rack:
        return LEADER
    near = [each for each in followers if each.rack == rack]
    if not near:
        return LEADER
    best = max(near, key=lambda each: (each.log_end_offset, each.last_caught_up_ms, each.broker_id))
    return best.broker_id
