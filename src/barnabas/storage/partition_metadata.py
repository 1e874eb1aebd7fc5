"""The file `partition.metadata`: which topic, by id, a partition's directory belongs to.

Format: `version: 0`, a newline, `topic_id: <22 characters>`, no newline at the end.
"""

from pathlib import Path
from uuid import UUID

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import ZERO_UUID, decode_uuid, encode_uuid
from barnabas.storage import names


class MalformedPartitionMetadata(OSError):
    """The file does not say which topic its directory belongs to."""


def encode_partition_metadata(topic_id: UUID) -> bytes:
    return f"version: 0\ntopic_id: {encode_uuid(topic_id)}".encode()


def read_topic_id(fs: FileSystem, directory: Path) -> UUID | None:
    """The topic's id; None if the file is not there, as in logs from before Kafka 2.8."""
    path = directory / names.PARTITION_METADATA
    try:
        text = fs.read_bytes(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    try:
        version, topic_id = int(fields["version"]), decode_uuid(fields["topic_id"].strip())
    except (KeyError, ValueError) as error:
        raise MalformedPartitionMetadata(f"{path}: {error}") from None
    if version < 0 or topic_id == ZERO_UUID:
        raise MalformedPartitionMetadata(f"{path} has version {version} and topic id {topic_id}")
    return topic_id


def write_topic_id(fs: FileSystem, directory: Path, topic_id: UUID) -> None:
    """Write the file anew. The log's first flush syncs it, before any record counts as durable."""
    fs.write_bytes(directory / names.PARTITION_METADATA, encode_partition_metadata(topic_id))
