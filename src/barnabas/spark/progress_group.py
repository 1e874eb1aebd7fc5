"""The progress of a stream as committed offsets of a consumer group.

Nothing is ever read back from the group: Spark's checkpoint decides where a query goes on, the group only
shows it (`kafka-consumer-groups --describe`, and every lag tool). So nothing that fails here fails a query.

The group is `kafka.group.id`, or the prefix and the id of the query, which is the same over all restarts of
a checkpoint. Spark gives that id to tasks, and not to the driver, which knows when a batch is done. So the
first task to end commits it as the metadata of an offset in a group of a random name, the meeting group. The
driver reads it there and deletes that group.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from uuid import uuid4

from barnabas.client.admin.group_offsets import commit_offsets, committed_offsets
from barnabas.client.admin.groups import delete_groups
from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.settings import ClientSettings
from barnabas.spark.planning import Offsets, TopicPartition
from barnabas.spark.wire.connections import cluster_for

_PATIENCE = 5.0
"""The longest that a query is held up by its group, in seconds."""
_PAUSE = 30.0
"""How long a group that gave trouble is left alone."""
_log = logging.getLogger("barnabas.spark")


class ProgressGroup:
    """Lives on the driver, in the process of one query."""

    def __init__(self, settings: ClientSettings, prefix: str, group: str | None) -> None:
        self._settings: ClientSettings = replace(settings, api_timeout=_PATIENCE)
        self._prefix: str = prefix
        self._group: str | None = group
        self._meeting: str | None = None
        self._committed: Offsets = {}
        self._quiet_until: float = 0.0

    @property
    def meeting_group(self) -> str | None:
        """What a task receives as long as the query's id is unknown."""
        if self._group is not None:
            return None
        if self._meeting is None:
            self._meeting = f"{self._prefix}-meeting-{uuid4()}"
        return self._meeting

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Everything before these is done. Never raises for what a broker says."""
        if offsets == self._committed or time.monotonic() < self._quiet_until:
            return
        try:
            if self._group is None:
                self._group = self._met()
            if self._group is not None:
                commit_offsets(self._cluster, self._group, offsets)
                self._committed = dict(offsets)
        except ClientError as error:
            self._quiet_until = time.monotonic() + _PAUSE
            _log.warning("Progress is not shown in group %s: %s", self._group or self._meeting, error)

    @property
    def _cluster(self) -> Cluster:
        return cluster_for(self._settings)

    def _met(self) -> str | None:
        if self._meeting is None:
            return None
        for found in committed_offsets(self._cluster, self._meeting).values():
            delete_groups(self._cluster, [self._meeting])
            return f"{self._prefix}-{found.metadata}"
        return None


def announce(
    settings: ClientSettings, meeting_group: str, topic_partition: TopicPartition, query: str
) -> None:
    """Leave the query's id for the driver."""
    try:
        cluster = cluster_for(replace(settings, api_timeout=_PATIENCE))
        commit_offsets(cluster, meeting_group, {topic_partition: 0}, metadata=query)
    except ClientError as error:
        _log.warning("The driver does not receive the query's id: %s", error)
