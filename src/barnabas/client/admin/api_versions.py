"""Which APIs each broker serves, in which versions, and which of them this client can use.

The versions come from the connection, which sends ApiVersions first. Names are those of Kafka up to 4.3. A
broker may serve other APIs.
"""

from dataclasses import dataclass

from barnabas.client.cluster import Cluster, Node
from barnabas.client.errors import ClientError
from barnabas.wire.message_codec import Versions, known_versions

_NAMES = [
    "Produce",
    "Fetch",
    "ListOffsets",
    "Metadata",
    "LeaderAndIsr",
    "StopReplica",
    "UpdateMetadata",
    "ControlledShutdown",
    "OffsetCommit",
    "OffsetFetch",
    "FindCoordinator",
    "JoinGroup",
    "Heartbeat",
    "LeaveGroup",
    "SyncGroup",
    "DescribeGroups",
    "ListGroups",
    "SaslHandshake",
    "ApiVersions",
    "CreateTopics",
    "DeleteTopics",
    "DeleteRecords",
    "InitProducerId",
    "OffsetForLeaderEpoch",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "WriteTxnMarkers",
    "TxnOffsetCommit",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
    "DescribeConfigs",
    "AlterConfigs",
    "AlterReplicaLogDirs",
    "DescribeLogDirs",
    "SaslAuthenticate",
    "CreatePartitions",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "DescribeDelegationToken",
    "DeleteGroups",
    "ElectLeaders",
    "IncrementalAlterConfigs",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "OffsetDelete",
    "DescribeClientQuotas",
    "AlterClientQuotas",
    "DescribeUserScramCredentials",
    "AlterUserScramCredentials",
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
    "DescribeQuorum",
    "AlterPartition",
    "UpdateFeatures",
    "Envelope",
    "FetchSnapshot",
    "DescribeCluster",
    "DescribeProducers",
    "BrokerRegistration",
    "BrokerHeartbeat",
    "UnregisterBroker",
    "DescribeTransactions",
    "ListTransactions",
    "AllocateProducerIds",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "ControllerRegistration",
    "GetTelemetrySubscriptions",
    "PushTelemetry",
    "AssignReplicasToDirs",
    "ListConfigResources",
    "DescribeTopicPartitions",
    "ShareGroupHeartbeat",
    "ShareGroupDescribe",
    "ShareFetch",
    "ShareAcknowledge",
    "AddRaftVoter",
    "RemoveRaftVoter",
    "UpdateRaftVoter",
    "InitializeShareGroupState",
    "ReadShareGroupState",
    "WriteShareGroupState",
    "DeleteShareGroupState",
    "ReadShareGroupStateSummary",
    "StreamsGroupHeartbeat",
    "StreamsGroupDescribe",
    "DescribeShareGroupOffsets",
    "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets",
]
"""By key."""

_REMOVED = frozenset({"LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"})
"""Used between brokers and controllers until 3.9. Kafka 4 has no version of them."""

_OF_CONTROLLERS = frozenset(
    [
        "Vote",
        "BeginQuorumEpoch",
        "EndQuorumEpoch",
        "AlterPartition",
        "Envelope",
        "FetchSnapshot",
        "BrokerRegistration",
        "BrokerHeartbeat",
        "AllocateProducerIds",
        "ControllerRegistration",
        "AssignReplicasToDirs",
        "UpdateRaftVoter",
    ]
)
"""Not served on a broker's listener."""


@dataclass(frozen=True, slots=True)
class ServedApi:
    key: int
    name: str | None
    """None if the API is newer than this client."""
    served: Versions | None
    """None if the broker does not serve the API."""
    known: Versions | None
    """The versions that this client supports."""

    @property
    def usable(self) -> int | None:
        """The newest version that both sides support."""
        if self.served is None or self.known is None or self.is_too_new or self.is_too_old:
            return None
        return min(self.known.highest, self.served.highest)

    @property
    def is_too_new(self) -> bool:
        """The broker no longer serves the versions that this client supports."""
        if self.served is None or self.name is None:
            return False
        return self.known is None or self.known.highest < self.served.lowest

    @property
    def is_too_old(self) -> bool:
        return self.served is not None and self.known is not None and self.served.highest < self.known.lowest


def describe_apis(cluster: Cluster) -> dict[Node, tuple[ServedApi, ...] | ClientError]:
    """For each broker, by API key: the APIs it serves, and client APIs that it does not serve."""
    found: dict[Node, tuple[ServedApi, ...] | ClientError] = {}
    for node in sorted(cluster.nodes.values()):
        try:
            found[node] = served_apis(cluster.connection(node.id).served)
        except ClientError as error:
            found[node] = error
    return found


def served_apis(served: dict[int, Versions]) -> tuple[ServedApi, ...]:
    expected = {
        key for key, name in enumerate(_NAMES) if name not in _REMOVED and name not in _OF_CONTROLLERS
    }
    return tuple(
        ServedApi(key, _name(key), served.get(key), _known(_name(key)))
        for key in sorted(expected | served.keys())
    )


def _name(key: int) -> str | None:
    return _NAMES[key] if 0 <= key < len(_NAMES) else None


def _known(name: str | None) -> Versions | None:
    if name is None or name in _REMOVED:
        return None
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return known_versions(snake[1:])
