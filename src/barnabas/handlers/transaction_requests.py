"""What the handlers of transactional requests share: codes that a client's version knows, and partitions."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Protocol

from barnabas.base.errors import ErrorCode, KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.handlers.context import Request
from barnabas.wire import Reply


class NamedPartitions(Protocol):
    """A topic of a request, as kio has it."""

    @property
    def name(self) -> str: ...

    @property
    def partitions(self) -> Sequence[int]: ...


def code_for(request: Request, error: KafkaError, fenced_since: int) -> ErrorCode:
    """Clients below version `fenced_since` of a request know only the older code (KIP-588)."""
    if error.code is ErrorCode.producer_fenced and request.version < fenced_since:
        return ErrorCode.invalid_producer_epoch
    return error.code


def topic_partitions(topics: Iterable[NamedPartitions]) -> list[TopicPartition]:
    """Each partition once, in the order of the request."""
    return list(
        dict.fromkeys(TopicPartition(topic.name, number) for topic in topics for number in topic.partitions)
    )


def by_topic(
    results: Iterable[tuple[TopicPartition, ErrorCode]], topic_reply: Callable[[str, list[Reply]], Reply]
) -> list[Reply]:
    """Codes of partitions under their topics."""
    topics: dict[str, list[Reply]] = {}
    for partition, code in results:
        topics.setdefault(partition.topic, []).append(
            Reply(partition_index=partition.partition, partition_error_code=code)
        )
    return [topic_reply(name, partitions) for name, partitions in topics.items()]


def milliseconds(value: timedelta) -> int:
    return round(value.total_seconds() * 1000)
