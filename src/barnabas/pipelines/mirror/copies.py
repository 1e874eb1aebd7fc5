"""Which topics of a cluster are copies, and of what: mirrors in a ring must not copy each other's copies.

Every mirror notes, at its target, each topic that it copies to, before it writes the first record there: the
topic of copies has one partition, is compacted, and has a record per copied topic: the clusters that its
records came through, the first one first. A mirror leaves a topic out if the records of it came through the
mirror's own target. (MirrorMaker 2 derives the same from names, `source.topic`; here names may stay as they
are.)

Two mirrors that begin in both directions at the same moment would each note the other's source as its copy.
So a mirror looks again after it has noted: if the other one has done so meanwhile, both take it back, and try
again.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

from barnabas.client.admin.offsets import READ_COMMITTED, end_offsets, start_offsets
from barnabas.client.admin.topics import create_topic, list_topics
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.pipelines.mirror.partition_tail import read_committed

_PATIENCE = 30.0


class Undecided(Exception):
    """Two mirrors want to copy a topic to each other, and neither has begun."""


@dataclass(frozen=True, slots=True)
class Copy:
    topic: str
    """At the cluster that it was copied from."""
    clusters: tuple[str, ...]
    """Ids of the clusters that its records came through, the first one first."""


class CopiesTopic:
    """The copies that lie at one cluster, as its topic of copies says."""

    def __init__(self, bootstrap_server: str, topic: str) -> None:
        self._bootstrap_server: str = bootstrap_server
        self._topic: str = topic
        self._position: int = 0
        self._copies: dict[str, Copy] = {}

    def ensure(self, cluster: Cluster) -> None:
        try:
            if not self._exists(cluster):
                create_topic(cluster, self._topic, partitions=1, configs={"cleanup.policy": "compact"})
        except BrokerError as error:
            if error.name != "topic_already_exists":
                raise

    def read(self, cluster: Cluster) -> Mapping[str, Copy]:
        """By the name of the copy. Raises ClientError, or ConnectionError."""
        topic_partition = (self._topic, 0)
        if not self._exists(cluster):
            return {}
        end = end_offsets(cluster, [topic_partition], isolation=READ_COMMITTED)[topic_partition]
        start = max(self._position, start_offsets(cluster, [topic_partition])[topic_partition])
        if start < end:
            for key, value in read_committed(self._bootstrap_server, self._topic, start, end):
                self._take(key, value)
            self._position = end
        return self._copies

    def note(self, copies: Mapping[str, Copy]) -> None:
        """Written when this returns. Raises ConnectionError."""
        texts = {
            name: json.dumps({"topic": copy.topic, "clusters": copy.clusters})
            for name, copy in copies.items()
        }
        self._write(texts)

    def take_back(self, names: Iterable[str]) -> None:
        self._write(dict.fromkeys(names))

    def _exists(self, cluster: Cluster) -> bool:
        return self._topic in {topic.name for topic in list_topics(cluster)}

    def _take(self, key: bytes | None, value: bytes | None) -> None:
        name = (key or b"").decode()
        if value is None:
            self._copies.pop(name, None)
            return
        noted = json.loads(value)
        self._copies[name] = Copy(noted["topic"], tuple(noted["clusters"]))

    def _write(self, texts: Mapping[str, str | None]) -> None:
        failures: list[str] = []

        def answered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(str(error))

        producer = Producer({"bootstrap.servers": self._bootstrap_server, "enable.idempotence": True})
        for name, text in texts.items():
            value = None if text is None else text.encode()
            producer.produce(self._topic, value, name.encode(), on_delivery=answered)
        left = producer.flush(_PATIENCE)
        if left or failures:
            raise ConnectionError(
                f"{self._topic}: {failures[0] if failures else 'records are not acknowledged'}"
            )


class CopyRules:
    """Decides for one mirror which topics it may copy."""

    def __init__(self, at_source: CopiesTopic, at_target: CopiesTopic, prefix: str) -> None:
        self._at_source: CopiesTopic = at_source
        self._at_target: CopiesTopic = at_target
        self._prefix: str = prefix

    def admitted(self, source: Cluster, target: Cluster, names: Iterable[str]) -> set[str]:
        """The topics of the source that do not come from the target; they are noted as copied there.

        Raises Undecided, ClientError and ConnectionError.
        """
        wanted = set(names) - self._from_target(source, target, names)
        known = self._at_target.read(target)
        through = self._at_source.read(source)
        fresh = {}
        for name in wanted:
            before = through[name].clusters if name in through else ()
            copy = Copy(name, (*before, _id_of(source)))
            if known.get(f"{self._prefix}{name}") != copy:
                fresh[f"{self._prefix}{name}"] = copy
        if fresh:
            self._at_target.note(fresh)
            if crossed := self._from_target(source, target, wanted):
                self._at_target.take_back(f"{self._prefix}{name}" for name in crossed)
                raise Undecided(
                    f"{', '.join(sorted(crossed))}: a mirror in the other direction began at the same time; "
                    "the next attempt decides which of the two goes on"
                )
        return wanted

    def _from_target(self, source: Cluster, target: Cluster, names: Iterable[str]) -> set[str]:
        copies = self._at_source.read(source)
        return {name for name in names if name in copies and _id_of(target) in copies[name].clusters}


def _id_of(cluster: Cluster) -> str:
    found = cluster.cluster_id
    if found is None:
        cluster.metadata([])
        found = cluster.cluster_id
    return found or ""
