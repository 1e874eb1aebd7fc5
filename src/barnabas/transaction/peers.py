"""The other brokers, as a transaction coordinator and the leaders of a transaction's partitions need them.

A port: whatever sends requests to brokers implements it. Without it this broker serves only what it leads.
Each call is one attempt, for the broker that leads now. Callers retry, and look the leader up at each one.
"""

from typing import Protocol

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.runtime.end_marker import EndMarker
from barnabas.transaction.requests import TransactionPartitions

Codes = dict[TopicPartition, ErrorCode]


class Peers(Protocol):
    def write_marker(self, broker_id: int, partition: TopicPartition, marker: EndMarker) -> Deferred[None]:
        """WriteTxnMarkers (27): done when the marker is committed, or with the error of the partition.

        An unreachable broker is NOT_LEADER_OR_FOLLOWER. Markers for one broker may share a request: it is
        sent when the loop's turn ends.
        """
        ...

    def verify_partitions(self, broker_id: int, requested: TransactionPartitions) -> Deferred[Codes]:
        """AddPartitionsToTxn (24), version 4 or later. An unreachable broker is COORDINATOR_NOT_AVAILABLE."""
        ...
