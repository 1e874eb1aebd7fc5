"""AlterReplicaLogDirs (34), versions 1 and 2: move replicas to other log directories of a broker (KIP-113).

The answer comes when a move has begun. It goes on in the background (`replication.replica_moves`), over
restarts, and DescribeLogDirs shows how far it is. The directory that the log is in already ends a move. A
directory that is not in `log.dirs` is LOG_DIR_NOT_FOUND, one that is offline KAFKA_STORAGE_ERROR. A partition
without a replica here is REPLICA_NOT_AVAILABLE; if it gets one, that is created in the named directory.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.handlers.context import LogDirContext, Request
from barnabas.handlers.local_partitions import code_of
from barnabas.storage.log_directory import LogDirectory
from barnabas.wire import Reply

if TYPE_CHECKING:
    from kio.schema.alter_replica_log_dirs.v2.request import AlterReplicaLogDirsRequest


def handle(context: LogDirContext, request: Request) -> Reply:
    body: AlterReplicaLogDirsRequest = request.body
    directories = {str(each.path.absolute()): each for each in context.logs.directories}
    topics: dict[str, list[Reply]] = {}
    for wanted in body.dirs:
        directory = directories.get(wanted.path)
        for topic in wanted.topics:
            topics.setdefault(topic.name, []).extend(
                Reply(
                    partition_index=number,
                    error_code=_code(context, TopicPartition(topic.name, number), directory),
                )
                for number in topic.partitions
            )
    return Reply(results=[Reply(topic_name=name, partitions=listed) for name, listed in topics.items()])


def _code(context: LogDirContext, partition: TopicPartition, directory: LogDirectory | None) -> ErrorCode:
    if directory is None:
        return ErrorCode.log_dir_not_found
    if not directory.is_online:
        return ErrorCode.kafka_storage_error
    try:
        context.moves.move(partition, directory)
    except Exception as error:  # noqa: BLE001  one bad partition does not spoil the others
        return code_of(error, *partition)
    return ErrorCode.none
