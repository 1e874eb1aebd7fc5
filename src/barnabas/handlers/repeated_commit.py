"""The shortcut for OffsetCommit requests that a consumer sends again and again.

A consumer commits the partitions of its assignment, and from one commit to the next only the offsets differ.
The first request goes the long way and is remembered: the bytes around its offsets, the topic they led to,
and the answer. A request with the same bytes goes straight to the coordinator, which checks the member as
always. What is unusual (metadata, tags, several topics, a cluster that has changed) is left to the long way.
Versions from 8 on, one topic, up to 64 partitions.
"""

import struct
from collections.abc import Callable

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode
from barnabas.group.environment import RequestContext
from barnabas.handlers.context import GroupContext
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.network.connection import Connection
from barnabas.network.responses import Parts, Pending
from barnabas.wire.header import RequestHeader
from barnabas.wire.offset_commit import (
    FIRST_FLEXIBLE,
    FIRST_WITH_TOPIC_IDS,
    MOST_PARTITIONS_AT_ONCE,
    PARTITION_WITHOUT_METADATA,
    CommitTopicResult,
    OffsetCommitRequest,
    encode_offset_commit,
    partitions_struct,
)

CallSoon = Callable[..., object]

_AFTER_CORRELATION = 8
_CORRELATION = struct.Struct(">i")
_LENGTH = struct.Struct(">i")
_NO_TAGS = b"\x00\x00"
_MOST_MISSES = 16


def remember(
    context: GroupContext,
    connection: Connection,
    header: RequestHeader,
    frame: memoryview,
    body: OffsetCommitRequest,
    call_soon: CallSoon,
) -> None:
    """Make the next commit like this one quick, if it is of the usual kind."""
    known = connection.shortcut
    misses = 0
    if isinstance(known, RepeatedCommit):
        misses = known.misses
    elif known is not None:
        return
    if header.version < FIRST_FLEXIBLE or misses >= _MOST_MISSES or len(body.topics) != 1:
        return
    [requested] = body.topics
    count = len(requested.partitions)
    rows_start = len(frame) - len(_NO_TAGS) - count * PARTITION_WITHOUT_METADATA
    if (
        not 0 < count <= MOST_PARTITIONS_AT_ONCE
        or any(metadata != "" for _, _, _, metadata in requested.partitions)
        or rows_start < header.end
        or frame[-2:] != _NO_TAGS
    ):
        return
    if header.version < FIRST_WITH_TOPIC_IDS:
        topic = context.image.topics.get(requested.name)
    else:
        topic = context.image.topic_by_id.get(requested.topic_id)
    indexes = tuple(index for index, *_ in requested.partitions)
    if topic is not None and all(index in topic.partitions for index in indexes):
        connection.shortcut = RepeatedCommit(
            context, header.version, frame, rows_start, body, topic, indexes, call_soon, misses + 1
        )


class RepeatedCommit:
    __slots__ = (
        "_answer",
        "_body",
        "_call_soon",
        "_caller",
        "_context",
        "_image",
        "_indexes",
        "_ones",
        "_prefix",
        "_rows",
        "_rows_start",
        "_size",
        "_start",
        "_topic",
        "_zeroes",
        "misses",
    )

    def __init__(
        self,
        context: GroupContext,
        version: int,
        frame: memoryview,
        rows_start: int,
        body: OffsetCommitRequest,
        topic: TopicImage,
        indexes: tuple[int, ...],
        call_soon: CallSoon,
        misses: int,
    ) -> None:
        count = len(indexes)
        self._context: GroupContext = context
        self._image: ClusterImage = context.image
        self._topic: TopicImage = topic
        self._body: OffsetCommitRequest = body
        self._caller: RequestContext = RequestContext(version, "", "")
        self._start: bytes = bytes(frame[:4])
        self._prefix: bytes = bytes(frame[_AFTER_CORRELATION:rows_start])
        self._rows_start: int = rows_start
        self._size: int = len(frame)
        self._rows: struct.Struct = partitions_struct(count)
        self._indexes: tuple[int, ...] = indexes
        self._ones: tuple[int, ...] = (1,) * count
        self._zeroes: tuple[int, ...] = (0,) * count
        self._answer: bytes = self._encoded(ErrorCode.none)
        self._call_soon: CallSoon = call_soon
        self.misses: int = misses
        """How often in a row a request was not the remembered one."""

    def _encoded(self, code: ErrorCode) -> bytes:
        """The answer without length and correlation id."""
        result = CommitTopicResult(
            self._topic.name, self._topic.topic_id, [(index, code) for index in self._indexes]
        )
        return encode_offset_commit(self._caller.version, 0, [result])[4:]

    def __call__(self, frame: memoryview) -> Parts | Pending | None:
        """None leaves the frame to the long way."""
        if len(frame) != self._size or frame[:4] != self._start:
            return None
        start = self._rows_start
        if frame[_AFTER_CORRELATION:start] != self._prefix or frame[-2:] != _NO_TAGS:
            return None
        columns = self._rows.unpack_from(frame, start)
        if (
            columns[0::5] != self._indexes
            or columns[3::5] != self._ones
            or columns[4::5] != self._zeroes
            or self._context.image is not self._image
        ):
            return None
        self.misses = 0
        offsets, epochs = columns[1::5], columns[2::5]
        body, topic, indexes = self._body, self._topic, self._indexes
        committed = self._context.groups.gather(
            body.group_id,
            lambda shard: shard.offsets.commit_again(self._caller, body, topic, indexes, offsets, epochs),
        )
        (correlation_id,) = _CORRELATION.unpack_from(frame, 4)
        if committed.is_done:
            return [self._framed(correlation_id, committed)]
        pending = Pending()

        def finish(done: "Deferred[None]") -> None:
            # As in dispatch: not inside the call that gives the answer.
            self._call_soon(pending.complete, [self._framed(correlation_id, done)])

        committed.when_done(finish)
        return pending

    def _framed(self, correlation_id: int, committed: Deferred[None]) -> bytes:
        answer = self._answer if committed.error is None else self._encoded(committed.error.code)
        return _LENGTH.pack(len(answer) + 4) + _CORRELATION.pack(correlation_id) + answer
