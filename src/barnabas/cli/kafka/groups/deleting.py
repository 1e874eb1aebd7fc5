"""`kafka-consumer-groups --delete` and `--delete-offsets`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.cli.kafka.groups.columns import Column, lines_of
from barnabas.cli.kafka.groups.failure import print_error
from barnabas.cli.kafka.groups.listing import named_groups
from barnabas.cli.kafka.options import Given, UsageError
from barnabas.cli.tool_errors import exception_text

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import BrokerError

_OF_GROUP = ("invalid_group_id", "group_id_not_found", "group_authorization_failed", "non_empty_group")
_OF_PARTITIONS = ("group_subscribed_to_topic", "topic_authorization_failed", "unknown_topic_or_partition")
_NO_PARTITION = -1
"""Stands for a topic that does not exist."""


def delete_groups(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin import groups

    results = groups.delete_groups(cluster, named_groups(cluster, given))
    failed = {group: error for group, error in results.items() if error is not None}
    deleted = _quoted(group for group in results if group not in failed)
    if not failed:
        print(f"Deletion of requested consumer groups ({deleted}) was successful.")
        return
    print_error("Deletion of some consumer groups failed:")
    for group, error in failed.items():
        print(f"* Group '{group}' could not be deleted due to: {exception_text(error)}")
    if deleted:
        print(f"\nThese consumer groups were deleted successfully: {deleted}")


def _quoted(groups: Iterable[str]) -> str:
    return ", ".join(f"'{group}'" for group in groups)


def delete_offsets(cluster: "Cluster", given: Given) -> None:
    if len(given.group) > 1:
        raise UsageError("Found multiple arguments for option group, but you asked for only one")
    (group,) = given.group
    error, results = _deleted(cluster, group, given.topic)
    if error is None:
        print(f"Request succeeded for deleting offsets from group {group}.")
    elif error.name in _OF_GROUP:
        print_error(error.message)
    elif error.name in _OF_PARTITIONS:
        print_error("Encountered some partition-level error, see the follow-up details.")
    else:
        print_error(f"Encountered some unknown error: {error.name.upper()}")
    topic_partitions = sorted(
        results, key=lambda topic_partition: f"{topic_partition[0]}{topic_partition[1]}"
    )
    errors = [results[topic_partition] for topic_partition in topic_partitions]
    statuses = [f"Error: {exception_text(each)}" if each else "Successful" for each in errors]
    columns = [
        Column("TOPIC", [topic for topic, _ in topic_partitions], 15, grows=True),
        Column(
            "PARTITION", [None if number == _NO_PARTITION else number for _, number in topic_partitions], 10
        ),
        Column("STATUS", statuses, 15),
    ]
    print("", *lines_of(columns), sep="\n")


def _deleted(
    cluster: "Cluster", group: str, scopes: Iterable[str]
) -> "tuple[BrokerError | None, dict[tuple[str, int], BrokerError | None]]":
    """The error of the group, or the first of a partition, and the result of each partition."""
    from barnabas.client.admin import group_offsets
    from barnabas.client.admin.partition_scope import BadScope, parse_scope, partitions_of
    from barnabas.client.errors import BrokerError

    topic_partitions: list[tuple[str, int]] = []
    results: dict[tuple[str, int], BrokerError | None] = {}
    for scope in scopes:
        try:
            topic, numbers = parse_scope(scope)
        except BadScope as error:
            raise UsageError(str(error)) from error
        try:
            found = (
                partitions_of(cluster, [topic]) if numbers is None else [(topic, each) for each in numbers]
            )
        except BrokerError as error:
            results[topic, _NO_PARTITION] = error
            continue
        topic_partitions += found
    try:
        results |= (answers := group_offsets.delete_offsets(cluster, group, topic_partitions))
    except BrokerError as error:
        return error, results | dict.fromkeys(topic_partitions, error)
    return next((each for each in answers.values() if each is not None), None), results
