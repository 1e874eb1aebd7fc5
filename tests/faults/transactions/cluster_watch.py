"""Looks at a cluster from outside while clients work and brokers die: what no client must ever see.

A thread requests from every broker in turn the metadata of some topics, from leaders the end offsets (what is
committed), and from the coordinator the committed offsets of a group. Brokers that are down or paused do not
respond, and get the next request later. `findings` are the anomalies:

- two leaders in an epoch: two brokers were named as leaders of a partition in one leader epoch;
- end offset went back, group offset went back: a request that began after another one had ended got less.
"""

import contextlib
import threading
from collections.abc import Mapping, Sequence

from tests.faults.transactions.anomalies import Anomaly, Kind
from tests.faults.transactions.keys import key_of
from tests.integration.clients.raw import RawClient

from barnabas.base.errors import ErrorCode

_TIMEOUT_SECONDS = 1.0
"""A paused broker accepts a connection and answers nothing."""
_PAUSE_SECONDS = 0.05
_LATEST = -1


class ClusterWatch:
    """`ports` are those of the brokers, by their ids. Use it with `with`."""

    def __init__(self, ports: Sequence[int], topics: Sequence[str], group: str) -> None:
        self._ports: Sequence[int] = ports
        self._topics: Sequence[str] = topics
        self._group: str = group
        self.findings: list[Anomaly] = []
        self.looks: int = 0
        """Answers that were compared."""
        self.leaders: dict[tuple[str, int], int] = {}
        """By key and leader epoch."""
        self._offsets: dict[tuple[Kind, str], int] = {}
        self._is_over: threading.Event = threading.Event()
        self._thread: threading.Thread = threading.Thread(target=self._run, name="cluster-watch")

    def __enter__(self) -> "ClusterWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    # --- what is compared -------------------------------------------------------------------------------

    def note_leader(self, key: str, epoch: int, leader: int) -> None:
        self.looks += 1
        known = self.leaders.setdefault((key, epoch), leader)
        if known != leader:
            text = f"brokers {known} and {leader} led {key} in epoch {epoch}"
            self.findings.append(Anomaly(Kind.TWO_LEADERS, text))

    def note_offset(self, kind: Kind, key: str, offset: int) -> None:
        """Calls follow each other: so did the requests."""
        self.looks += 1
        known = self._offsets.get((kind, key), -1)
        if offset < known:
            self.findings.append(Anomaly(kind, f"{key}: from {known} to {offset}"))
        self._offsets[kind, key] = offset

    # --- requests ---------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_over.wait(_PAUSE_SECONDS):
            for port in self._ports:
                with contextlib.suppress(OSError, EOFError):
                    self._look_at(port)

    def _look_at(self, port: int) -> None:
        with RawClient(port, _TIMEOUT_SECONDS) as client:
            led = self._ask_for_leaders(client)
            for leader, keys in led.items():
                if self._ports[leader] == port:
                    self._ask_for_ends(client, keys)
            self._ask_for_group(client)

    def _ask_for_leaders(self, client: RawClient) -> Mapping[int, list[tuple[str, int]]]:
        topics = [{"topic_id": None, "name": name} for name in self._topics]
        answer = client.call(
            "metadata",
            12,
            topics=topics,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
        led: dict[int, list[tuple[str, int]]] = {}
        for topic in answer.topics:
            for each in topic.partitions:
                leader = int(each.leader_id)
                if leader >= 0 and not each.error_code:
                    self.note_leader(key_of(topic.name, each.partition_index), each.leader_epoch, leader)
                    led.setdefault(leader, []).append((topic.name, each.partition_index))
        return led

    def _ask_for_ends(self, client: RawClient, partitions: Sequence[tuple[str, int]]) -> None:
        topics = [
            {"name": topic, "partitions": [{"partition_index": number, "timestamp": _LATEST}]}
            for topic, number in partitions
        ]
        answer = client.call("list_offsets", 7, replica_id=-1, isolation_level=0, topics=topics)
        for topic in answer.topics:
            for each in topic.partitions:
                if each.error_code == ErrorCode.none:
                    key = key_of(topic.name, each.partition_index)
                    self.note_offset(Kind.END_WENT_BACK, key, each.offset)

    def _ask_for_group(self, client: RawClient) -> None:
        groups = [{"group_id": self._group, "topics": None}]
        answer = client.call("offset_fetch", 8, groups=groups, require_stable=True)
        (found,) = answer.groups
        if found.error_code != ErrorCode.none:
            return  # It is not the coordinator, or it is loading.
        for topic in found.topics:
            for each in topic.partitions:
                if each.error_code == ErrorCode.none and each.committed_offset >= 0:
                    key = key_of(topic.name, each.partition_index)
                    self.note_offset(Kind.GROUP_OFFSET_WENT_BACK, key, each.committed_offset)
