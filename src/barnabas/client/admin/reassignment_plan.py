"""Reassignment plans: their JSON in the format of Kafka's tools, and the generation of a plan.

    {"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1,2],"log_dirs":["any","/disk2"]}]}

`log_dirs` is optional; `any` leaves the directory to the broker. A plan is generated with the replica
placement that the controller uses for new topics. Lists of topics (for a plan) and of partitions (for an
election) are read here too. Error texts are Kafka's.
"""

import json
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from barnabas.base.errors import InvalidReplicationFactor
from barnabas.base.replica_placement import StripedPlacer
from barnabas.client.admin.checked_json import (
    VERSION,
    BadJson,
    array,
    field,
    integer,
    object_of,
    parsed,
    read_text,
    string,
    versioned,
)
from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.reassignments import partition_name
from barnabas.client.admin.replica_log_dirs import Replica
from barnabas.client.cluster import Node

ANY_LOG_DIR = "any"
_ARRAY_VALUE = "`JSON array` value"
T = TypeVar("T", bound=Hashable)


class BadPlan(BadJson):
    """The file or the list of brokers does not make a valid plan."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Partitions in the order of the file. Duplicates are possible until `checked`."""

    partitions: tuple[tuple[TopicPartition, tuple[int, ...]], ...]
    log_dirs: Mapping[Replica, str]
    """Only replicas with a named directory."""

    @property
    def replicas(self) -> dict[TopicPartition, tuple[int, ...]]:
        return dict(self.partitions)

    @property
    def topics(self) -> set[str]:
        return {topic for (topic, _), _ in self.partitions}

    @property
    def brokers(self) -> set[int]:
        return {broker for _, replicas in self.partitions for broker in replicas}

    def checked(self) -> "Plan":
        """The plan itself, if it can be executed. Raises BadPlan."""
        if not self.partitions:
            raise BadPlan("Partition reassignment list cannot be empty")
        if not all(replicas for _, replicas in self.partitions):
            raise BadPlan("Partition replica list cannot be empty")
        twice = duplicates(topic_partition for topic_partition, _ in self.partitions)
        if twice:
            names = ",".join(map(partition_name, twice))
            raise BadPlan(f"Partition reassignment contains duplicate topic partitions: {names}")
        repeated = [(topic_partition, duplicates(replicas)) for topic_partition, replicas in self.partitions]
        problems = [
            f"{partition_name(topic_partition)} contains multiple entries for {','.join(map(str, brokers))}"
            for topic_partition, brokers in repeated
            if brokers
        ]
        if problems:
            listed = ". ".join(problems)
            raise BadPlan(f"Partition replica lists may not contain duplicate entries: {listed}")
        return self


def duplicates(values: Iterable[T]) -> list[T]:
    return [value for value, count in Counter(values).items() if count > 1]


# --- files -------------------------------------------------------------------------------------------


def read_plan(path: str | Path) -> Plan:
    return parse_plan(read_text(path))


def read_topics(path: str | Path) -> list[str]:
    return parse_topics(read_text(path))


def read_partitions(path: str | Path, subject: str = "Replica") -> list[TopicPartition]:
    """A list of partitions for an election: `{"partitions": [{"topic": "a", "partition": 1}]}`."""
    document = object_of(parsed(read_text(path), f"{subject} election data is empty"))
    if "partitions" not in document:
        raise BadPlan(f'{subject} election data is missing "partitions" field')
    found = []
    for raw in array(document["partitions"]):
        entry = object_of(raw)
        found.append((string(field(entry, "topic")), integer(field(entry, "partition"))))
    twice = duplicates(found)
    if twice:
        names = ", ".join(map(partition_name, twice))
        raise BadPlan(f"{subject} election data contains duplicate partitions: [{names}]")
    return found


def parse_plan(text: str) -> Plan:
    """Raises BadPlan."""
    document = versioned(text)
    partitions = []
    log_dirs = {}
    for raw in array(document.get("partitions", [])):
        entry = object_of(raw)
        topic, index = string(field(entry, "topic")), integer(field(entry, "partition"))
        replicas = tuple(integer(each) for each in array(field(entry, "replicas"), _ARRAY_VALUE))
        dirs = [ANY_LOG_DIR] * len(replicas)
        if "log_dirs" in entry:
            dirs = [string(each) for each in array(entry["log_dirs"], _ARRAY_VALUE)]
        if len(replicas) != len(dirs):
            raise BadPlan(
                f"Size of replicas list {_listed(replicas)} is different from size of log dirs list "
                f"{_listed(dirs)} for partition {topic}-{index}"
            )
        partitions.append(((topic, index), replicas))
        for broker, directory in zip(replicas, dirs, strict=True):
            if directory != ANY_LOG_DIR:
                log_dirs[Replica(topic, index, broker)] = directory
    return Plan(tuple(partitions), log_dirs)


def parse_topics(text: str) -> list[str]:
    """The topics of `--topics-to-move-json-file`. Raises BadPlan."""
    document = versioned(text, "The input string is not a valid JSON")
    return [string(field(object_of(each), "topic")) for each in array(document.get("topics", []))]


def format_plan(
    partitions: Mapping[TopicPartition, Sequence[int]], log_dirs: Mapping[Replica, str] | None = None
) -> str:
    """One line, partitions by name."""
    known = log_dirs or {}
    entries = [
        {
            "topic": topic,
            "partition": index,
            "replicas": list(partitions[topic, index]),
            "log_dirs": [
                known.get(Replica(topic, index, broker), ANY_LOG_DIR) for broker in partitions[topic, index]
            ],
        }
        for topic, index in sorted(partitions)
    ]
    document = {"version": VERSION, "partitions": entries}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


# --- generation --------------------------------------------------------------------------------------


def generate(
    current: Mapping[TopicPartition, Sequence[int]],
    brokers: Mapping[int, str | None],
    rng: random.Random | None = None,
) -> dict[TopicPartition, tuple[int, ...]]:
    """Assigns replicas on these brokers (with their racks) to every partition; keeps replication factors."""
    counts = Counter(topic for topic, _ in current)
    chosen = rng or random.Random()
    found = {}
    for topic in sorted(counts):
        try:
            placed = StripedPlacer(brokers, chosen).place(counts[topic], len(current[topic, 0]))
        except InvalidReplicationFactor as error:
            raise BadPlan(error.message) from error
        found.update({(topic, index): replicas for index, replicas in enumerate(placed)})
    return found


def usable_brokers(
    nodes: Mapping[int, Node], wanted: Iterable[int], *, with_racks: bool
) -> dict[int, str | None]:
    """The live brokers of `wanted`, with their racks. Raises BadPlan if only some have a rack."""
    found = {id_: nodes[id_].rack if with_racks else None for id_ in wanted if id_ in nodes}
    if len({rack is None for rack in found.values()}) > 1:
        raise BadPlan(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make "
            "replica assignment without rack information."
        )
    return found


def parse_brokers(text: str) -> list[int]:
    """`0,1,2`. Raises BadPlan."""
    found = []
    for word in text.split(","):
        try:
            found.append(int(word))
        except ValueError:
            raise BadPlan(f'For input string: "{word}"') from None
    twice = duplicates(found)
    if twice:
        raise BadPlan(f"Broker list contains duplicate entries: {_listed(twice)}")
    return found


def _listed(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"
