"""The driver's requests to a cluster: which partitions exist, and where they begin and end.

A request that fails is retried for `kafka.default.api.timeout.ms` and at least `fetchOffset.numRetries`
times: Spark itself never retries a failed call, it ends the query. With
`kafka.isolation.level=read_committed` a partition ends at its last stable offset.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from barnabas.base.ids import encode_uuid
from barnabas.client.admin.offsets import READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, ClientError, check
from barnabas.client.settings import ClientSettings
from barnabas.spark.planning import Offsets, TopicPartition
from barnabas.spark.planning.binding import bound
from barnabas.spark.planning.limits import EARLIEST, LATEST
from barnabas.spark.planning.offset_json import TopicIds
from barnabas.spark.planning.options import SourceOptions
from barnabas.spark.planning.starting import starting_offsets
from barnabas.spark.planning.subscription import Topic
from barnabas.spark.wire.attempts import is_retriable
from barnabas.spark.wire.cluster_settings import client_settings
from barnabas.spark.wire.connections import cluster_for

_UNKNOWN_TOPIC_OR_PARTITION = 3
_LONGEST_PAUSE = 1.0
_log = logging.getLogger("barnabas.spark")
T = TypeVar("T")


class OffsetReader:
    """Opens no connection before the first request."""

    def __init__(self, options: SourceOptions) -> None:
        self._options: SourceOptions = options
        self._settings: ClientSettings = client_settings(options.kafka)
        self._partitions: frozenset[TopicPartition] = frozenset()
        self._partitions_until: float = 0.0
        self.topic_ids: TopicIds = {}
        """Of the topics subscribed to, as of the last metadata. Empty if brokers have none (before 2.8)."""

    @property
    def cluster(self) -> Cluster:
        return cluster_for(self._settings)

    # --- partitions ------------------------------------------------------------------------------------

    def partitions(self) -> frozenset[TopicPartition]:
        """Those subscribed to. A topic that is not there is an error."""
        return self._retried(lambda: self._assigned(()))

    def _assigned(self, known: Collection[TopicPartition]) -> frozenset[TopicPartition]:
        """A topic that is in `known` may be missing: it was deleted since."""
        if time.monotonic() < self._partitions_until:
            return self._partitions
        self._partitions = self._subscribed({topic for topic, _ in known})
        if self._options.metadata_ttl_ms > 0:
            self._partitions_until = time.monotonic() + self._options.metadata_ttl_ms / 1000
        return self._partitions

    def _subscribed(self, known_topics: Collection[str]) -> frozenset[TopicPartition]:
        subscription = self._options.subscription
        found, ids = [], {}
        for topic in self.cluster.metadata(subscription.wanted_topics).topics:
            is_deleted = topic.error_code == _UNKNOWN_TOPIC_OR_PARTITION
            if is_deleted and (topic.name in known_topics or subscription.pattern is not None):
                continue
            check(topic.error_code, f"Topic {topic.name}: {BrokerError(topic.error_code).message}")
            found.append(Topic(topic.name, len(topic.partitions), topic.is_internal))
            if topic.topic_id is not None and topic.topic_id.int:
                ids[topic.name] = encode_uuid(topic.topic_id)
        self.topic_ids = ids
        return subscription.partitions(found)

    # --- offsets ---------------------------------------------------------------------------------------

    def lookup(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """The offset at each timestamp, LATEST or EARLIEST (`planning.binding.OffsetLookup`)."""
        return self._retried(lambda: self._listed(wanted))

    def _listed(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        if not wanted:
            return {}
        isolation = READ_COMMITTED if self._options.is_read_committed else READ_UNCOMMITTED
        listed: Offsets = {}
        for topic_partition, each in list_offsets(self.cluster, wanted, isolation=isolation).items():
            if isinstance(each, BrokerError):
                raise each
            listed[topic_partition] = each.offset
        return listed

    def initial(self) -> Offsets:
        """Where a new query begins."""
        options = self._options
        latest = options.start_is_latest_without_match
        found = starting_offsets(options.start, self.partitions(), self.lookup, latest_without_match=latest)
        return bound(found, self.lookup)

    def latest(self, known: Mapping[TopicPartition, int]) -> Offsets:
        """The ends of all partitions. One below a `known` offset is requested again: its leader may lag."""
        for _ in range(self._options.fetch_attempts - 1):
            found = self._latest(known)
            behind = {
                topic_partition
                for topic_partition, offset in found.items()
                if offset < known.get(topic_partition, 0)
            }
            if not behind and not known.keys() - found.keys():
                return found
            self._partitions_until = 0.0
            time.sleep(self._options.fetch_retry_interval_ms / 1000)
        return self._latest(known)

    def _latest(self, known: Collection[TopicPartition]) -> Offsets:
        return self._retried(lambda: self._listed(dict.fromkeys(self._assigned(known), LATEST)))

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The beginnings of those that still exist."""

        def attempt() -> Offsets:
            listed: Offsets = {}
            wanted = dict.fromkeys(partitions, EARLIEST)
            for topic_partition, each in list_offsets(self.cluster, wanted).items():
                if not isinstance(each, BrokerError):
                    listed[topic_partition] = each.offset
                elif each.code != _UNKNOWN_TOPIC_OR_PARTITION:
                    raise each
            return listed

        return self._retried(attempt) if partitions else {}

    # --- again -----------------------------------------------------------------------------------------

    def _retried(self, attempt: Callable[[], T]) -> T:
        deadline = time.monotonic() + self._settings.api_timeout
        pause, failures = self._options.fetch_retry_interval_ms / 1000, 0
        while True:
            try:
                return attempt()
            except ClientError as error:
                failures += 1
                is_unknown = isinstance(error, BrokerError) and error.code == _UNKNOWN_TOPIC_OR_PARTITION
                is_retried = is_retriable(error) and not is_unknown and time.monotonic() < deadline
                if failures >= self._options.fetch_attempts and not is_retried:
                    raise
                _log.warning("Error in attempt %d getting Kafka offsets: %s", failures, error)
            self._partitions_until = 0.0
            self.cluster.forget()
            time.sleep(min(pause, _LONGEST_PAUSE))
