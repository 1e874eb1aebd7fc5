"""Which partitions a query reads: `assign`, `subscribe` or `subscribePattern`, against what a cluster has.

Internal topics are never read, as with Spark's connector. A pattern is Java's (`java_pattern`), and is found
anywhere in the name (Java's `find`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.spark.planning import TopicPartition
from barnabas.spark.planning.java_pattern import Untranslatable, python_pattern
from barnabas.spark.planning.option_values import BadOption, assigned_partitions

STRATEGIES = ("subscribe", "subscribepattern", "assign")


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    partitions: int
    is_internal: bool = False


@dataclass(frozen=True, slots=True)
class Subscription:
    """Exactly one of the three is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()

    @property
    def wanted_topics(self) -> tuple[str, ...] | None:
        """The topics to request metadata of. None requests all topics."""
        if self.pattern is not None:
            return None
        return self.topics or tuple(sorted({topic for topic, _ in self.assigned}))

    def partitions(self, topics: Iterable[Topic]) -> frozenset[TopicPartition]:
        """Of what the cluster has. An assigned partition that does not exist is left out."""
        found = frozenset(
            (topic.name, number)
            for topic in topics
            if not topic.is_internal and self._wants(topic.name)
            for number in range(topic.partitions)
        )
        return found & frozenset(self.assigned) if self.assigned else found

    def _wants(self, name: str) -> bool:
        if self.pattern is not None:
            return python_pattern(self.pattern).search(name) is not None
        return name in self.topics or any(name == topic for topic, _ in self.assigned)

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"SubscribePattern[{self.pattern}]"
        if self.topics:
            return f"Subscribe[{', '.join(self.topics)}]"
        return f"Assign[{', '.join(f'{topic}-{number}' for topic, number in self.assigned)}]"


def subscription_of(options: Mapping[str, str]) -> Subscription:
    """The keys of `options` are in lower case. Raises BadOption."""
    given = [name for name in STRATEGIES if name in options]
    listed = ", ".join(STRATEGIES)
    if not given:
        raise BadOption(
            f"One of the following options must be specified for Kafka source: {listed}. "
            "See the docs for more details."
        )
    if len(given) > 1:
        raise BadOption(
            f"Only one of the following options can be specified for Kafka source: {listed}. "
            "See the docs for more details."
        )
    text = options[given[0]]
    if given[0] == "assign":
        return _assigned(text)
    return _subscribed(text) if given[0] == "subscribe" else _patterned(text)


def _assigned(text: str) -> Subscription:
    if not text.strip().startswith("{"):
        raise BadOption(f"No topicpartitions to assign as specified value for option 'assign' is '{text}'")
    topic_partitions = assigned_partitions(text)
    if not topic_partitions:
        raise BadOption(f"No topicpartitions to assign as specified value for option 'assign' is '{text}'")
    return Subscription(assigned=topic_partitions)


def _subscribed(text: str) -> Subscription:
    topics = tuple(dict.fromkeys(name for each in text.split(",") if (name := each.strip())))
    if not topics:
        raise BadOption(f"No topics to subscribe to as specified value for option 'subscribe' is '{text}'")
    return Subscription(topics=topics)


def _patterned(text: str) -> Subscription:
    pattern = text.strip()
    if not pattern:
        raise BadOption(
            f"Pattern to subscribe is empty as specified value for option 'subscribePattern' is '{text}'"
        )
    try:
        python_pattern(pattern)
    except (re.error, Untranslatable) as error:
        raise BadOption(f"subscribePattern '{pattern}' is no regular expression: {error}") from None
    return Subscription(pattern=pattern)
