"""The Java client as a member of a group, in both protocols (java/GroupCommands.java is the other end)."""

import itertools
import time
from collections.abc import Callable, Collection, Sequence
from typing import cast

from tests.integration.clients.drivers import SendFailed
from tests.integration.clients.drivers.group_client import (
    Committed,
    Fenced,
    GroupSettings,
    Happening,
    Listener,
    NoOffset,
    Offsets,
    Partition,
)
from tests.integration.clients.drivers.java import JavaMachine, message_of
from tests.integration.clients.messages import Message

_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
_FENCING = (
    "FencedInstanceId",
    "CommitFailed",
    "UnknownMemberId",
    "IllegalGeneration",
    "UnreleasedInstanceId",
)
_numbers = itertools.count()


class JavaGroupClient:
    """Every answer begins with the rebalances that happened meanwhile."""

    def __init__(
        self, machine: JavaMachine, bootstrap_servers: str, settings: GroupSettings, listener: Listener
    ) -> None:
        self._machine: JavaMachine = machine
        self._listener: Listener = listener
        self._name: str = f"member-{next(_numbers)}"
        self._assignment: frozenset[Partition] = frozenset()
        self._has_begun: bool = False
        self._ask("open", _settings(bootstrap_servers, settings), str(settings.commits_when_revoked).lower())

    def subscribe(self, topics: Sequence[str]) -> None:
        self._has_begun = True
        self._ask("subscribe", *topics)

    def assign(self, partitions: Collection[Partition]) -> None:
        self._has_begun = True
        self._ask("assign", *_words(partitions))

    def poll(self, seconds: float) -> list[Message]:
        if not self._has_begun:  # it would be an error
            time.sleep(seconds)
            return []
        messages = []
        for line in self._ask("poll", str(int(seconds * 1000))):
            kind, _, rest = line.partition("\t")
            if kind == "owns":
                self._assignment = _partitions(rest)
            else:
                messages.append(message_of(rest))
        return messages

    def assignment(self) -> frozenset[Partition]:
        return self._assignment

    def commit(self, offsets: Offsets | None = None) -> None:
        words = [] if offsets is None else offset_words(offsets)
        self._ask("commit", *words)

    def commit_async(self, done: Callable[[BaseException | None], None]) -> None:
        (answer,) = self._ask("commit-async")
        done(None if answer == "done" else SendFailed(answer))

    def committed(self, partitions: Collection[Partition]) -> dict[Partition, Committed | None]:
        found: dict[Partition, Committed | None] = {}
        for line in self._ask("committed", *_words(partitions)):
            partition, offset, metadata = line.split("\t")
            found[_partition(partition)] = None if offset == "-" else Committed(int(offset), metadata)
        return found

    def position(self, partition: Partition) -> int:
        (answer,) = self._ask("position", *_words([partition]))
        return int(answer)

    def seek(self, partition: Partition, offset: int) -> None:
        self._ask("seek", *_words([partition]), str(offset))

    def seek_to_beginning(self, partition: Partition) -> None:
        self._ask("seek-to-beginning", *_words([partition]))

    def seek_to_end(self, partition: Partition) -> None:
        self._ask("seek-to-end", *_words([partition]))

    def offset_for_time(self, partition: Partition, timestamp: int) -> int | None:
        (answer,) = self._ask("offset-for-time", *_words([partition]), str(timestamp))
        return None if answer == "-" else int(answer)

    def pause(self, partitions: Collection[Partition]) -> None:
        self._ask("pause", *_words(partitions))

    def resume(self, partitions: Collection[Partition]) -> None:
        self._ask("resume", *_words(partitions))

    def membership(self) -> object:
        (answer,) = self._ask("membership")
        return tuple(answer.split("\t"))

    def close(self) -> None:
        self._ask("close")

    def _ask(self, command: str, *words: str) -> list[str]:
        try:
            lines = self._machine.ask_named("member", self._name, command, *words)
        except SendFailed as error:
            text = str(error)
            if "NoOffsetForPartition" in text:
                raise NoOffset(text) from error
            if any(name in text for name in _FENCING):
                raise Fenced(text) from error
            raise
        rest = []
        for line in lines:
            kind, _, partitions = line.partition("\t")
            if kind in ("assigned", "revoked", "lost"):
                self._listener(cast(Happening, kind), _partitions(partitions))
            else:
                rest.append(line)
        return rest


def _settings(bootstrap_servers: str, settings: GroupSettings) -> str:
    chosen: dict[str, object] = {
        "bootstrap.servers": bootstrap_servers,
        "client.id": settings.client_id,
        "group.id": settings.group,
        "auto.offset.reset": settings.reset,
        "enable.auto.commit": str(settings.auto_commit_ms is not None).lower(),
        "auto.commit.interval.ms": settings.auto_commit_ms or 5000,
        "max.poll.interval.ms": settings.max_poll_ms,
        "metadata.max.age.ms": settings.metadata_ms,
        "fetch.max.wait.ms": 50,
        "retry.backoff.ms": 50,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 100,
    }
    if settings.is_new:
        chosen["group.protocol"] = "consumer"
        if settings.assignor:
            chosen["group.remote.assignor"] = settings.assignor
    else:
        chosen["session.timeout.ms"] = settings.session_ms
        chosen["heartbeat.interval.ms"] = min(100, settings.session_ms // 3)
        if settings.assignor:
            name = _ASSIGNORS[settings.assignor]
            chosen["partition.assignment.strategy"] = f"org.apache.kafka.clients.consumer.{name}"
    if settings.instance is not None:
        chosen["group.instance.id"] = settings.instance
    return ";".join(f"{key}={value}" for key, value in chosen.items())


def _words(partitions: Collection[Partition]) -> list[str]:
    return [f"{each.topic}:{each.partition}" for each in partitions]


def offset_words(offsets: Offsets) -> list[str]:
    return [
        f"{each.topic}:{each.partition}={committed.offset}={committed.metadata}"
        for each, committed in offsets.items()
    ]


def _partition(word: str) -> Partition:
    topic, _, number = word.rpartition(":")
    return Partition(topic, int(number))


def _partitions(words: str) -> frozenset[Partition]:
    return frozenset(_partition(word) for word in words.split(" ") if word)
