"""The file `meta.properties`: which broker of which cluster a log directory belongs to.

Format: a Java properties file with `version=1`, `node.id`, `cluster.id`, `directory.id` (a UUID in Kafka's
form). Version 0, of the ZooKeeper years, has `broker.id` and perhaps no cluster; both are read, version 1
is written.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import decode_uuid, encode_uuid

META_PROPERTIES = "meta.properties"


class MalformedMetaProperties(OSError):
    """The file does not name the broker and cluster that own the directory."""


@dataclass(frozen=True, slots=True)
class MetaProperties:
    node_id: int | None
    cluster_id: str | None
    directory_id: UUID | None


def read_meta_properties(fs: FileSystem, directory: Path) -> MetaProperties | None:
    """What the directory says of itself; None if it was never used."""
    path = directory / META_PROPERTIES
    try:
        text = fs.read_bytes(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    lines = (line.strip() for line in text.splitlines())
    fields = {
        key.strip(): value.strip()
        for key, _, value in (line.partition("=") for line in lines if line and line[0] not in "#!")
    }
    try:
        version = int(fields.get("version", "0"))
        node = fields.get("node.id") or fields.get("broker.id")
        directory_id = fields.get("directory.id")
        properties = MetaProperties(
            None if node is None else int(node),
            fields.get("cluster.id"),
            None if directory_id is None else decode_uuid(directory_id),
        )
    except ValueError as error:
        raise MalformedMetaProperties(f"{path}: {error}") from None
    if version not in (0, 1):
        raise MalformedMetaProperties(f"{path} has version {version}, which is not known")
    return properties


def write_meta_properties(
    fs: FileSystem, directory: Path, *, node_id: int, cluster_id: str, directory_id: UUID, now_ms: int
) -> None:
    stamp = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(now_ms / 1000))
    lines = (
        "#",
        f"#{stamp}",
        f"node.id={node_id}",
        f"directory.id={encode_uuid(directory_id)}",
        "version=1",
        f"cluster.id={cluster_id}",
    )
    fs.write_atomically(directory / META_PROPERTIES, "".join(f"{line}\n" for line in lines).encode())
