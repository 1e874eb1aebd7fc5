"""Whether the topics of a tool are there: asked once, before the first record, so that it need not guess.

A broker with auto creation makes the topic when it is asked; the question is repeated until the topic has
leaders. Without auto creation librdkafka would go on asking for a minute, or for ever.
"""

import time
from collections.abc import Mapping, Sequence

from barnabas.cli.messages.opening import can_be_asked

_PAUSE = 0.05
_PATIENCE_MS = 5000
_PASSING = frozenset({3, 5})
"""Unknown topic, no leader yet: both pass when a topic is being created."""


class MissingTopic(Exception):
    """Told in the words of the Java producer."""


def wait_for_topic(
    properties: Mapping[str, str], topic: str, *, patience_ms: int | None = None
) -> Sequence[int] | None:
    """The topic's partitions, when all have leaders; None where the cluster cannot be asked (TLS, SASL).

    Raises MissingTopic, and BrokerError for a name that is no topic's.
    """
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import check
    from barnabas.client.settings import ClientSettings

    if not can_be_asked(properties):
        return None
    limit_ms = _PATIENCE_MS if patience_ms is None else patience_ms
    deadline = time.monotonic() + limit_ms / 1000
    allowed = properties.get("allow.auto.create.topics", "true").lower() != "false"
    with Cluster(ClientSettings.of(None, properties)) as cluster:
        while True:
            answer = cluster.ask(
                "metadata",
                topics=[{"name": topic, "topic_id": None}],
                allow_auto_topic_creation=allowed,
            )
            found = answer.topics[0]
            codes = {int(found.error_code), *(int(each.error_code) for each in found.partitions)} - {0}
            if not codes:
                return sorted(each.partition_index for each in found.partitions)
            if not codes <= _PASSING:
                check(max(codes - _PASSING))
            if time.monotonic() + _PAUSE > deadline:
                raise MissingTopic(f"Topic {topic} not present in metadata after {limit_ms} ms.")
            time.sleep(_PAUSE)
