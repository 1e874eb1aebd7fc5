"""Clusters that the tests of one run share: a test borrows one, and the pool heals and empties it afterwards.

A cluster costs processes and memory, so only the last few stay. One that cannot be healed is closed.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from barnabas.testing.cluster import Cluster

KEPT: Final = 2


class ClusterPool:
    def __init__(self, make: Callable[..., Cluster] = Cluster) -> None:
        self._make: Callable[..., Cluster] = make
        self._clusters: dict[str, Cluster] = {}
        """By their arguments, the longest unused first."""

    @contextmanager
    def lend(self, **arguments: object) -> Iterator[Cluster]:
        """A cluster with these arguments of `Cluster`: running and empty."""
        key = json.dumps(arguments, sort_keys=True, default=str)
        cluster = self._clusters.pop(key, None)
        if cluster is None:
            while len(self._clusters) >= KEPT:
                self._clusters.pop(next(iter(self._clusters))).close()
            cluster = self._make(**arguments).__enter__()
        try:
            yield cluster
            cluster.heal()
            cluster.delete_topics(cluster.topics())
        except BaseException:
            cluster.close()
            raise
        self._clusters[key] = cluster

    def close(self) -> None:
        while self._clusters:
            self._clusters.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
