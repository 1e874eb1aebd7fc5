"""How the long requests of each API are cut: along which array, and whether each part is answered by itself.

An API that is not here is read at once; its arrays are bounded by `wire.lengths`.
"""

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from kio.index import load_request_schema

from barnabas.wire import Reply
from barnabas.wire.array_split import ArraySplit
from barnabas.wire.offset_commit import CommitTopicResult

_FRAME_BYTES = 4096
_MOST = 200


class LongRequests(NamedTuple):
    paths: tuple[tuple[str, ...], ...]
    """The array, and those inside of its elements; the first path that the version has counts."""
    answer: tuple[str, ...] = ()
    """The array of the response that has an element for each; empty: the request is handled as a whole."""
    frame_bytes: int = _FRAME_BYTES
    """A request of this size may be long."""
    most: int = _MOST
    """Elements of a part: it should take a millisecond or two."""
    as_reply: Callable[[Any], Any] | None = None
    """Turns an element of the answer into a `Reply`, where it is something else."""


def _committed(topic: CommitTopicResult) -> Reply:
    partitions = [Reply(partition_index=index, error_code=code) for index, code in topic.partitions]
    return Reply(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


def _whole(*paths: tuple[str, ...]) -> LongRequests:
    return LongRequests(paths)


_PARTITIONS = ("topics", "partitions")

TABLE: dict[int, LongRequests] = {
    2: LongRequests((_PARTITIONS,), _PARTITIONS, most=50),
    3: LongRequests((("topics",),), ("topics",)),
    8: LongRequests((_PARTITIONS,), _PARTITIONS, frame_bytes=16384, most=1000, as_reply=_committed),
    9: LongRequests(
        (("groups", "topics", "partition_indexes"), ("topics", "partition_indexes")), ("topics",)
    ),
    10: LongRequests((("coordinator_keys",),), ("coordinators",)),
    13: _whole(("members",)),
    14: _whole(("assignments",)),
    15: LongRequests((("groups",),), ("groups",)),
    19: _whole(("topics",)),
    20: _whole(("topics",), ("topic_names",)),
    21: LongRequests((_PARTITIONS,), _PARTITIONS),
    23: LongRequests((_PARTITIONS,), _PARTITIONS),
    28: LongRequests((_PARTITIONS,), _PARTITIONS, frame_bytes=16384, most=1000),
    32: LongRequests((("resources",),), ("results",), frame_bytes=0, most=1),
    33: _whole(("resources",)),
    37: _whole(("topics",)),
    42: LongRequests((("groups_names",),), ("results",)),
    44: _whole(("resources",)),
    61: LongRequests((("topics", "partition_indexes"),), _PARTITIONS, most=20),
    65: LongRequests((("transactional_ids",),), ("transaction_states",)),
    69: LongRequests((("group_ids",),), ("groups",)),
    75: _whole(("topics",)),
}


class Cut(NamedTuple):
    """How one version of a long request is cut, and the answers put together."""

    split: ArraySplit
    name: str
    answer: tuple[str, ...]


@cache
def cut_of(api_key: int, version: int) -> Cut | None:
    """None if this version has no such array."""
    entry = TABLE[api_key]
    entity = load_request_schema(api_key, version)
    names = {field.name for field in dataclasses.fields(entity)}
    for path in entry.paths:
        if path[0] in names:
            answer = entry.answer
            if api_key == _OFFSET_FETCH:
                answer = ("groups", "topics", "partitions") if path[0] == "groups" else _PARTITIONS
            return Cut(ArraySplit(entity, path, entry.most), path[0], answer)
    return None


_OFFSET_FETCH = 9
