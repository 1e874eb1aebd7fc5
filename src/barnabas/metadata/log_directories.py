"""The log directories of a broker at its last start, by directory id.

Node `/barnabas/log_directories/<broker id>`: `{"version":1,"directories":{"<directory.id>":"<path>"}}`.
"""

import json
from collections.abc import Mapping
from uuid import UUID

from barnabas.base.ids import decode_uuid, encode_uuid
from barnabas.metadata import nodes, paths
from barnabas.metadata.store import Create, MetadataStore, NoNode, Set


def read_log_directories(store: MetadataStore, broker_id: int) -> dict[UUID, str]:
    """Returns the path by directory id. Empty before the broker's first start."""
    path = paths.log_directories(broker_id)
    try:
        data, _ = store.get(path)
    except NoNode:
        return {}
    return nodes.read(path, data, _decode)


def write_log_directories(store: MetadataStore, broker_id: int, directories: Mapping[UUID, str]) -> None:
    """Replace the stored directories. Writes nothing if they are the same."""
    known = read_log_directories(store, broker_id)
    if known == directories:
        return
    path = paths.log_directories(broker_id)
    store.transaction([Set(path, _encode(directories)) if known else Create(path, _encode(directories))])


def _encode(directories: Mapping[UUID, str]) -> bytes:
    named = {encode_uuid(directory_id): path for directory_id, path in directories.items()}
    return json.dumps({"version": 1, "directories": named}, separators=(",", ":")).encode()


def _decode(data: bytes) -> dict[UUID, str]:
    directories = json.loads(data.decode())["directories"]
    return {decode_uuid(directory_id): str(path) for directory_id, path in directories.items()}
