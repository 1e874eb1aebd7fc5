"""The one table of what this broker answers: key, name, versions, and the module that handles it.

Dispatch and the ApiVersions answer are made from it. A module is imported when the first such request
arrives: a broker pays for what its clients use. Every API of Apache Kafka 4.3 is here. Those whose feature
Kafka can do without are answered as by a Kafka broker without it; the others are not advertised.
"""

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from barnabas.base.config.broker_config import BrokerConfig


class Api(NamedTuple):
    key: int
    name: str
    min_version: int
    max_version: int
    advertised_min: int
    opened_by: tuple[str, ...] = ()
    """If any: the newest version is not final in Kafka, and served only where one of these settings is on."""
    answered_by: str = ""
    """The module, where it is not the one named after the API."""
    is_advertised: bool = True
    """Whether ApiVersions names it: clients decide by that what a broker can do."""
    is_between_brokers: bool = False
    """Served, and not advertised: only brokers send it."""

    def newest(self, config: BrokerConfig) -> int:
        """The highest version that a broker with this configuration serves."""
        is_open = not self.opened_by or any(config.get(key) for key in self.opened_by)
        return self.max_version if is_open else self.max_version - 1

    @property
    def module(self) -> str:
        """`DescribeTopicPartitions` is handled by `describe_topic_partitions`."""
        snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in self.name)
        return f"barnabas.handlers.{self.answered_by or snake[1:]}"


def _api(
    key: int,
    name: str,
    min_version: int,
    max_version: int,
    advertised_min: int | None = None,
    opened_by: tuple[str, ...] = (),
) -> Api:
    lowest = min_version if advertised_min is None else advertised_min
    return Api(key, name, min_version, max_version, lowest, opened_by)


def _without_security(key: int, name: str, min_version: int, max_version: int) -> Api:
    return Api(key, name, min_version, max_version, min_version, answered_by="security_disabled")


def _not_supported(key: int, name: str, min_version: int, max_version: int) -> Api:
    return Api(
        key, name, min_version, max_version, min_version, answered_by="not_supported", is_advertised=False
    )


def _between_brokers(key: int, name: str, min_version: int, max_version: int) -> Api:
    """Kafka 4 serves these on the listeners of controllers, and advertises them there only."""
    return Api(key, name, min_version, max_version, min_version, is_advertised=False, is_between_brokers=True)


PRODUCE, FETCH, OFFSET_COMMIT, OFFSET_FETCH, API_VERSIONS, ENVELOPE = 0, 1, 8, 9, 18, 58

AS_IT_CAME = frozenset({OFFSET_COMMIT, OFFSET_FETCH})
"""APIs whose newest version lacks fields of older ones (topic names): passed to the handler unconverted."""

FOR_CONTROLLER = frozenset({19, 20, 33, 37, 43, 44, 45, 46, 64})
"""APIs that only the controller carries out: another broker forwards them (`handlers.forwarded_apis`)."""

