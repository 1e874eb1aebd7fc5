"""Splits the topics and partitions of a request into existing and unknown ones, and merges the response.

Kafka checks this before the coordinator gets the request (KafkaApis). Unknown partitions get their own error
and the others are handled, so one deleted topic does not fail a commit of ten topics. In the response the
unknown ones come first, and a topic is listed once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import ZERO_UUID
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.wire.offset_commit import CommitPartitionResult, CommitTopicResult

IndexOf = Callable[[Any], int]
"""The number of a partition of the request."""


class KnownTopic(NamedTuple):
    topic: TopicImage
    partitions: Sequence[Any]
    """The existing partitions of the request, in request order. At least one."""
    index_of: IndexOf

    def answer(self, error: ErrorCode) -> CommitTopicResult:
        return CommitTopicResult(
            self.topic.name, self.topic.topic_id, _refused(self.partitions, self.index_of, error)
        )


class RequestedTopics(NamedTuple):
    known: list[KnownTopic]
    unknown: list[CommitTopicResult]

    def answered(self, answers: list[CommitTopicResult]) -> list[CommitTopicResult]:
        """Returns the whole response, given the answers for the existing topics."""
        return _merged([*self.unknown, *answers]) if self.unknown else answers


def requested_topics(
    image: ClusterImage, topics: Iterable[Any], index_of: IndexOf, *, by_id: bool
) -> RequestedTopics:
    requested = RequestedTopics([], [])
    for requested_topic in topics:
        topic = (
            image.topic_by_id.get(requested_topic.topic_id)
            if by_id
            else image.topics.get(requested_topic.name)
        )
        if topic is None:
            requested.unknown.append(_unknown_topic(requested_topic, index_of, by_id=by_id))
            continue
        partitions: Sequence[Any] = requested_topic.partitions
        if not all(map(topic.partitions.__contains__, map(index_of, partitions))):
            partitions = _split(requested, topic, partitions, index_of)
        if partitions:
            requested.known.append(KnownTopic(topic, partitions, index_of))
    return requested


def _unknown_topic(requested_topic: Any, index_of: IndexOf, *, by_id: bool) -> CommitTopicResult:
    if by_id:
        refused = _refused(requested_topic.partitions, index_of, ErrorCode.unknown_topic_id)
        return CommitTopicResult("", requested_topic.topic_id or ZERO_UUID, refused)
    refused = _refused(requested_topic.partitions, index_of, ErrorCode.unknown_topic_or_partition)
    return CommitTopicResult(requested_topic.name, ZERO_UUID, refused)


def _split(
    requested: RequestedTopics, topic: TopicImage, partitions: Sequence[Any], index_of: IndexOf
) -> list[Any]:
    unknown = [each for each in partitions if index_of(each) not in topic.partitions]
    refused = _refused(unknown, index_of, ErrorCode.unknown_topic_or_partition)
    requested.unknown.append(CommitTopicResult(topic.name, topic.topic_id, refused))
    return [each for each in partitions if index_of(each) in topic.partitions]


def _refused(partitions: Iterable[Any], index_of: IndexOf, error: ErrorCode) -> list[CommitPartitionResult]:
    return [(index_of(each), error) for each in partitions]


def _merged(answers: Iterable[CommitTopicResult]) -> list[CommitTopicResult]:
    topics: dict[tuple[str, UUID], CommitTopicResult] = {}
    for answer in answers:
        first = topics.setdefault((answer.name, answer.topic_id), answer)
        if first is not answer:
            first.partitions.extend(answer.partitions)
    return list(topics.values())
