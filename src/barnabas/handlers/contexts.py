"""Which context the handler of each API gets: the one table of the families of requests."""

from dataclasses import dataclass

from barnabas.handlers.context import (
    ClusterContext,
    ConfigContext,
    ControllerContext,
    CoordinatorContext,
    GroupContext,
    LogDirContext,
    RecordContext,
    Serving,
    TopicContext,
    TransactionContext,
)
from barnabas.handlers.forwarding import Forwarding
from barnabas.handlers.registry import APIS

_FAMILIES = {
    "records": (
        "Produce",
        "Fetch",
        "ListOffsets",
        "DeleteRecords",
        "OffsetForLeaderEpoch",
        "DescribeProducers",
    ),
    "topics": ("Metadata", "CreateTopics", "DeleteTopics", "CreatePartitions"),
    "configs": ("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs", "ListConfigResources"),
    "log_dirs": ("DescribeLogDirs", "AlterReplicaLogDirs"),
    "controller": (
        "AlterPartition",
        "BrokerHeartbeat",
        "ElectLeaders",
        "AlterPartitionReassignments",
        "ListPartitionReassignments",
        "Envelope",
        "UnregisterBroker",
    ),
    "coordinators": ("FindCoordinator",),
    "groups": (
        "OffsetCommit",
        "OffsetFetch",
        "OffsetDelete",
        "JoinGroup",
        "SyncGroup",
        "Heartbeat",
        "LeaveGroup",
        "ListGroups",
        "DescribeGroups",
        "DeleteGroups",
        "ConsumerGroupHeartbeat",
        "ConsumerGroupDescribe",
    ),
    "transactions": (
        "InitProducerId",
        "AddPartitionsToTxn",
        "AddOffsetsToTxn",
        "TxnOffsetCommit",
        "EndTxn",
        "WriteTxnMarkers",
        "ListTransactions",
        "DescribeTransactions",
    ),
}
"""Every other API gets the context `cluster`."""


@dataclass(frozen=True, slots=True)
class Contexts:
    serving: Serving
    cluster: ClusterContext
    topics: TopicContext
    configs: ConfigContext
    log_dirs: LogDirContext
    records: RecordContext
    groups: GroupContext
    transactions: TransactionContext
    coordinators: CoordinatorContext
    controller: ControllerContext
    forwarding: Forwarding
    """For requests that only the controller carries out."""

    def of(self, api_key: int) -> ClusterContext:
        """The context of an API's handler."""
        context: ClusterContext = getattr(self, _FAMILY_OF.get(APIS[api_key].name, "cluster"))
        return context


_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names}
