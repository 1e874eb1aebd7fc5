"""The logs of this broker's partitions: opened on first access, created and deleted a few at a time.

A new log costs a directory and two files, a deleted log a rename. A topic of thousands of partitions would
delay every request for seconds. So a call does what fits into a few milliseconds, and the rest is done
between requests. A log that is accessed before it is created is created at once.

A log that existed before and is not found while a log directory is offline is taken to be in that directory.
It is not created in another directory: that log would be empty, and a duplicate when the directory is back.

A directory that carries another topic's id belongs to a deleted topic of the same name. It is never used and
never deleted: it is renamed to a name ending in `-stray`, with a warning. The same holds for a log that is
older than its topic and carries no topic id.
"""

import logging
import time
from collections.abc import Callable
from uuid import UUID

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import KafkaError, StorageError
from barnabas.base.ids import TopicPartition
from barnabas.storage.log import Log
from barnabas.storage.logs import Logs

logger = logging.getLogger("replication")

_AT_ONCE_SECONDS = 0.004
_PER_TURN_SECONDS = 0.003

Schedule = Callable[[Callable[[], None]], object]


class HostedLogs:
    def __init__(
        self,
        logs: Logs,
        config_of: Callable[[str], LogConfig],
        schedule: Schedule | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`schedule` runs a function later, on the loop. Without it nothing is deferred."""
        self._logs: Logs = logs
        self._config_of: Callable[[str], LogConfig] = config_of
        self._schedule: Schedule | None = schedule
        self._monotonic: Callable[[], float] = monotonic
        self._is_scheduled: bool = False
        self._wanted: dict[TopicPartition, UUID] = {}
        self._unwanted: dict[TopicPartition, None] = {}
        self._out_of_reach: set[TopicPartition] = set()
        self._older_than_topic: set[TopicPartition] = set()
        """Logs that existed before the topic was created: they are used only if they carry the topic's id."""

    def get(self, name: TopicPartition, topic_id: UUID) -> Log:
        """Returns the partition's log. Opens or creates it if needed.

        Raises StorageError if its disk has failed.
        """
        if name in self._unwanted:
            self._delete(name)
        log = self._find(name, topic_id)
        self._wanted.pop(name, None)
        if log is None and name in self._out_of_reach:
            raise StorageError(f"{name} is in no online log directory; some log directories are offline")
        if log is None:
            return self._logs.create(name, topic_id, self._config_of(name.topic))
        if log.topic_id is None:
            log.assign_topic_id(topic_id)
        return log

    def is_offline(self, name: TopicPartition) -> bool:
        """Whether the log directory of the partition's log has failed."""
        return name in self._out_of_reach or self._logs.is_offline(name)

    def _find(self, name: TopicPartition, topic_id: UUID) -> Log | None:
        """Returns the existing log if it is the topic's. Another topic's log is renamed to `-stray`."""
        is_older = name in self._older_than_topic
        try:
            log = self._logs.get(name)
        except StorageError:
            if not (is_older and self._logs.is_unusable(name)):
                raise
            logger.warning(
                "The log of %s cannot be read and is older than its topic. It is set aside as stray.", name
            )
            self._logs.set_aside_log(name)
            log = None
        if log is not None and log.topic_id != topic_id and (is_older or log.topic_id is not None):
            logger.warning(
                "%s belongs to another topic of that name. It is set aside as stray.", log.directory
            )
            self._logs.set_aside_log(name)
            log = None
        self._older_than_topic.discard(name)
        return log

    def is_known_empty(self, name: TopicPartition) -> bool:
        """Whether a log has no records, as far as that is known without opening it."""
        is_to_be_made = name in self._wanted and name not in self._older_than_topic
        return is_to_be_made or self._logs.is_known_empty(name)

    def want(self, name: TopicPartition, topic_id: UUID, *, is_new: bool) -> None:
        """Require a log, which `settle` creates. A log that `is_new` cannot be in an offline directory."""
        if self._logs.has_files(name) and name not in self._unwanted:
            if is_new:
                self._older_than_topic.add(name)
                self._wanted[name] = topic_id
            return
        if not is_new and any(not directory.is_online for directory in self._logs.directories):
            self._out_of_reach.add(name)
        else:
            self._wanted[name] = topic_id

    def drop(self, name: TopicPartition) -> None:
        """Require that there is no log. `settle` deletes it."""
        self._wanted.pop(name, None)
        self._out_of_reach.discard(name)
        self._older_than_topic.discard(name)
        if self._logs.has_files(name):
            self._unwanted[name] = None

    def settle(self) -> None:
        """Create and delete the required logs: a few now, the rest between requests."""
        if not self._is_scheduled:  # Otherwise there is more to do than fits into a call.
            self._work(_AT_ONCE_SECONDS)

    def finish_deletions(self) -> None:
        """The broker stops: deleted topics must not exist at its next start."""
        self._wanted.clear()
        while self._unwanted:
            self._delete(next(iter(self._unwanted)))

    def _work(self, seconds: float) -> None:
        deadline = self._monotonic() + seconds
        while self._unwanted or self._wanted:
            if self._schedule is not None and self._monotonic() > deadline:
                if not self._is_scheduled:
                    self._is_scheduled = True
                    self._schedule(self._continue)
                return
            if self._unwanted:
                self._delete(next(iter(self._unwanted)))
            else:
                self._create(next(iter(self._wanted)))

    def _continue(self) -> None:
        self._is_scheduled = False
        self._work(_PER_TURN_SECONDS)

    def _create(self, name: TopicPartition) -> None:
        try:
            self.get(name, self._wanted.pop(name))
        except KafkaError as error:
            # The partition responds with a storage error until its directory is back.
            logger.error("Cannot create the log of %s: %s", name, error.message)

    def _delete(self, name: TopicPartition) -> None:
        del self._unwanted[name]
        try:
            self._logs.delete(name)
        except KafkaError as error:
            logger.error("Cannot delete the log of %s: %s", name, error.message)
