"""Checks that the topics of a tool exist, once, before the first record.

A broker with auto creation creates the topic on a Metadata request. The request is repeated until the topic
has leaders. Without auto creation librdkafka would repeat it for a minute, or without end.
"""

import time
from collections.abc import Mapping, Sequence

from barnabas.cli.messages.librdkafka_clients import is_plaintext

_PAUSE = 0.05
_PATIENCE_MS = 5000
_RETRIABLE = frozenset({3, 5})
"""Unknown topic, no leader yet: both are retriable while a topic is being created."""


class MissingTopic(Exception):
    """The message is that of the Java producer."""


def wait_for_topic(
    properties: Mapping[str, str], topic: str, *, patience_ms: int | None = None
) -> Sequence[int] | None:
    """The partitions of the topic, as soon as all have leaders. Returns None with TLS or SASL.

    Raises MissingTopic, and BrokerError if the topic name is invalid.
    """
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import check
    from barnabas.client.settings import ClientSettings

    if not is_plaintext(properties):
        return None
    limit_ms = _PATIENCE_MS if patience_ms is None else patience_ms
    deadline = time.monotonic() + limit_ms / 1000
    allowed = properties.get("allow.auto.create.topics", "true").lower() != "false"
    with Cluster(ClientSettings.of(None, properties)) as cluster:
        while True:
            answer = cluster.request(
                "metadata",
                topics=[{"name": topic, "topic_id": None}],
                allow_auto_topic_creation=allowed,
            )
            found = answer.topics[0]
            codes = {int(found.error_code), *(int(each.error_code) for each in found.partitions)} - {0}
            if not codes:
                return sorted(each.partition_index for each in found.partitions)
            if not codes <= _RETRIABLE:
                check(max(codes - _RETRIABLE))
            if time.monotonic() + _PAUSE > deadline:
                raise MissingTopic(f"Topic {topic} not present in metadata after {limit_ms} ms.")
            time.sleep(_PAUSE)
