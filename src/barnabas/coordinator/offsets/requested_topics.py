"""Which topics and partitions of a request exist, and an answer that has those that do not.

Kafka checks this before the coordinator sees the request (KafkaApis): what is unknown is answered with an
error of its own and the rest goes on, so one deleted topic does not spoil a commit of ten. In the answer the
unknown ones come first, and a topic is listed once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import ZERO_UUID
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.wire.offset_commit import PartitionResult, TopicResult

IndexOf = Callable[[Any], int]
"""The number of a partition, as the request has it."""


class KnownTopic(NamedTuple):
    topic: TopicImage
    partitions: Sequence[Any]
    """Those of the request's that exist, as they were asked; at least one."""
    index_of: IndexOf

    def answer(self, error: ErrorCode) -> TopicResult:
        return TopicResult(
            self.topic.name, self.topic.topic_id, _refused(self.partitions, self.index_of, error)
        )


class RequestedTopics(NamedTuple):
    known: list[KnownTopic]
    unknown: list[TopicResult]

    def answered(self, answers: list[TopicResult]) -> list[TopicResult]:
        """The whole answer, of that for the known ones."""
        return _merged([*self.unknown, *answers]) if self.unknown else answers


def requested_topics(
    image: ClusterImage, topics: Iterable[Any], index_of: IndexOf, *, by_id: bool
) -> RequestedTopics:
    requested = RequestedTopics([], [])
    for asked in topics:
        topic = image.topic_by_id.get(asked.topic_id) if by_id else image.topics.get(asked.name)
        if topic is None:
            requested.unknown.append(_unknown_topic(asked, index_of, by_id=by_id))
            continue
        partitions: Sequence[Any] = asked.partitions
        if not all(map(topic.partitions.__contains__, map(index_of, partitions))):
            partitions = _split(requested, topic, partitions, index_of)
        if partitions:
            requested.known.append(KnownTopic(topic, partitions, index_of))
    return requested


def _unknown_topic(asked: Any, index_of: IndexOf, *, by_id: bool) -> TopicResult:
    if by_id:
        refused = _refused(asked.partitions, index_of, ErrorCode.unknown_topic_id)
        return TopicResult("", asked.topic_id or ZERO_UUID, refused)
    refused = _refused(asked.partitions, index_of, ErrorCode.unknown_topic_or_partition)
    return TopicResult(asked.name, ZERO_UUID, refused)


def _split(
    requested: RequestedTopics, topic: TopicImage, partitions: Sequence[Any], index_of: IndexOf
) -> list[Any]:
    unknown = [each for each in partitions if index_of(each) not in topic.partitions]
    refused = _refused(unknown, index_of, ErrorCode.unknown_topic_or_partition)
    requested.unknown.append(TopicResult(topic.name, topic.topic_id, refused))
    return [each for each in partitions if index_of(each) in topic.partitions]


def _refused(partitions: Iterable[Any], index_of: IndexOf, error: ErrorCode) -> list[PartitionResult]:
    return [(index_of(each), error) for each in partitions]


def _merged(answers: Iterable[TopicResult]) -> list[TopicResult]:
    topics: dict[tuple[str, UUID], TopicResult] = {}
    for answer in answers:
        first = topics.setdefault((answer.name, answer.topic_id), answer)
        if first is not answer:
            first.partitions.extend(answer.partitions)
    return list(topics.values())
