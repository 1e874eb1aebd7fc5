"""What members of a stable group do all day: commit offsets and heartbeat.

Fifty members of one group (classic protocol), one request in flight on each connection, as a consumer that
commits synchronously has it. Each commit has new offsets. The thousand members of the last row are ten groups
of a hundred that heartbeat every 3 s, as clients do by default; what is counted is the broker's CPU time.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from functools import partial

from benchmarks import group_protocol
from benchmarks.closed_loop import ClosedLoop, Lane, run_closed_loop
from benchmarks.group_members import ClassicMember, is_stable
from benchmarks.medians import percentile
from benchmarks.metrics import Metric, Target
from benchmarks.processes import BrokerProcess
from benchmarks.protocol import UnexpectedAnswer
from benchmarks.scenarios.base import Scenario, Settings
from benchmarks.scenarios.groups import STABLE_TIMEOUT, crowd, group_topic, new_group

GROUP = "Offset commits and heartbeats, raw sockets"
MEMBERS = 50
PARTITIONS = 100
HEARTBEAT_SECONDS = 3.0
JOINING_HEARTBEAT_SECONDS = 0.3
SETTLE_SECONDS = 1.0

_PARTITION_BYTES = struct.calcsize(">iqi") + 1 + 1


class CommitRequests:
    """OffsetCommit requests of one member; the offsets grow with each."""

    def __init__(self, member: ClassicMember, topic: str, partitions: range) -> None:
        request = group_protocol.offset_commit(
            member.group, member.generation, member.member_id, topic, [(p, 0) for p in partitions]
        )
        self._request = bytearray(request)
        # Behind the partitions are the tags of the topic and of the request.
        first = len(request) - 2 - _PARTITION_BYTES * len(partitions) + 4
        self._positions = [first + _PARTITION_BYTES * turn for turn in range(len(partitions))]
        self._offset = 0

    def next_request(self) -> bytearray:
        self._offset += 1
        for position in self._positions:
            struct.pack_into(">q", self._request, position, self._offset)
        return self._request


def _check_heartbeat(answer: bytes) -> None:
    if error := group_protocol.first_error(answer):
        raise UnexpectedAnswer(f"heartbeat: error code {error}")


class _StableGroup:
    """Fifty members that have joined; `_lane` says what each then does."""

    group = GROUP

    def _run(
        self,
        broker: BrokerProcess,
        settings: Settings,
        lane: Callable[[ClassicMember, str], tuple[Callable[[], bytes | bytearray], Callable[[bytes], None]]],
    ) -> ClosedLoop:
        topic, group = group_topic(broker, PARTITIONS), new_group()
        members = [ClassicMember(group, topic, PARTITIONS) for _ in range(MEMBERS)]
        with crowd(broker, list(members), [group], topic, HEARTBEAT_SECONDS) as gathered:
            gathered.start()
            gathered.run_until(lambda: is_stable(gathered.members, PARTITIONS), STABLE_TIMEOUT)
            lanes = [
                Lane(connection, *lane(member, topic))
                for connection, member in zip(gathered.connections, members, strict=True)
            ]
            return run_closed_loop(lanes, settings.warm_up, settings.seconds)


class OffsetCommits(_StableGroup):
    """Commits/s and the p99 of a commit."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self.name = f"commits/{partitions}p"
        each = "1 partition" if partitions == 1 else f"{partitions} partitions"
        title = f"50 members commit {each} at a time"
        self.metrics = (
            Metric("commits_s", title, "req/s", True, Target("ratio", "least", 1.0)),
            Metric("p99_ms", f"{title}, p99", "ms", False, Target("ratio", "most", 1.0)),
        )

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        loop = self._run(broker, settings, self._lane)
        return {"commits_s": loop.rate, "p99_ms": percentile(loop.latencies, 99) * 1e3}

    def _lane(
        self, member: ClassicMember, topic: str
    ) -> tuple[Callable[[], bytearray], Callable[[bytes], None]]:
        first = min(member.partitions)
        commits = CommitRequests(member, topic, range(first, first + self._partitions))
        return commits.next_request, group_protocol.check_committed


class Heartbeats(_StableGroup):
    """Heartbeats/s as fast as they are answered."""

    name = "heartbeats/rate"
    metrics = (Metric("heartbeats_s", "50 members heartbeat", "req/s", True, Target("ratio", "least", 1.0)),)

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        loop = self._run(broker, settings, lambda member, _: (member.heartbeat, _check_heartbeat))
        return {"heartbeats_s": loop.rate}


class HeartbeatingMembers:
    """CPU time of the broker while a thousand members do nothing but heartbeat."""

    group = GROUP
    name = "heartbeats/1000"
    metrics = (
        Metric(
            "cpu_percent",
            "1,000 members heartbeat every 3 s: broker's CPU",
            "% of a core",
            False,
            Target("value", "most", 10),
        ),
    )

    def measure(self, broker: BrokerProcess, settings: Settings) -> dict[str, float]:
        topic = group_topic(broker, PARTITIONS)
        groups = [new_group() for _ in range(10)]
        parties = [[ClassicMember(group, topic, PARTITIONS) for _ in range(100)] for group in groups]
        members = [member for party in parties for member in party]
        with crowd(broker, list(members), groups, topic, JOINING_HEARTBEAT_SECONDS) as gathered:
            gathered.start()
            stable = [partial(is_stable, party, PARTITIONS) for party in parties]
            gathered.run_until(lambda: all(check() for check in stable), STABLE_TIMEOUT)
            gathered.interval = HEARTBEAT_SECONDS
            gathered.spread_heartbeats()
            gathered.run_for(SETTLE_SECONDS)
            cpu, started = broker.cpu_seconds(), time.perf_counter()
            gathered.run_for(settings.heartbeat_seconds)
            share = (broker.cpu_seconds() - cpu) / (time.perf_counter() - started)
            if not all(member.settled for member in members):
                raise UnexpectedAnswer("a group rebalanced while its members only heartbeat")
        return {"cpu_percent": share * 100}


def scenarios() -> list[Scenario]:
    return [OffsetCommits(1), OffsetCommits(10), Heartbeats(), HeartbeatingMembers()]
