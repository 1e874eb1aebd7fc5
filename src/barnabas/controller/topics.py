"""Creation, growth, deletion and adoption of topics (Kafka's ReplicationControlManager and ControllerApis).

Synchronous: every method blocks on the store and runs on its thread. Errors are data in the results, with
Kafka's codes and messages. All changes of one request are one transaction. If another broker has changed one
of the topics concurrently, the others are written one by one.
"""

import logging
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.topic_keys import validate_topic_configs
from barnabas.base.errors import (
    ErrorCode,
    InconsistentTopicId,
    InvalidPartitions,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    NotController,
    PolicyViolation,
    StorageError,
    TopicExists,
)
from barnabas.base.ids import ZERO_UUID, random_uuid
from barnabas.controller import topic_deletion
from barnabas.controller.assignments import place_new_topic, place_partitions
from barnabas.controller.decisions import create_partitions
from barnabas.controller.requests import (
    AdoptedTopic,
    CreatedTopic,
    DeletedTopic,
    NewPartitions,
    NewTopic,
    PartitionsResult,
    TopicRef,
)
from barnabas.controller.topic_names import (
    CLUSTER_METADATA_TOPIC,
    can_collide,
    collisions,
    is_legal_topic_name,
    unify,
    validate_topic_name,
)
from barnabas.controller.writer import MetadataWriter
from barnabas.metadata import nodes, paths
from barnabas.metadata.image import TopicImage
from barnabas.metadata.nodes import StateNode, TopicNode
from barnabas.metadata.store import BadVersion, Create, NodeExists, NoNode, Operation, Set, StoreError

logger = logging.getLogger(__name__)

MAX_PARTITIONS_PER_REQUEST = 10_000
_ATTEMPTS = 10