APIS: dict[int, Api] = {
    api.key: api
    for api in (
        # librdkafka before 2.x enables its codecs by the lowest version it sees: Kafka says 0, so do we.
        _api(PRODUCE, "Produce", 3, 13, advertised_min=0),
        _api(FETCH, "Fetch", 4, 18),
        _api(2, "ListOffsets", 1, 11),
        _api(3, "Metadata", 0, 13),
        _api(OFFSET_COMMIT, "OffsetCommit", 2, 10),
        _api(OFFSET_FETCH, "OffsetFetch", 1, 10),
        _api(10, "FindCoordinator", 0, 6),
        _api(11, "JoinGroup", 0, 9),
        _api(12, "Heartbeat", 0, 4),
        _api(13, "LeaveGroup", 0, 5),
        _api(14, "SyncGroup", 0, 5),
        _api(15, "DescribeGroups", 0, 6),
        _api(16, "ListGroups", 0, 5),
        _without_security(17, "SaslHandshake", 0, 1),
        _api(API_VERSIONS, "ApiVersions", 0, 4),
        _api(19, "CreateTopics", 2, 7),
        _api(20, "DeleteTopics", 1, 6),
        _api(21, "DeleteRecords", 0, 2),
        # Enabling two-phase commit is enough to advertise it: Kafka requires the other setting too.
        _api(
            22,
            "InitProducerId",
            0,
            6,
            opened_by=("transaction.two.phase.commit.enable", "unstable.api.versions.enable"),
        ),
        _api(23, "OffsetForLeaderEpoch", 2, 4),
        _api(24, "AddPartitionsToTxn", 0, 5),
        _api(25, "AddOffsetsToTxn", 0, 4),
        _api(26, "EndTxn", 0, 5),
        _api(27, "WriteTxnMarkers", 1, 2),
        _api(28, "TxnOffsetCommit", 0, 5),
        _without_security(29, "DescribeAcls", 1, 3),
        _without_security(30, "CreateAcls", 1, 3),
        _without_security(31, "DeleteAcls", 1, 3),
        _api(32, "DescribeConfigs", 1, 4),
        _api(33, "AlterConfigs", 0, 2),
        _api(34, "AlterReplicaLogDirs", 1, 2),
        _api(35, "DescribeLogDirs", 1, 5),
        _without_security(36, "SaslAuthenticate", 0, 2),
        _api(37, "CreatePartitions", 0, 3),
        _without_security(38, "CreateDelegationToken", 1, 3),
        _without_security(39, "RenewDelegationToken", 1, 2),
        _without_security(40, "ExpireDelegationToken", 1, 2),
        _without_security(41, "DescribeDelegationToken", 1, 3),
        _api(42, "DeleteGroups", 0, 2),
        _api(43, "ElectLeaders", 0, 2),
        _api(44, "IncrementalAlterConfigs", 0, 1),
        _api(45, "AlterPartitionReassignments", 0, 1),
        _api(46, "ListPartitionReassignments", 0, 0),
        _api(47, "OffsetDelete", 0, 0),
        _api(48, "DescribeClientQuotas", 0, 1),
        _not_supported(49, "AlterClientQuotas", 0, 1),
        _without_security(50, "DescribeUserScramCredentials", 0, 0),
        _not_supported(51, "AlterUserScramCredentials", 0, 0),
        _not_supported(55, "DescribeQuorum", 0, 2),
        _between_brokers(56, "AlterPartition", 2, 3),
        _not_supported(57, "UpdateFeatures", 0, 2),
        _between_brokers(ENVELOPE, "Envelope", 0, 0),
        _api(60, "DescribeCluster", 0, 2),
        _api(61, "DescribeProducers", 0, 0),
        _between_brokers(63, "BrokerHeartbeat", 0, 1),
        _api(64, "UnregisterBroker", 0, 0),
        _api(65, "DescribeTransactions", 0, 0),
        _api(66, "ListTransactions", 0, 2),
        _api(68, "ConsumerGroupHeartbeat", 0, 1),
        _api(69, "ConsumerGroupDescribe", 0, 1),
        # Without a receiver of telemetry Kafka does not advertise these two either.
        _not_supported(71, "GetTelemetrySubscriptions", 0, 0),
        _not_supported(72, "PushTelemetry", 0, 0),
        _api(74, "ListConfigResources", 0, 1),
        _api(75, "DescribeTopicPartitions", 0, 0),
        _not_supported(76, "ShareGroupHeartbeat", 1, 1),
        _not_supported(77, "ShareGroupDescribe", 1, 1),
        _not_supported(78, "ShareFetch", 1, 2),
        _not_supported(79, "ShareAcknowledge", 1, 2),
        _not_supported(80, "AddRaftVoter", 0, 1),
        _not_supported(81, "RemoveRaftVoter", 0, 0),
        _not_supported(83, "InitializeShareGroupState", 0, 0),
        _not_supported(84, "ReadShareGroupState", 0, 0),
        _not_supported(85, "WriteShareGroupState", 0, 1),
        _not_supported(86, "DeleteShareGroupState", 0, 0),
        _not_supported(87, "ReadShareGroupStateSummary", 0, 1),
        _not_supported(88, "StreamsGroupHeartbeat", 0, 0),
        _not_supported(89, "StreamsGroupDescribe", 0, 0),
        _not_supported(90, "DescribeShareGroupOffsets", 0, 1),
        _not_supported(91, "AlterShareGroupOffsets", 0, 0),
        _not_supported(92, "DeleteShareGroupOffsets", 0, 0),
    )
}


@cache
def handler_of(key: int) -> Any:
    """The `handle` function of an API (Produce and Fetch: `handle_frame`)."""
    module = import_module(APIS[key].module)
    return module.handle_frame if key in (PRODUCE, FETCH) else module.handle
