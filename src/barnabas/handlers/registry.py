"""The one table of what this broker serves: key, name, versions, and the module that handles it.

Dispatch and the ApiVersions answer are made from it. A module is imported when the first such request
arrives: a broker pays for what its clients use.
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

    def newest(self, config: BrokerConfig) -> int:
        """The highest version that a broker with this configuration serves."""
        is_open = not self.opened_by or any(config.get(key) for key in self.opened_by)
        return self.max_version if is_open else self.max_version - 1

    @property
    def module(self) -> str:
        """`DescribeTopicPartitions` is handled by `describe_topic_partitions`."""
        snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in self.name)
        return f"barnabas.handlers.{snake[1:]}"


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


PRODUCE, FETCH, OFFSET_COMMIT, OFFSET_FETCH, API_VERSIONS = 0, 1, 8, 9, 18

AS_IT_CAME = frozenset({OFFSET_COMMIT, OFFSET_FETCH})
"""APIs whose newest version has no place for what older ones say (topic names): handed over as they came."""

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
        _api(API_VERSIONS, "ApiVersions", 0, 4),
        _api(19, "CreateTopics", 2, 7),
        _api(20, "DeleteTopics", 1, 6),
        _api(21, "DeleteRecords", 0, 2),
        # Who turns two-phase commit on wants it reached: Kafka asks for the other setting too.
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
        _api(32, "DescribeConfigs", 1, 4),
        _api(33, "AlterConfigs", 0, 2),
        _api(35, "DescribeLogDirs", 1, 5),
        _api(37, "CreatePartitions", 0, 3),
        _api(42, "DeleteGroups", 0, 2),
        _api(44, "IncrementalAlterConfigs", 0, 1),
        _api(47, "OffsetDelete", 0, 0),
        _api(60, "DescribeCluster", 0, 2),
        _api(61, "DescribeProducers", 0, 0),
        _api(65, "DescribeTransactions", 0, 0),
        _api(66, "ListTransactions", 0, 2),
        _api(68, "ConsumerGroupHeartbeat", 0, 1),
        _api(69, "ConsumerGroupDescribe", 0, 1),
        _api(75, "DescribeTopicPartitions", 0, 0),
    )
}


@cache
def handler_of(key: int) -> Any:
    """The `handle` function of an API (Produce and Fetch: `handle_frame`)."""
    module = import_module(APIS[key].module)
    return module.handle_frame if key in (PRODUCE, FETCH) else module.handle
