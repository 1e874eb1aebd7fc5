"""The state of a local cluster: its processes, and what the running brokers report over the wire."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from barnabas.cli.local_cluster.layout import Layout, Member
from barnabas.cli.local_cluster.process import RUNNING, BrokerProcess
from barnabas.cli.view import Column, Table

if TYPE_CHECKING:
    from barnabas.client.admin.cluster import ClusterDescription
    from barnabas.client.admin.topics import TopicDescription

_TIMEOUT = 2.0
_BROKERS = (
    Column("BROKER", "broker", is_number=True, style="bold"),
    Column("STATE", "state"),
    Column("PID", "pid", is_number=True),
    Column("ADDRESS", "address"),
    Column("RACK", "rack"),
    Column("CONTROLLER", "controller"),
    Column("LEADS", "leads", is_number=True),
    Column("REPLICAS", "replicas", is_number=True),
    Column("IN SYNC", "in_sync", is_number=True),
)
_PARTITIONS = (
    Column("TOPIC", "topic", style="bold"),
    Column("PARTITION", "partition", is_number=True),
    Column("LEADER", "leader", is_number=True),
    Column("REPLICAS", "replicas"),
    Column("ISR", "isr"),
)


@dataclass(frozen=True, slots=True)
class ClusterState:
    members: tuple[tuple[Member, str, int | None], ...]
    """Each broker with its state and its pid."""
    described: "ClusterDescription | None"
    """None if no broker answers."""
    topics: "tuple[TopicDescription, ...]"

    def brokers(self) -> Table:
        partitions = [each for topic in self.topics for each in topic.partitions]
        registered = {each.id for each in self.described.endpoints} if self.described else set()
        rows = []
        for member, state, pid in self.members:
            leads = replicas = in_sync = None
            if self.described is not None:
                leads = sum(each.leader == member.id for each in partitions)
                replicas = sum(member.id in each.replicas for each in partitions)
                in_sync = sum(member.id in each.isr for each in partitions)
            is_controller = self.described is not None and self.described.controller_id == member.id
            shown = state if state != RUNNING or member.id in registered else "starting"
            row = (
                member.id,
                shown,
                pid,
                member.address,
                member.rack,
                is_controller,
                leads,
                replicas,
                in_sync,
            )
            rows.append(row)
        return Table(
            _BROKERS, rows, footer=self._summary(), colours=lambda row: "" if row[1] == RUNNING else "yellow"
        )

    def partitions(self) -> Table:
        rows = [
            (topic.name, each.index, each.leader, each.replicas, each.isr)
            for topic in self.topics
            for each in topic.partitions
        ]
        return Table(
            _PARTITIONS,
            rows,
            colours=lambda row: "" if set(row[3]) == set(row[4]) else "yellow",  # type: ignore[call-overload]
        )

    def _summary(self) -> str:
        partitions = [each for topic in self.topics for each in topic.partitions]
        under = sum(each.is_under_replicated for each in partitions)
        offline = sum(each.leader is None for each in partitions)
        return f"{len(partitions)} partitions, {under} under-replicated, {offline} without a leader"


def read_state(layout: Layout) -> ClusterState:
    """Raises ToolError if the directory holds no cluster."""
    members = []
    for member in layout.members():
        process = BrokerProcess(member)
        members.append((member, process.state(), process.pid()))
    running = [member.address for member, state, _ in members if state == RUNNING]
    described, topics = _described(running)
    return ClusterState(tuple(members), described, topics)


def _described(addresses: list[str]) -> "tuple[ClusterDescription | None, tuple[TopicDescription, ...]]":
    from barnabas.client.admin.cluster import describe_cluster
    from barnabas.client.admin.topics import layouts, list_topics
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import ClientError
    from barnabas.client.settings import ClientSettings

    if not addresses:
        return None, ()
    settings = replace(
        ClientSettings.of(",".join(addresses)),
        connect_timeout=_TIMEOUT,
        request_timeout=_TIMEOUT,
        api_timeout=_TIMEOUT,
        patience=0.0,
    )
    try:
        with Cluster(settings) as cluster:
            described = describe_cluster(cluster)
            return described, tuple(layouts(cluster, [topic.name for topic in list_topics(cluster)]))
    except (ClientError, OSError):  # A broker has just ended, or is starting.
        return None, ()
