"""The logs that this broker's partitions need: there when touched, made and removed a few at a time.

A new log costs a directory and two files, a deleted one a rename: a topic of thousands of partitions would
hold up every request for seconds. So a call does what fits into a few milliseconds, the rest is done between
requests, and whoever touches a log that is not there yet gets it at once.

A log that was there before and is not found while a log directory is offline is taken to be in that
directory: it is not made anew elsewhere, where it would be empty, and in the way when the directory is back.

A directory that carries another topic's id is a leftover of a topic of the same name. It is never used and
never deleted: it is set aside under a name ending in `-stray`, with a warning. So is a log that is older than
its topic and does not say whose it is.
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
        self, logs: Logs, config_of: Callable[[str], LogConfig], schedule: Schedule | None = None
    ) -> None:
        """`schedule` runs a function a little later, on the loop; without it nothing is put off."""
        self._logs: Logs = logs
        self._config_of: Callable[[str], LogConfig] = config_of
        self._schedule: Schedule | None = schedule
        self._is_scheduled: bool = False
        self._wanted: dict[TopicPartition, UUID] = {}
        self._unwanted: dict[TopicPartition, None] = {}
        self._out_of_reach: set[TopicPartition] = set()
        self._older_than_topic: set[TopicPartition] = set()
        """There was a log before the topic was created: it is ours only if it carries the topic's id."""

    def get(self, name: TopicPartition, topic_id: UUID) -> Log:
        """The partition's log, opened or made if need be; raises StorageError when its disk has failed."""
        if name in self._unwanted:
            self._delete(name)
        log = self._find(name, topic_id)
        self._wanted.pop(name, None)
        if log is None and name in self._out_of_reach:
            raise StorageError(f"{name} is not in any log directory that works; some are offline")
        if log is None:
            return self._logs.create(name, topic_id, self._config_of(name.topic))
        if log.topic_id is None:
            log.assign_topic_id(topic_id)
        return log

    def _find(self, name: TopicPartition, topic_id: UUID) -> Log | None:
        """The log that is there, if it is the topic's; another topic's is set aside."""
        is_older = name in self._older_than_topic
        try:
            log = self._logs.get(name)
        except StorageError:
            if not (is_older and self._logs.is_unusable(name)):
                raise
            logger.warning("The log of %s cannot be read and is older than its topic: set aside", name)
            self._logs.set_aside_log(name)
            log = None
        if log is not None and log.topic_id != topic_id and (is_older or log.topic_id is not None):
            logger.warning("%s was left by another topic of that name: set aside, not used", log.directory)
            self._logs.set_aside_log(name)
            log = None
        self._older_than_topic.discard(name)
        return log

    def is_known_empty(self, name: TopicPartition) -> bool:
        """Whether a log has no records, as far as that can be told without opening it."""
        is_to_be_made = name in self._wanted and name not in self._older_than_topic
        return is_to_be_made or self._logs.is_known_empty(name)

    def want(self, name: TopicPartition, topic_id: UUID, *, is_new: bool) -> None:
        """There shall be a log; `settle` makes it. One that `is_new` cannot be in an offline directory."""
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
        """There shall be no log; `settle` removes it."""
        self._wanted.pop(name, None)
        self._out_of_reach.discard(name)
        self._older_than_topic.discard(name)
        if self._logs.has_files(name):
            self._unwanted[name] = None

    def settle(self) -> None:
        """Do what is wanted: now what is quick, the rest between requests."""
        if not self._is_scheduled:  # else: there is more to do than fits into a call
            self._work(_AT_ONCE_SECONDS)

    def finish_deletions(self) -> None:
        """The broker stops: deleted topics must not be there when it comes back."""
        self._wanted.clear()
        while self._unwanted:
            self._delete(next(iter(self._unwanted)))

    def _work(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._unwanted or self._wanted:
            if self._schedule is not None and time.monotonic() > deadline:
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
            # The partition answers with a storage error until its directory is back.
            logger.error("Cannot create the log of %s: %s", name, error.message)

    def _delete(self, name: TopicPartition) -> None:
        del self._unwanted[name]
        try:
            self._logs.delete(name)
        except KafkaError as error:
            logger.error("Cannot delete the log of %s: %s", name, error.message)
