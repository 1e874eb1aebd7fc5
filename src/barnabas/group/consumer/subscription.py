"""The topics of a member: those it names, and those its regular expression matches."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from barnabas.group.consumer.member import ConsumerMember
from barnabas.group.records import RegularExpressionValue
from barnabas.metadata.image import ClusterImage

ResolvedRegexes = Mapping[str, RegularExpressionValue]


class Subscription:
    """Of one member. An unresolved expression matches nothing.

    A topic that does not exist is not included.
    """

    __slots__ = ("_image", "_names", "_regex_topics")

    def __init__(self, member: ConsumerMember, resolved: ResolvedRegexes, image: ClusterImage) -> None:
        value = resolved.get(member.topic_regex)
        self._names: frozenset[str] = frozenset(member.topic_names)
        self._regex_topics: frozenset[str] = frozenset() if value is None else value.topics
        self._image: ClusterImage = image

    def __contains__(self, topic_id: UUID) -> bool:
        topic = self._image.topic_by_id.get(topic_id)
        return topic is not None and (topic.name in self._names or topic.name in self._regex_topics)

    def topic_ids(self) -> frozenset[UUID]:
        return frozenset(self._existing())

    def _existing(self) -> Iterator[UUID]:
        topics = self._image.topics
        for name in self._names | self._regex_topics:
            topic = topics.get(name)
            if topic is not None:
                yield topic.topic_id
