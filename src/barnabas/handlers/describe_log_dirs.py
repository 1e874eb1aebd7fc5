"""DescribeLogDirs (35), versions 1 to 5: what lies in each log directory, and the room around it (KIPs 113,
827).

All partitions when the topics are null. A directory that is offline is KAFKA_STORAGE_ERROR and shows
nothing else. A log that is copied into a directory (AlterReplicaLogDirs) is a future one there, and its lag
is how far it is behind the current one. No directory is cordoned (KIP-1066, version 5). The lag of a log that
no partition uses is -1.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.handlers.context import LogDirContext, Request
from barnabas.storage.logs import DirectoryDescription
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.describe_log_dirs.v5.request import DescribeLogDirsRequest

_UNKNOWN_LAG = -1


def handle(context: LogDirContext, request: Request) -> Reply:
    body: DescribeLogDirsRequest = request.body
    wanted: set[TopicPartition] | None = None
    if body.topics is not None:
        wanted = {TopicPartition(topic.topic, number) for topic in body.topics for number in topic.partitions}
    results = [_directory(context, directory, wanted) for directory in context.logs.describe()]
    return Reply(error_code=ErrorCode.none, results=results)


def _directory(
    context: LogDirContext, directory: DirectoryDescription, wanted: set[TopicPartition] | None
) -> Reply:
    path = str(directory.path.absolute())
    if not directory.is_online:
        return Reply(error_code=ErrorCode.kafka_storage_error, log_dir=path)
    sizes = {name: size for name, size in directory.sizes.items() if wanted is None or name in wanted}
    return Reply(
        error_code=ErrorCode.none,
        log_dir=path,
        topics=_topics(context, sizes.items(), directory.futures),
        total_bytes=directory.total_bytes,
        usable_bytes=directory.usable_bytes,
        is_cordoned=False,
    )


def _topics(
    context: LogDirContext,
    sizes: Iterable[tuple[TopicPartition, int]],
    futures: Collection[TopicPartition],
) -> list[Reply]:
    topics: dict[str, Reply] = {}
    for (name, number), size in sizes:
        topic = topics.setdefault(name, Reply(name=name, partitions=[]))
        hosted = context.partitions.topic(name)
        is_used = hosted is not None and number in hosted.partitions
        key = TopicPartition(name, number)
        is_future = key in futures
        # How far the log is behind its own high watermark: it never is.
        lag = 0 if is_used else _UNKNOWN_LAG
        topic.partitions.append(
            Reply(
                partition_index=number,
                partition_size=size,
                offset_lag=context.moves.lag(key) if is_future else lag,
                is_future_key=is_future,
            )
        )
    return list(topics.values())
