"""The clusters this process is connected to: one each, kept from task to task.

Spark's Python workers are forked from a daemon and used for many tasks. A connection that came through a fork
would be shared with the parent, and responses would be mixed up: what another process opened is never used.
A cluster reconnects when brokers restart. `drop` closes its connections.
"""

import os

from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings

_clusters: dict[tuple[int, ClientSettings], Cluster] = {}


def cluster_for(settings: ClientSettings) -> Cluster:
    """The same for equal settings, within a process. Opens no connection before the first request."""
    key = os.getpid(), settings
    if key not in _clusters:
        _close_inherited()
        _clusters[key] = Cluster(settings)
    return _clusters[key]


def drop(settings: ClientSettings) -> None:
    """Close what is open, and open it anew next time."""
    cluster = _clusters.pop((os.getpid(), settings), None)
    if cluster is not None:
        cluster.close()


def _close_inherited() -> None:
    """Closing this process's descriptors leaves the parent's connections as they are."""
    mine = os.getpid()
    for key in [key for key in _clusters if key[0] != mine]:
        _clusters.pop(key).close()
