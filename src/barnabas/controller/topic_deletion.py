"""Resolves the topics of a DeleteTopics request and deletes them (Kafka's ControllerApis.deleteTopics).

A topic may be given by name or by id, but only once. The topic, its partitions and its configuration are
deleted in one transaction. Brokers see the deletion and delete the logs.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from barnabas.base.errors import ErrorCode, StorageError
from barnabas.base.ids import ZERO_UUID
from barnabas.controller.requests import DeletedTopic, TopicRef
from barnabas.controller.writer import MetadataWriter
from barnabas.metadata import paths
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.store import Delete, NoNode, Operation, StoreError

logger = logging.getLogger(__name__)

UNKNOWN_TOPIC = "This server does not host this topic-partition."
UNKNOWN_TOPIC_ID = "This server does not host this topic ID."


def delete_topics(cluster: MetadataWriter, topics: Sequence[TopicRef]) -> list[DeletedTopic]:
    results, names, ids = _check_references(topics)
    resolved = _resolve(cluster.image, names, ids, results)
    failures = _remove(cluster, resolved)
    results += [failures.get(topic_id) or DeletedTopic(name, topic_id) for topic_id, name in resolved.items()]
    return results


def _check_references(topics: Sequence[TopicRef]) -> tuple[list[DeletedTopic], list[str], list[UUID]]:
    """Returns results for invalid references, and the names and ids that are given exactly once."""
    results: list[DeletedTopic] = []
    names: Counter[str] = Counter()
    ids: Counter[UUID] = Counter()
    for topic in topics:
        if topic.name is None and topic.topic_id == ZERO_UUID:
            results.append(_invalid(topic.name, topic.topic_id, "Neither topic name nor id were specified."))
        elif topic.name is None:
            ids[topic.topic_id] += 1
        elif topic.topic_id == ZERO_UUID:
            names[topic.name] += 1
        else:
            reason = "You may not specify both topic name and topic id."
            results.append(_invalid(topic.name, topic.topic_id, reason))
    results += [_invalid(name, ZERO_UUID, "Duplicate topic name.") for name, n in names.items() if n > 1]
    results += [_invalid(None, topic_id, "Duplicate topic id.") for topic_id, n in ids.items() if n > 1]
    return results, [name for name, n in names.items() if n == 1], [one for one, n in ids.items() if n == 1]


def _resolve(
    image: ClusterImage, names: Sequence[str], ids: Sequence[UUID], results: list[DeletedTopic]
) -> dict[UUID, str]:
    resolved: dict[UUID, str] = {}
    for topic_id in ids:
        topic = image.topic_by_id.get(topic_id)
        if topic is None:
            results.append(DeletedTopic(None, topic_id, ErrorCode.unknown_topic_id, UNKNOWN_TOPIC_ID))
        else:
            resolved[topic_id] = topic.name
    for name in names:
        topic = image.topics.get(name)
        if topic is None:
            code = ErrorCode.unknown_topic_or_partition
            results.append(DeletedTopic(name, ZERO_UUID, code, UNKNOWN_TOPIC))
        elif topic.topic_id in resolved:
            del resolved[topic.topic_id]
            reason = "The provided topic name maps to an ID that was already supplied."
            results.append(_invalid(name, topic.topic_id, reason))
        else:
            resolved[topic.topic_id] = name
    return resolved


def _remove(cluster: MetadataWriter, resolved: Mapping[UUID, str]) -> dict[UUID, DeletedTopic]:
    """Delete the topics. Returns the results of those that could not be deleted."""
    if not resolved:
        return {}
    try:
        cluster.transaction([step for name in resolved.values() for step in _operations(cluster, name)])
        return {}
    except NoNode:
        if len(resolved) == 1:
            ((topic_id, name),) = resolved.items()
            cluster.refresh([paths.topic(name)])
            code = ErrorCode.unknown_topic_or_partition
            return {topic_id: DeletedTopic(name, topic_id, code, UNKNOWN_TOPIC)}
    except StoreError as error:
        logger.error("Cannot delete topics from the metadata store: %s", error)
        code = StorageError.code
        return {
            topic_id: DeletedTopic(name, topic_id, code, str(error)) for topic_id, name in resolved.items()
        }
    failures: dict[UUID, DeletedTopic] = {}
    for topic_id, name in resolved.items():
        failures.update(_remove(cluster, {topic_id: name}))
    return failures


def _operations(cluster: MetadataWriter, name: str) -> list[Operation]:
    extras = (paths.topic_config(name), f"{paths.DELETE_TOPICS}/{name}")
    existing = [path for path in extras if cluster.store.exists(path) is not None]
    return [Delete(path, recursive=True) for path in (paths.topic(name), *existing)]


def _invalid(name: str | None, topic_id: UUID, reason: str) -> DeletedTopic:
    return DeletedTopic(name, topic_id, ErrorCode.invalid_request, reason)
