"""Consumer groups over raw sockets: from the first join to a stable assignment, and after a member has left.

All members begin at once, each on a connection that is open already. They heartbeat every 10 ms (every 100 ms
when they are a hundred), far more often than users' members, so that what the broker does is measured and not
the waiting for the next heartbeat. Stable is a group whose members all hold their assignment of one
generation (or epoch) and together own every partition.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks import group_protocol, raw_client
from benchmarks.crowd import Crowd
from benchmarks.group_members import ClassicMember, ConsumerMember, Member, is_stable
from benchmarks.medians import median
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import UnexpectedAnswer
from benchmarks.raw_client import Connection
from benchmarks.scenarios.base import Scenario, Settings

GROUP = "Consumer groups, raw sockets"
PROTOCOLS = ("classic", "consumer")
NO_SLOWER = Target("ratio", "most", 1.0)
STABLE_TIMEOUT = 60.0
GROUPS_A_ROUND = {1: 9, 10: 5, 100: 2}
"""Small groups are over in milliseconds: a round is the median of several."""

_numbers = itertools.count()


def new_group() -> str:
    return f"bench-group-{next(_numbers):05d}"


def group_topic(broker: BrokerProcess, partitions: int) -> str:
    """A topic that stays for all groups that want so many partitions."""
    name = f"bench-groups-{partitions}"
    with broker.connect() as connection:
        raw_client.ensure_topic(connection, name, partitions)
    return name


def await_coordinator(connection: Connection, group: str, topic: str, timeout: float = 30.0) -> None:
    """Retry until the coordinator responds: the first request makes Kafka create the offsets topic."""
    deadline = time.perf_counter() + timeout
    while True:
        error = group_protocol.coordinator_error(connection.call(group_protocol.find_coordinator(group)))
        if not error:
            request = group_protocol.offset_fetch(group, topic, [0])
            error, _ = group_protocol.parse_offset_fetch(connection.call(request))
        if not error:
            return
        if time.perf_counter() > deadline:
            raise UnexpectedAnswer(f"the coordinator of {group}: error code {error} for {timeout:.0f} s")
        time.sleep(0.01)


@contextmanager
def crowd(
    broker: BrokerProcess, members: list[Member], groups: list[str], topic: str, interval: float
) -> Iterator[Crowd]:
    """Members on open connections to a coordinator that answers; they have all left when it ends well."""
    with ExitStack() as stack:
        connections = [stack.enter_context(broker.connect()) for _ in members]
        for group in groups:
            await_coordinator(connections[0], group, topic)
        gathered = Crowd(connections, members, interval)
        stack.callback(gathered.close)
        yield gathered
        gathered.leave_all()


class _RawGroup(ABC):
    """What the scenarios share: a protocol and a size; a partition for each member, at least ten."""

    group = GROUP
    metrics: tuple[Metric, ...]

    def __init__(self, protocol: str, size: int) -> None:
        self._protocol = protocol
        self._size = size
        self._partitions = max(size, 10)
        self._interval = 0.1 if size > 10 else 0.01

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        seconds = []
        for _ in range(GROUPS_A_ROUND[self._size]):
            topic, group = group_topic(broker, self._partitions), new_group()
            members = self._members(group, topic)
            with crowd(broker, members, [group], topic, self._interval) as gathered:
                seconds.append(self._seconds(gathered))
        return {self.metrics[0].key: median(seconds) * 1e3}

    @abstractmethod
    def _seconds(self, gathered: Crowd) -> float:
        """What is measured of one group."""

    def _members(self, group: str, topic: str) -> list[Member]:
        if self._protocol == "classic":
            return [ClassicMember(group, topic, self._partitions) for _ in range(self._size)]
        return [ConsumerMember(group, topic) for _ in range(self._size)]

    def _stabilise(self, gathered: Crowd) -> float:
        started = time.perf_counter()
        gathered.start()
        gathered.run_until(lambda: is_stable(gathered.members, self._partitions), STABLE_TIMEOUT)
        return time.perf_counter() - started


class JoinToStable(_RawGroup):
    """Milliseconds from the first JoinGroup or ConsumerGroupHeartbeat until the group is stable."""

    def __init__(self, protocol: str, size: int) -> None:
        super().__init__(protocol, size)
        self.name = f"groups/join/{protocol}/{size}"
        members = "1 member" if size == 1 else f"{size} members"
        title = f"{protocol} protocol, {members}: first join to stable"
        self.metrics = (Metric("stable_ms", title, "ms", False, NO_SLOWER),)

    def _seconds(self, gathered: Crowd) -> float:
        return self._stabilise(gathered)


class LeaveToStable(_RawGroup):
    """Milliseconds from a member's farewell until the rest own all partitions."""

    def __init__(self, protocol: str, size: int) -> None:
        super().__init__(protocol, size)
        self.name = f"groups/leave/{protocol}/{size}"
        title = f"{protocol} protocol, {size} members: one leaves, to stable"
        self.metrics = (Metric("recovered_ms", title, "ms", False, NO_SLOWER),)

    def _seconds(self, gathered: Crowd) -> float:
        self._stabilise(gathered)
        # A while of quiet, so that heartbeats do not come in step with the last rebalance.
        gathered.spread_heartbeats()
        gathered.run_for(2.5 * self._interval)
        started = time.perf_counter()
        gathered.leave(self._size - 1)
        rest = gathered.members[:-1]
        gathered.run_until(lambda: is_stable(rest, self._partitions), STABLE_TIMEOUT)
        return time.perf_counter() - started


def scenarios() -> list[Scenario]:
    joins: list[Scenario] = [JoinToStable(protocol, size) for protocol in PROTOCOLS for size in (1, 10, 100)]
    return [*joins, *(LeaveToStable(protocol, 10) for protocol in PROTOCOLS)]
