"""`kafka-topics`: list, create, describe, alter and delete topics.

Flags of Kafka 4.3, and `--zookeeper` of 2.x. Errors are printed on stdout after Kafka's own text.
"""

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.options import Given
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.kafka.topic_options import ACTIONS, REPORTS, check, topic_options
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from uuid import UUID

    from barnabas.client.cluster import Cluster

_COLLISION = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
    "collide. To avoid issues it is best to use either, but not both."
)
_MOST_REPLICAS = 32767


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(
        topic_options(),
        _work,
        arguments,
        prefix="Error while executing topic command : ",
        errors_on_stdout=True,
    )


def _work(given: Given) -> int:
    check(given)
    if given.has("zookeeper"):
        from barnabas.cli.kafka.zookeeper_bootstrap import bootstrap_of

        try:
            bootstrap = bootstrap_of(given.zookeeper)
        except ToolError as error:
            print(error, file=sys.stderr)
            return 1
    else:
        bootstrap = given.bootstrap_server
    action = next(name for name in ACTIONS if given.has(name))
    with open_cluster(bootstrap, given.command_config) as cluster:
        _WORK[action](cluster, given)
    return 0


# --- actions -----------------------------------------------------------------------------------------


def _list(cluster: "Cluster", given: Given) -> None:
    print("\n".join(_chosen(cluster, given)))


def _create(cluster: "Cluster", given: Given) -> None:
    from kio.schema.errors import ErrorCode

    from barnabas.client.admin.topics import DEFAULT, create_topic
    from barnabas.client.errors import BrokerError

    assignment = _assignment(given)
    configs = _configs(given)
    if "." in given.topic or "_" in given.topic:
        print(_COLLISION)
    if given.replication_factor is not None and not 1 <= given.replication_factor <= _MOST_REPLICAS:
        raise ToolError(f"The replication factor must be between 1 and {_MOST_REPLICAS} inclusive")
    if given.partitions is not None and given.partitions < 1:
        raise ToolError("The partitions must be greater than 0")
    try:
        create_topic(
            cluster,
            given.topic,
            partitions=DEFAULT if given.partitions is None else given.partitions,
            replicas=DEFAULT if given.replication_factor is None else given.replication_factor,
            assignment=assignment,
            configs=configs,
        )
    except BrokerError as error:
        if error.code != ErrorCode.topic_already_exists or not given.if_not_exists:
            raise
        return
    print(f"Created topic {given.topic}.")


def _alter(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.topics import Growth, add_partitions, layouts

    assignment = _assignment(given)
    names = _existing(cluster, given)
    if not names:
        return
    growths = dict.fromkeys(names, Growth(given.partitions))
    if assignment:
        growths = {
            topic.name: Growth(given.partitions, assignment[len(topic.partitions) :])
            for topic in layouts(cluster, names)
        }
    add_partitions(cluster, growths)


def _describe(cluster: "Cluster", given: Given) -> None:
    from barnabas.cli.kafka.topic_description import topic_lines
    from barnabas.client.admin import topics

    topic_id = _uuid(given.topic_id) if given.topic_id else None
    if topic_id is not None and topic_id.int != 0:
        described = topics.describe_topics_by_id(cluster, _existing_ids(cluster, given, topic_id))
    else:
        limit = given.partition_size_limit_per_response
        described = topics.describe_topics(
            cluster,
            _existing(cluster, given),
            partitions_per_answer=topics.PARTITIONS_PER_ANSWER if limit is None else limit,
        )
    reports = [name for name in REPORTS if given.has(name)]
    for topic in described:
        for line in topic_lines(topic, reports, overrides_only=given.topics_with_overrides):
            print(line)


def _delete(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.topics import delete_topics

    for error in delete_topics(cluster, _existing(cluster, given)).values():
        raise error


_WORK = {"create": _create, "list": _list, "alter": _alter, "describe": _describe, "delete": _delete}


# --- what the options mean ---------------------------------------------------------------------------


def _chosen(cluster: "Cluster", given: Given) -> list[str]:
    """The topic names that --topic and --exclude-internal select, sorted."""
    from barnabas.cli.kafka.include_list import IncludeList
    from barnabas.client.admin.topics import list_topics

    included = IncludeList(given.topic) if given.has("topic") else None
    return [
        topic.name
        for topic in list_topics(cluster)
        if not (topic.is_internal and given.exclude_internal)
        if included is None or included.allows(topic.name)
    ]


def _existing(cluster: "Cluster", given: Given) -> list[str]:
    names = _chosen(cluster, given)
    if not names and given.topic and not given.if_exists:
        raise ToolError(f"Topic '{given.topic}' does not exist as expected")
    return names


def _existing_ids(cluster: "Cluster", given: Given, topic_id: "UUID") -> "list[UUID]":
    from barnabas.client.admin.topics import list_topics

    listed = {
        topic.id for topic in list_topics(cluster) if not (topic.is_internal and given.exclude_internal)
    }
    if topic_id in listed:
        return [topic_id]
    if not given.if_exists:
        raise ToolError(f"TopicId '{given.topic_id}' does not exist as expected")
    return []


def _uuid(text: str) -> "UUID":
    from barnabas.base.ids import decode_uuid

    try:
        return decode_uuid(text)
    except ValueError:
        raise ToolError(f"'{text}' is not a topic id: expected 22 characters of base 64") from None


def _configs(given: Given) -> dict[str, str]:
    configs = {}
    for text in given.config:
        parts = re.split(r"\s*=\s*", text)
        if len(parts) != 2 or not parts[1]:
            raise ToolError(
                "requirement failed: Invalid topic config: all configs to be added must be in the format "
                '"key=val".'
            )
        configs[parts[0].strip()] = parts[1].strip()
    return configs


def _assignment(given: Given) -> list[list[int]]:
    if not given.replica_assignment:
        return []
    assignment: list[list[int]] = []
    for index, text in enumerate(given.replica_assignment.split(",")):
        brokers = [_broker(word.strip()) for word in text.split(":")]
        repeated = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if repeated:
            listed = ",".join(map(str, repeated))
            raise ToolError(f"Partition replica lists may not contain duplicate entries: {listed}")
        assignment.append(brokers)
        if len(brokers) != len(assignment[0]):
            raise ToolError(f"Partition {index} has different replication factor: {brokers}")
    return assignment


def _broker(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ToolError(f'For input string: "{word}"') from None
