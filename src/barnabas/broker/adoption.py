"""`barnabas adopt`: registers the topics of a log directory in the metadata store, under their own ids.

The log directory is only read. Kafka keeps topic configurations elsewhere, so adopted topics have the
broker's defaults. Internal topics have their known configuration. New leader epochs start above those in the
logs, new producer ids above those in the snapshots.

The partitions of a topic are numbered from 0 without gaps, and the partition count determines the partition
of a key. So partitions that are missing below the largest number found (they were on another broker) are
registered too, and are empty. A directory that would add implausibly many of these is refused.
"""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import ErrorCode, KafkaError, StorageError
from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import random_uuid
from barnabas.broker.identity import known_cluster_id, with_known_node_id
from barnabas.broker.known_storage import find_store
from barnabas.controller.producer_ids import take_block
from barnabas.controller.requests import AdoptedTopic
from barnabas.controller.topics import TopicAdmin
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import NO_CONTROLLER
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.metadata.store import StoreError
from barnabas.storage import names
from barnabas.storage.batch_scan import iter_file_headers
from barnabas.storage.checkpoints import MalformedCheckpoint
from barnabas.storage.leader_epochs import UNDEFINED_EPOCH, LeaderEpochs
from barnabas.storage.log_inventory import FoundPartition, list_partitions
from barnabas.storage.producer_snapshot import decode_snapshot

_INTERNAL = {
    "__consumer_offsets": {"cleanup.policy": "compact", "compression.type": "producer"},
    "__transaction_state": {"cleanup.policy": "compact", "min.insync.replicas": "1"},
}

_MOST_MISSING = 1000
_MISSING_PER_FOUND = 10
"""The maximum of empty partitions for each one found, if there are more than `_MOST_MISSING`."""


def adopt(config: BrokerConfig, log_dir: Path) -> dict[str, int]:
    """Register the logs of `log_dir`. Returns the partition count by topic. Raises KafkaError or OSError."""
    fs = FileSystem()
    config = with_known_node_id(config, fs)
    found = list_partitions(log_dir, fs)
    try:
        store = SqliteStore(find_store(config))
        try:
            return _register(config, log_dir, found, store, fs)
        finally:
            store.close()
    except StoreError as error:
        raise StorageError(str(error)) from error


def _register(
    config: BrokerConfig, log_dir: Path, found: list[FoundPartition], store: SqliteStore, fs: FileSystem
) -> dict[str, int]:
    cluster = ClusterMetadata(store)
    cluster.load(known_cluster_id(config, fs))
    try:
        if config.broker_id in cluster.image.brokers:
            raise StorageError(f"broker {config.broker_id} is running: stop it first")
        if cluster.image.controller_id != NO_CONTROLLER:
            # Only the controller writes topics.
            raise StorageError(
                f"broker {cluster.image.controller_id} is running on the same metadata store: "
                "stop all brokers of the cluster first"
            )
        topics = [
            _topic_of(name, list(partitions), log_dir, fs)
            for name, partitions in groupby(found, key=lambda each: each.topic)
        ]
        results = TopicAdmin(cluster, config).adopt(topics, config.broker_id)
        for result in results:
            if result.error is not ErrorCode.none:
                raise StorageError(f"{result.name}: {result.message or result.error.name}")
        take_block(store, config.broker_id, beyond=_largest_producer_id(log_dir, found, fs))
    finally:
        cluster.close()
    return {topic.name: topic.partition_count for topic in topics}


def _topic_of(name: str, partitions: list[FoundPartition], log_dir: Path, fs: FileSystem) -> AdoptedTopic:
    ids = {each.topic_id for each in partitions if each.topic_id is not None}
    if len(ids) > 1:
        raise StorageError(f"the partitions of {name} carry different topic ids")
    count = max(each.partition for each in partitions) + 1
    missing = count - len(partitions)
    if missing > max(_MOST_MISSING, _MISSING_PER_FOUND * len(partitions)):
        raise StorageError(
            f"{name}-{count - 1} would make {count} partitions of topic {name}, of which {len(partitions)} "
            f"are here: move the directory away if it is not a partition"
        )
    return AdoptedTopic(
        name,
        ids.pop() if ids else random_uuid(),
        count,
        _INTERNAL.get(name, {}),
        {each.partition: _latest_epoch(log_dir / f"{name}-{each.partition}", fs) for each in partitions},
    )


def _latest_epoch(directory: Path, fs: FileSystem) -> int:
    epochs = LeaderEpochs(directory, fs)
    try:
        epochs.load()
    except MalformedCheckpoint:
        return _latest_epoch_in_batches(directory, fs)
    return epochs.latest_epoch


def _latest_epoch_in_batches(directory: Path, fs: FileSystem) -> int:
    """Read the epochs as the loader reads them when the log is opened."""
    latest = UNDEFINED_EPOCH
    for name in fs.listdir(directory):
        if name.endswith(names.LOG):
            path = directory / name
            try:
                for _, header in iter_file_headers(fs.open(path, read_only=True), 0, fs.size(path)):
                    latest = max(latest, header.partition_leader_epoch)
            except KafkaError:
                continue  # A torn tail: recovery truncates it.
    return latest


def _largest_producer_id(log_dir: Path, found: Iterable[FoundPartition], fs: FileSystem) -> int:
    largest = -1
    for each in found:
        directory = log_dir / f"{each.topic}-{each.partition}"
        for name in fs.listdir(directory):
            if name.endswith(names.SNAPSHOT):
                try:
                    entries = decode_snapshot(fs.read_bytes(directory / name))
                except KafkaError:
                    continue  # The log rebuilds it when it is opened.
                largest = max([largest, *(entry.producer_id for entry in entries)])
    return largest
