"""Whether a log may end in offsets without a record: the difference between a hole and a slow broker.

A Fetch below the high watermark without an error and without a record has two causes, and looks the same:

- Compaction removed the last records of the log (a tombstone past `delete.retention.ms`, a transaction
  marker) and left its end. Apache Kafka then answers with empty records for ever (`LocalLog.read`).
- The records are there and the broker could not read them in time: a read from tiered storage that took
  longer than `fetch.max.wait.ms`.

Only a topic with `cleanup.policy=compact` has the first, and only among the offsets that the broker has on
its own disk (`earliest-local`). Everything else is the second: the reader waits, and then fails.
"""

from typing import NamedTuple

from barnabas.client.admin.configs import TOPIC, Resource, describe_configs
from barnabas.client.admin.offsets import EARLIEST_LOCAL, list_offsets
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, ClientError, Unsupported

_POLICY = "cleanup.policy"
_UNSUPPORTED_VERSION = 35


class Tail(NamedTuple):
    may_be_empty: bool
    reason: str
    """For the message of a reader that gives up."""
    is_known: bool = True
    """False if a request to the cluster failed. It may be retried then."""


def inspect_tail(cluster: Cluster, topic: str, partition: int, offset: int) -> Tail:
    """Of the offsets from `offset` on, for which a broker sends no records. Raises nothing."""
    try:
        policy = _cleanup_policy(cluster, topic)
        local_start = _local_start(cluster, topic, partition)
    except ClientError as error:
        return Tail(False, f"whether the topic is compacted is unknown: {error}", is_known=False)
    if "compact" not in policy.split(","):
        return Tail(False, f"the topic is not compacted ({_POLICY}={policy})")
    if offset < local_start:
        return Tail(False, f"the broker reads offsets below {local_start} from tiered storage")
    return Tail(True, f"{_POLICY}={policy}")


def _cleanup_policy(cluster: Cluster, topic: str) -> str:
    resource = Resource(TOPIC, topic)
    for entry in describe_configs(cluster, [resource]).get(resource, []):
        if entry.name == _POLICY:
            return (entry.value or "").replace(" ", "")
    raise Unsupported(f"The broker does not describe {_POLICY} of {topic}")


def _local_start(cluster: Cluster, topic: str, partition: int) -> int:
    """0 where the broker is older than tiered storage."""
    topic_partition = topic, partition
    listed = list_offsets(cluster, {topic_partition: EARLIEST_LOCAL})[topic_partition]
    if isinstance(listed, BrokerError):
        if listed.code == _UNSUPPORTED_VERSION:
            return 0
        raise listed
    return listed.offset
