"""Plans of reassignments: their JSON, as Kafka's tools write and read it, and how a plan is made.

    {"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1,2],"log_dirs":["any","/disk2"]}]}

`log_dirs` may be left out; `any` leaves the directory to the broker. A plan is made with the placement that
the controller uses for new topics. Lists of topics (to make a plan for) and of partitions (to elect leaders
of) are read here too. What is wrong with a file is told in Kafka's words.
"""

import json
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from barnabas.base.errors import InvalidReplicationFactor
from barnabas.client.admin.leaders import TopicPartition
from barnabas.client.admin.reassignments import partition_name
from barnabas.client.admin.replica_log_dirs import Replica
from barnabas.client.cluster import Node
from barnabas.client.errors import ClientError
from barnabas.controller.placement import StripedPlacer

ANY_LOG_DIR = "any"
_VERSION = 1
_ARRAY_VALUE = "`JSON array` value"
T = TypeVar("T", bound=Hashable)
Json = object
"""What `json.loads` gives; every use is checked."""


class BadPlan(ClientError):
    """A file, or the brokers to use, cannot be a plan."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Partitions in the order of the file, perhaps twice: `checked` tells."""

    partitions: tuple[tuple[TopicPartition, tuple[int, ...]], ...]
    log_dirs: Mapping[Replica, str]
    """Only of replicas that a directory was named for."""

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
        twice = duplicates(place for place, _ in self.partitions)
        if twice:
            names = ",".join(map(partition_name, twice))
            raise BadPlan(f"Partition reassignment contains duplicate topic partitions: {names}")
        repeated = [(place, duplicates(replicas)) for place, replicas in self.partitions]
        problems = [
            f"{partition_name(place)} contains multiple entries for {','.join(map(str, brokers))}"
            for place, brokers in repeated
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
    return parse_plan(_text(path))


def read_topics(path: str | Path) -> list[str]:
    return parse_topics(_text(path))


def read_partitions(path: str | Path, subject: str = "Replica") -> list[TopicPartition]:
    """A list of partitions for an election: `{"partitions": [{"topic": "a", "partition": 1}]}`."""
    document = _object(_parsed(_text(path), f"{subject} election data is empty"))
    if "partitions" not in document:
        raise BadPlan(f'{subject} election data is missing "partitions" field')
    found = []
    for raw in _array(document["partitions"]):
        entry = _object(raw)
        found.append((_string(entry, "topic"), _integer(_field(entry, "partition"))))
    twice = duplicates(found)
    if twice:
        names = ", ".join(map(partition_name, twice))
        raise BadPlan(f"{subject} election data contains duplicate partitions: [{names}]")
    return found


def parse_plan(text: str) -> Plan:
    """Raises BadPlan."""
    document = _versioned(text)
    partitions = []
    log_dirs = {}
    for raw in _array(document.get("partitions", [])):
        entry = _object(raw)
        topic, index = _string(entry, "topic"), _integer(_field(entry, "partition"))
        replicas = tuple(_integer(each) for each in _array(_field(entry, "replicas"), _ARRAY_VALUE))
        dirs = [ANY_LOG_DIR] * len(replicas)
        if "log_dirs" in entry:
            dirs = [_text_of(each) for each in _array(entry["log_dirs"], _ARRAY_VALUE)]
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
    document = _versioned(text, "The input string is not a valid JSON")
    return [_string(_object(each), "topic") for each in _array(document.get("topics", []))]


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
    document = {"version": _VERSION, "partitions": entries}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


# --- making one --------------------------------------------------------------------------------------


def generate(
    current: Mapping[TopicPartition, Sequence[int]],
    brokers: Mapping[int, str | None],
    rng: random.Random | None = None,
) -> dict[TopicPartition, tuple[int, ...]]:
    """Replicas for every partition, as many as its topic has, on these brokers (with their racks)."""
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
    """Those of the wanted brokers that are there, with their racks. Raises BadPlan if only some have one."""
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


# --- JSON, checked -----------------------------------------------------------------------------------


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadPlan(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadPlan(f"{path}: not a text file") from error


def _parsed(text: str, complaint: str | None = None) -> Json:
    try:
        parsed: Json = json.loads(text)
    except ValueError as error:
        raise BadPlan(complaint or f"The input is not valid JSON: {error}") from error
    return parsed


def _versioned(text: str, complaint: str | None = None) -> dict[str, Json]:
    document = _object(_parsed(text, complaint))
    version = _integer(document.get("version", _VERSION))
    if version != _VERSION:
        raise BadPlan(f"Not supported version field value {version}")
    return document


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise BadPlan(f"Expected JSON object, received {_shown(value)}")
    return value


def _array(value: Json, expected: str = "JSON array") -> list[Json]:
    if not isinstance(value, list):
        raise BadPlan(f"Expected {expected}, received {_shown(value)}")
    return value


def _field(entry: Mapping[str, Json], name: str) -> Json:
    if name not in entry:
        raise BadPlan(f"No such field exists: `{name}`")
    return entry[name]


def _integer(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _unexpected("Integer", value)
    return value


def _string(entry: Mapping[str, Json], name: str) -> str:
    return _text_of(_field(entry, name))


def _text_of(value: Json) -> str:
    if not isinstance(value, str):
        raise _unexpected("String", value)
    return value


def _unexpected(expected: str, value: Json) -> BadPlan:
    return BadPlan(f"Expected `{expected}` value, received {_shown(value)}")


def _shown(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _listed(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"
