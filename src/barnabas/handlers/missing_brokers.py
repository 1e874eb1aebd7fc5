"""Internal topics that wait for more brokers: one line in the log for each, not one for each request."""

import logging

from barnabas.runtime.internal_topics import InternalTopic

logger = logging.getLogger("requests")


class MissingBrokers:
    """Used on the event loop only."""

    def __init__(self) -> None:
        self._noted: dict[str, int] = {}
        """The number of brokers at the last line, by topic."""

    def note(self, topic: InternalTopic, brokers: int) -> None:
        if self._noted.get(topic.name) != brokers:
            self._noted[topic.name] = brokers
            logger.warning(
                "%s is to have %d replicas and there are %d brokers: groups or transactions wait for more "
                "brokers. %s sets the number of replicas",
                topic.name,
                topic.replication_factor,
                brokers,
                topic.factor_key,
            )

    def forget(self, topic: str) -> None:
        self._noted.pop(topic, None)
