"""Names of files and directories in a log directory, as Kafka gives them.

A segment's files carry its base offset in 20 digits; a partition's directory is `<topic>-<partition>`, with
`.<32 hex digits>-delete` behind it while it is being deleted, `-future` while it is copied to another log
directory, `-stray` if it is not to be used.
"""

import re
from dataclasses import dataclass
from random import Random

from barnabas.base.ids import TopicPartition, any_uuid

LOG = ".log"
INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
INDEX_SUFFIXES = (INDEX, TIME_INDEX, TXN_INDEX)
SEGMENT_SUFFIXES = (LOG, INDEX, TIME_INDEX, TXN_INDEX)

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

_MAX_NAME = 255
_MARKED = re.compile(r"(?P<name>\S+)\.[^.\s]+-(?P<mark>delete|future|stray)")


def file_name(base_offset: int, suffix: str) -> str:
    return f"{base_offset:020d}{suffix}"


def offset_of(name: str) -> int | None:
    """The offset that a file's name starts with, or None for other files."""
    digits = name.partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else None


@dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """A directory's name, parsed: its topic partition, and the mark `delete`, `future` or `stray` if any."""

    name: str
    topic_partition: TopicPartition
    mark: str = ""


def parse_directory(name: str) -> PartitionDirectory | None:
    """Returns the partition of a directory. Returns None if the name is not that of a partition."""
    plain, mark = name, ""
    if name.endswith(("-delete", "-future", "-stray")):
        match = _MARKED.fullmatch(name)
        if match is None:
            return None
        plain, mark = match["name"], match["mark"]
    topic, dash, number = plain.rpartition("-")
    if not dash or not topic or not (number.isascii() and number.isdigit()):
        return None
    return PartitionDirectory(name, TopicPartition(topic, int(number)), mark)


def deleted_directory(topic_partition: TopicPartition, rng: Random) -> str:
    """A fresh name for a partition that is being deleted, cut to what a file system takes."""
    return _marked_directory(topic_partition, "delete", rng)


def stray_directory(topic_partition: TopicPartition, rng: Random) -> str:
    """A fresh name for a directory that no partition of this broker may use."""
    return _marked_directory(topic_partition, "stray", rng)


def future_directory(topic_partition: TopicPartition, rng: Random) -> str:
    """A fresh name for a log that is copied into another log directory."""
    return _marked_directory(topic_partition, "future", rng)


def _marked_directory(topic_partition: TopicPartition, mark: str, rng: Random) -> str:
    tail = f"-{topic_partition.partition}.{any_uuid(rng).hex}-{mark}"
    return topic_partition.topic[: _MAX_NAME - len(tail)] + tail