class TopicSettings(Protocol):
    """What topics need of the broker's configuration."""

    @property
    def num_partitions(self) -> int: ...
    @property
    def default_replication_factor(self) -> int: ...
    @property
    def delete_topic_enable(self) -> bool: ...
    def log_defaults(self) -> LogConfig: ...


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic that is valid and can be written."""

    name: str
    topic_id: UUID
    assignment: Mapping[int, tuple[int, ...]]
    states: Mapping[int, StateNode]
    configs: Mapping[str, str]

    def result(self) -> CreatedTopic:
        return CreatedTopic(
            self.name,
            topic_id=self.topic_id,
            num_partitions=len(self.assignment),
            replication_factor=len(self.assignment[0]),
            configs=self.configs,
        )


class TopicAdmin:
    def __init__(
        self, cluster: MetadataWriter, settings: TopicSettings, rng: random.Random | None = None
    ) -> None:
        self._cluster: MetadataWriter = cluster
        self._settings: TopicSettings = settings
        self._rng: random.Random = rng or random.SystemRandom()

    def configure(self, settings: TopicSettings) -> None:
        """Apply a change of the broker's configuration."""
        self._settings = settings

    # Creation

    def create_topics(self, topics: Sequence[NewTopic], validate_only: bool = False) -> list[CreatedTopic]:
        """Returns one result for each name: first names that appear once, in order, then the duplicates."""
        counts = Counter(topic.name for topic in topics)
        wanted = [
            topic for topic in topics if counts[topic.name] == 1 and topic.name != CLUSTER_METADATA_TOPIC
        ]
        self._refresh_unknown(topic.name for topic in wanted)
        outcomes = self._plan_all(wanted)
        plans = [outcome for outcome in outcomes if isinstance(outcome, TopicPlan)]
        failures = {} if validate_only else self._write_all(plans)
        results = [
            outcome if isinstance(outcome, CreatedTopic) else failures.get(outcome.name) or outcome.result()
            for outcome in outcomes
        ]
        for name, count in counts.items():
            if count > 1:
                results.append(_refused(name, InvalidRequest("Duplicate topic name.")))
            elif name == CLUSTER_METADATA_TOPIC:
                reason = f"Creation of internal topic {name} is prohibited."
                results.append(_refused(name, InvalidRequest(reason)))
        return results

    def _plan_all(self, topics: Sequence[NewTopic]) -> list[TopicPlan | CreatedTopic]:
        total = sum(len(topic.assignments) or max(self._partition_count(topic), 0) for topic in topics)
        if total > MAX_PARTITIONS_PER_REQUEST:
            error = PolicyViolation("Excessively large number of partitions per request.")
            return [_refused(topic.name, error) for topic in topics]
        existing = self._cluster.image.topics
        colliding = collisions(existing) if any(can_collide(topic.name) for topic in topics) else {}
        outcomes: list[TopicPlan | CreatedTopic] = []
        for topic in topics:
            try:
                self._check_name(topic.name, colliding)
                outcomes.append(self._plan(topic))
            except KafkaError as error:
                outcomes.append(_refused(topic.name, error))
        return outcomes

    def _partition_count(self, topic: NewTopic) -> int:
        return self._settings.num_partitions if topic.num_partitions == -1 else topic.num_partitions

    def _check_name(self, name: str, colliding: Mapping[str, str]) -> None:
        if name in self._cluster.image.topics:
            raise TopicExists(f"Topic '{name}' already exists.")
        validate_topic_name(name)
        if can_collide(name) and unify(name) in colliding:
            raise InvalidTopic(f"Topic '{name}' collides with existing topic: {colliding[unify(name)]}")

    def _plan(self, topic: NewTopic) -> TopicPlan:
        validate_topic_configs(topic.configs, self._settings.log_defaults())
        replication_factor = (
            self._settings.default_replication_factor
            if topic.replication_factor == -1
            else topic.replication_factor
        )
        assignment, states = place_new_topic(
            topic, self._partition_count(topic), replication_factor, self._cluster.image, self._rng
        )
        configs = {name: value for name, value in topic.configs.items() if value is not None}
        return TopicPlan(topic.name, random_uuid(self._rng), assignment, states, configs)

    def _write_all(self, plans: Sequence[TopicPlan]) -> dict[str, CreatedTopic]:
        """Write the topics. Returns the results of those that could not be written."""
        if not plans:
            return {}
        try:
            self._cluster.transaction([step for plan in plans for step in self._operations(plan)])
            return {}
        except NodeExists:
            if len(plans) == 1:
                self._cluster.refresh([paths.topic(plans[0].name)])
                error: KafkaError = TopicExists(f"Topic '{plans[0].name}' already exists.")
                return {plans[0].name: _refused(plans[0].name, error)}
        except StoreError as error_of_store:
            logger.error("Cannot write new topics to the metadata store: %s", error_of_store)
            error = StorageError(str(error_of_store))
            return {plan.name: _refused(plan.name, error) for plan in plans}
        failures: dict[str, CreatedTopic] = {}
        for plan in plans:
            failures.update(self._write_all([plan]))
        return failures

    def _operations(self, plan: TopicPlan) -> list[Operation]:
        node = TopicNode(plan.topic_id, plan.assignment)
        config_path, configs = paths.topic_config(plan.name), nodes.encode_config(plan.configs)
        is_left_over = self._cluster.store.exists(config_path) is not None
        return [
            Set(config_path, configs) if is_left_over else Create(config_path, configs),
            Create(paths.topic(plan.name), nodes.encode_topic(node)),
            Create(paths.partitions(plan.name)),
            *create_partitions(plan.name, plan.states),
        ]

    # Adoption

    def adopt(self, topics: Sequence[AdoptedTopic], broker_id: int) -> list[CreatedTopic]:
        """Register topics whose logs are on this broker's disks, with their ids. Known topics are kept."""
        self._refresh_unknown(topic.name for topic in topics)
        outcomes: list[TopicPlan | CreatedTopic] = []
        for topic in topics:
            try:
                outcomes.append(self._plan_adoption(topic, broker_id))
            except KafkaError as error:
                outcomes.append(_refused(topic.name, error))
        failures = self._write_all([outcome for outcome in outcomes if isinstance(outcome, TopicPlan)])
        return [
            outcome if isinstance(outcome, CreatedTopic) else failures.get(outcome.name) or outcome.result()
            for outcome in outcomes
        ]

    def _plan_adoption(self, topic: AdoptedTopic, broker_id: int) -> TopicPlan | CreatedTopic:
        known = self._cluster.image.topics.get(topic.name)
        if known is not None:
            return _adopt_known(topic, known)
        validate_topic_name(topic.name)
        validate_topic_configs(topic.configs)
        if topic.partition_count < 1:
            raise InvalidPartitions(f"Topic '{topic.name}' has no partition.")
        holder = self._cluster.image.topic_by_id.get(topic.topic_id)
        if holder is not None:
            raise InconsistentTopicId(f"The id of topic '{topic.name}' belongs to topic '{holder.name}'.")
        epoch = self._cluster.image.controller_epoch
        numbers = range(topic.partition_count)
        states = {
            number: StateNode(broker_id, topic.leader_epochs.get(number, -1) + 1, (broker_id,), epoch)
            for number in numbers
        }
        assignment = dict.fromkeys(numbers, (broker_id,))
        return TopicPlan(topic.name, topic.topic_id, assignment, states, dict(topic.configs))

    def assign_missing_ids(self) -> list[str]:
        """Give an id to topics that were written without one (before KIP-516). Returns their names."""
        image = self._cluster.image
        names = [topic.name for topic in image.topics.values() if topic.topic_id == ZERO_UUID]
        operations: list[Operation] = []
        for name in names:
            topic = image.topics[name]
            operations.append(_rewrite(topic, random_uuid(self._rng), {}))
        if not operations:
            return names
        try:
            self._cluster.transaction(operations)
        except (BadVersion, NoNode) as error:
            self._cluster.refresh([error.path])  # Changed by hand at this moment: that change is noticed.
            return []
        return names

    # Growth

    def create_partitions(
        self, requests: Sequence[NewPartitions], validate_only: bool = False
    ) -> list[PartitionsResult]:
        """Returns one result for each name, duplicates first."""
        counts = Counter(request.name for request in requests)
        duplicate = InvalidRequest("Duplicate topic name.")
        results = [
            PartitionsResult(name, duplicate.code, duplicate.message) for name, n in counts.items() if n > 1
        ]
        wanted = [request for request in requests if counts[request.name] == 1]
        self._refresh_unknown(request.name for request in wanted)
        results += [self._grow(request, validate_only) for request in wanted]
        return results

    def _grow(self, request: NewPartitions, validate_only: bool) -> PartitionsResult:
        for _ in range(_ATTEMPTS):
            topic = self._cluster.image.topics.get(request.name)
            if topic is None:
                return PartitionsResult(request.name, ErrorCode.unknown_topic_or_partition)
            try:
                operations = self._growth(request, topic)
                if not validate_only:
                    self._cluster.transaction(operations)
                return PartitionsResult(request.name)
            except NotController:
                raise
            except KafkaError as error:
                return PartitionsResult(request.name, error.code, error.message)
            except (BadVersion, NodeExists, NoNode):
                self._cluster.refresh([paths.topic(request.name)])  # Another broker has changed it.
            except StoreError as error:
                logger.error("Cannot write new partitions to the metadata store: %s", error)
                return PartitionsResult(request.name, StorageError.code, str(error))
        return PartitionsResult(request.name, ErrorCode.request_timed_out)

    def _growth(self, request: NewPartitions, topic: TopicImage) -> list[Operation]:
        count = len(topic.partitions)
        if request.count == count:
            raise InvalidPartitions(f"Topic already has {count} partition(s).")
        if request.count < count:
            raise InvalidPartitions(
                f"The topic {topic.name} currently has {count} partition(s); "
                f"{request.count} would not be an increase."
            )
        if request.count - count > MAX_PARTITIONS_PER_REQUEST:
            raise PolicyViolation("Excessively large number of partitions per request.")
        added, states = place_partitions(request, topic, self._cluster.image, self._rng)
        return [_rewrite(topic, topic.topic_id, added), *create_partitions(topic.name, states)]

    # Deletion

    def delete_topics(self, topics: Sequence[TopicRef]) -> list[DeletedTopic]:
        """Returns one result for each topic, in Kafka's order: invalid references first."""
        if not self._settings.delete_topic_enable:
            return [
                DeletedTopic(topic.name, topic.topic_id, ErrorCode.topic_deletion_disabled)
                for topic in topics
            ]
        self._refresh_unknown(topic.name for topic in topics if topic.name is not None)
        return topic_deletion.delete_topics(self._cluster, topics)

    def _refresh_unknown(self, names: Iterable[str]) -> None:
        """Read unknown names again: another process may have created them since the last image."""
        known = self._cluster.image.topics
        unknown = [paths.topic(name) for name in names if name not in known and is_legal_topic_name(name)]
        if not unknown:
            return
        try:
            self._cluster.refresh(unknown)
        except StoreError as error:
            # The write that follows meets the same store: its result has the error.
            logger.warning("Cannot read %d topics from the metadata store: %s", len(unknown), error)


def _rewrite(topic: TopicImage, topic_id: UUID, added: Mapping[int, tuple[int, ...]]) -> Set:
    """The topic's node with another id or more partitions, if it has not been changed meanwhile."""
    partitions = topic.partitions.values()
    node = TopicNode(
        topic_id,
        {p.partition: p.replicas for p in partitions} | dict(added),
        {p.partition: p.adding for p in partitions if p.adding},
        {p.partition: p.removing for p in partitions if p.removing},
    )
    return Set(paths.topic(topic.name), nodes.encode_topic(node), topic.node_version)


def _refused(name: str, error: KafkaError) -> CreatedTopic:
    return CreatedTopic(name, error.code, error.message)


def _adopt_known(topic: AdoptedTopic, known: TopicImage) -> CreatedTopic:
    if known.topic_id != topic.topic_id:
        raise InconsistentTopicId(f"Topic '{topic.name}' is already registered with another id.")
    if topic.partition_count > len(known.partitions):
        raise InvalidPartitions(
            f"Topic '{topic.name}' is registered with {len(known.partitions)} partition(s), "
            f"but {topic.partition_count} were found."
        )
    return CreatedTopic(topic.name, topic_id=known.topic_id, num_partitions=len(known.partitions))
