"""AlterReplicaLogDirs (34), versions 1 and 2: another log directory for replicas (KIP-113).

Logs are not moved between directories here. What Kafka answers without moving anything is answered: the
directory the log is in already is accepted, one that is not in `log.dirs` is LOG_DIR_NOT_FOUND, one that is
offline KAFKA_STORAGE_ERROR, and a partition without a replica here REPLICA_NOT_AVAILABLE.

Deviation: a move to another directory is UNSUPPORTED_VERSION.
"""

from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.handlers.context import LogDirContext, Request
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
    current = context.logs.directory_of(partition)
    if current is None:
        return ErrorCode.replica_not_available
    return ErrorCode.none if current is directory else ErrorCode.unsupported_version
