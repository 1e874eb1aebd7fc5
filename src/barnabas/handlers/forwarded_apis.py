"""Which requests only the controller carries out: the one table of what a broker forwards.

Those of Apache Kafka 4.3 (`KafkaApis`). It forwards more, which this broker answers alike wherever it
arrives, because the feature is missing: access control lists, quotas, SCRAM credentials, features.

For each API: what the controller changes in the metadata store, which the forwarding broker reads before it
responds; the response if the controller could not be reached; and the part that is not the controller's.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from barnabas.base.errors import KafkaError
from barnabas.controller.requests import ResourceType
from barnabas.controller.topic_names import is_legal_topic_name
from barnabas.handlers import config_division
from barnabas.handlers.config_division import Division
from barnabas.handlers.context import Request
from barnabas.metadata import paths
from barnabas.metadata.image import ClusterImage
from barnabas.wire import Reply

_Body = Any
"""Of one of many requests."""


class ForwardedApi(NamedTuple):
    changed: Callable[[_Body, ClusterImage], Iterable[str]]
    """Paths of the store that the controller may have written."""
    refused: Callable[[_Body, KafkaError], Reply]
    """The response if the controller did not answer."""
    divide: Callable[[Any, Request], Awaitable[Division | None]] | None = None
    """Carries out what belongs to this broker. None: the whole request is the controller's."""


def timeout_ms(body: _Body) -> int | None:
    """The time that the client gives the request; None if its API has no such field, or it gives none."""
    timeout = getattr(body, "timeout", None)
    if timeout is None:
        return None
    milliseconds = int(timeout.total_seconds() * 1000)
    return milliseconds if milliseconds > 0 else None


# --- what changes ----------------------------------------------------------------------------------------


def _nothing(body: _Body, image: ClusterImage) -> Iterable[str]:
    return ()


def _created(body: _Body, image: ClusterImage) -> Iterable[str]:
    return _of_topics((each.name for each in body.topics), with_configs=True)


def _grown(body: _Body, image: ClusterImage) -> Iterable[str]:
    return _of_topics(each.name for each in body.topics)


def _deleted(body: _Body, image: ClusterImage) -> Iterable[str]:
    known = (image.topic_by_id.get(each.topic_id) for each in body.topics if each.topic_id)
    names = [each.name for each in body.topics if each.name]
    return _of_topics([*names, *(topic.name for topic in known if topic is not None)], with_configs=True)


def _elected(body: _Body, image: ClusterImage) -> Iterable[str]:
    if body.topic_partitions is None:
        return [paths.TOPICS]
    return _of_topics(each.topic for each in body.topic_partitions)


def _reassigned(body: _Body, image: ClusterImage) -> Iterable[str]:
    return _of_topics(each.name for each in body.topics)


def _configured(body: _Body, image: ClusterImage) -> Iterable[str]:
    found = []
    for each in body.resources:
        name = each.resource_name
        if each.resource_type == ResourceType.TOPIC and is_legal_topic_name(name):
            found.append(paths.topic_config(name))
        elif each.resource_type == ResourceType.BROKER and (not name or name.isdecimal()):
            found.append(paths.broker_config(name))
        elif each.resource_type == ResourceType.GROUP and name:
            found.append(paths.group_config(name))
    return found


def _unregistered(body: _Body, image: ClusterImage) -> Iterable[str]:
    return [paths.registration(body.broker_id)]


def _of_topics(names: Iterable[str], *, with_configs: bool = False) -> list[str]:
    legal = [name for name in names if is_legal_topic_name(name)]
    configs = map(paths.topic_config, legal) if with_configs else ()
    return [*map(paths.topic, legal), *configs]


# --- refusals --------------------------------------------------------------------------------------------


def _on_top(body: _Body, error: KafkaError) -> Reply:
    return Reply(error_code=error.code, error_message=error.message)


def _per_topic(body: _Body, error: KafkaError) -> Reply:
    topics = [
        Reply(name=each.name, error_code=error.code, error_message=error.message, configs=[])
        for each in body.topics
    ]
    return Reply(topics=topics)


def _per_grown_topic(body: _Body, error: KafkaError) -> Reply:
    results = [
        Reply(name=each.name, error_code=error.code, error_message=error.message) for each in body.topics
    ]
    return Reply(results=results)


def _per_deleted_topic(body: _Body, error: KafkaError) -> Reply:
    responses = [
        Reply(name=each.name, topic_id=each.topic_id, error_code=error.code, error_message=error.message)
        for each in body.topics
    ]
    return Reply(responses=responses)


def _per_resource(body: _Body, error: KafkaError) -> Reply:
    responses = [
        Reply(
            error_code=error.code,
            error_message=error.message,
            resource_type=each.resource_type,
            resource_name=each.resource_name,
        )
        for each in body.resources
    ]
    return Reply(responses=responses)


def _per_election(body: _Body, error: KafkaError) -> Reply:
    results = [
        Reply(
            topic=topic.topic,
            partition_result=[
                Reply(partition_id=number, error_code=error.code, error_message=error.message)
                for number in topic.partitions
            ],
        )
        for topic in body.topic_partitions or ()
    ]
    return Reply(error_code=error.code, replica_election_results=results)


def _per_reassignment(body: _Body, error: KafkaError) -> Reply:
    responses = [
        Reply(
            name=topic.name,
            partitions=[
                Reply(
                    partition_index=each.partition_index, error_code=error.code, error_message=error.message
                )
                for each in topic.partitions
            ],
        )
        for topic in body.topics
    ]
    return Reply(error_code=error.code, error_message=error.message, responses=responses)


def _no_reassignments(body: _Body, error: KafkaError) -> Reply:
    return Reply(error_code=error.code, error_message=error.message, topics=[])


FORWARDED: dict[int, ForwardedApi] = {
    19: ForwardedApi(_created, _per_topic),
    20: ForwardedApi(_deleted, _per_deleted_topic),
    33: ForwardedApi(_configured, _per_resource, config_division.divide_replacements),
    37: ForwardedApi(_grown, _per_grown_topic),
    43: ForwardedApi(_elected, _per_election),
    44: ForwardedApi(_configured, _per_resource, config_division.divide_alterations),
    45: ForwardedApi(_reassigned, _per_reassignment),
    46: ForwardedApi(_nothing, _no_reassignments),
    64: ForwardedApi(_unregistered, _on_top),
}
"""By API key."""
