"""The cluster's metadata: an image of the store, kept current.

Writes of this process go through `transaction` and are in `image` when it returns. Writes of other processes
arrive by a watch. All methods block on the store and run on its thread. Only `image` may be read from any
thread without a lock. Subscribers are called on the thread that noticed the change, one change after another,
and must not block.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from barnabas.base.ids import encode_uuid, random_uuid
from barnabas.metadata import image_loading, nodes, paths
from barnabas.metadata.image import NO_CONTROLLER, ClusterImage, Registration, TopicImage
from barnabas.metadata.nodes import BrokerNode, RegistrationNode, StateNode
from barnabas.metadata.staleness import Stale
from barnabas.metadata.store import (
    Create,
    MetadataStore,
    NodeExists,
    NoNode,
    Operation,
    OperationResult,
    PathError,
    SessionExpired,
    StoreError,
    Watch,
    WatchEvent,
)

logger = logging.getLogger(__name__)

_RELOAD_ALL_FROM = 100
"""With this many topics out of date, one bulk read is cheaper than one read for each."""


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """From one image to the next: the names of what was created, changed or deleted."""

    before: ClusterImage
    image: ClusterImage
    topics: frozenset[str] = frozenset()
    topic_configs: frozenset[str] = frozenset()
    broker_configs: frozenset[str] = frozenset()
    group_configs: frozenset[str] = frozenset()

    @property
    def brokers_changed(self) -> bool:
        return self.before.registrations != self.image.registrations

    @property
    def controller_changed(self) -> bool:
        return self.before.controller_id != self.image.controller_id


Subscriber = Callable[[ClusterChange], None]


class ClusterMetadata:
    def __init__(self, store: MetadataStore) -> None:
        self.store: MetadataStore = store
        self.image: ClusterImage = ClusterImage()
        self._lock: threading.RLock = threading.RLock()
        self._subscribers: list[Subscriber] = []
        self._watch: Watch | None = None
        self._missed_something: bool = False

    # The image

    def load(self, cluster_id: str | None = None) -> ClusterImage:
        """Read everything and follow it. An empty store gets `cluster_id`, or a random one."""
        with self._lock:
            if self._watch is None:
                self._watch = self.store.watch("/", self._on_events, recursive=True, skip_own=True)
            tree = self.store.subtree("/")
            if self._lay_out(tree, cluster_id):
                tree = self.store.subtree("/")
            self._publish(self._image_of(tree))
            return self.image

    def close(self) -> None:
        """Stop following the store, which stays open."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()

    def cluster_id(self) -> str:
        """The cluster's id. It is generated when the store is used for the first time."""
        return self.image.cluster_id or self.load().cluster_id

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call back with every further change. Returns a function that ends the subscription."""
        with self._lock:
            self._subscribers = [*self._subscribers, callback]

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers = [other for other in self._subscribers if other is not callback]

        return unsubscribe

    def transaction(self, operations: Sequence[Operation]) -> list[OperationResult]:
        """Write to the store, all or nothing. The image includes the changes when this returns."""
        try:
            results = self.store.transaction(operations)
        except (PathError, SessionExpired):
            raise
        except StoreError:
            # It may have been written: the response was lost, and there is no event for an own write.
            self._missed_something = True
            raise
        self.refresh(operation.path for operation in operations)
        return results

    def refresh(self, changed: Iterable[str]) -> None:
        """Read these paths again."""
        with self._lock:
            stale = Stale.after(changed)
            if stale.everything or self._missed_something:
                self._publish(self._image_of(self.store.subtree("/")))
                self._missed_something = False
            else:
                # A bulk read of the topics may find more changes than those that are known by now.
                is_bulk = len(stale.topics) >= _RELOAD_ALL_FROM
                self._publish(self._updated(stale), None if is_bulk else stale)

    def _lay_out(self, tree: image_loading.Tree, cluster_id: str | None) -> bool:
        missing = image_loading.missing_paths(tree)
        operations = [Create(path) for path in missing]
        if paths.CLUSTER_ID not in tree:
            wanted = cluster_id or encode_uuid(random_uuid())
            operations.append(Create(paths.CLUSTER_ID, nodes.encode_cluster_id(wanted)))
        if not operations:
            return False
        try:
            self.store.transaction(operations)
        except NodeExists:
            # Another broker is starting at the same moment: read what is left to create.
            return self._lay_out(self.store.subtree("/"), cluster_id) or True
        return True

    def _on_events(self, events: Sequence[WatchEvent]) -> None:
        try:
            self.refresh(event.path for event in events)
        except SessionExpired:
            pass
        except StoreError as error:
            self._missed_something = True
            logger.error("Cannot read a change of the cluster metadata: %s", error)

    def _publish(self, image: ClusterImage, stale: Stale | None = None) -> None:
        """With `stale`, only what was read again is compared: a cluster may have thousands of topics."""
        before, self.image = self.image, image
        if before == image:
            return
        names = stale or _everything(before, image)
        change = ClusterChange(
            before,
            image,
            _different(before.topics, image.topics, names.topics),
            _different(before.topic_configs, image.topic_configs, names.topic_configs),
            _different(before.broker_configs, image.broker_configs, names.broker_configs),
            _different(before.group_configs, image.group_configs, names.group_configs),
        )
        for subscriber in self._subscribers:
            try:
                subscriber(change)
            except Exception:
                logger.exception("Unexpected error in a subscriber to the cluster metadata")

    def _image_of(self, tree: image_loading.Tree) -> ClusterImage:
        topics = image_loading.load_topics(tree)
        registrations = self._load_registrations()
        return ClusterImage(
            cluster_id=nodes.read(paths.CLUSTER_ID, tree[paths.CLUSTER_ID][0], nodes.decode_cluster_id),
            controller_id=_decode(tree, paths.CONTROLLER, nodes.decode_controller, NO_CONTROLLER),
            controller_epoch=_decode(tree, paths.CONTROLLER_EPOCH, nodes.decode_controller_epoch, 0),
            brokers=image_loading.active_brokers(registrations),
            registrations=registrations,
            topics=topics,
            topic_by_id=image_loading.index_by_id(topics),
            topic_configs=image_loading.load_configs(tree, paths.TOPIC_CONFIGS),
            broker_configs=image_loading.load_configs(tree, paths.BROKER_CONFIGS),
            group_configs=image_loading.load_configs(tree, paths.GROUP_CONFIGS),
        )

    def _updated(self, stale: Stale) -> ClusterImage:
        image = self.image
        if stale.topics:
            image = self._with_topics(image, stale.topics)
        if stale.brokers:
            registrations = self._load_registrations()
            brokers = image_loading.active_brokers(registrations)
            image = replace(image, brokers=brokers, registrations=registrations)
        if stale.controller:
            tree = self.store.subtree(paths.CONTROLLER) | self.store.subtree(paths.CONTROLLER_EPOCH)
            controller_id = _decode(tree, paths.CONTROLLER, nodes.decode_controller, NO_CONTROLLER)
            epoch = _decode(tree, paths.CONTROLLER_EPOCH, nodes.decode_controller_epoch, 0)
            image = replace(image, controller_id=controller_id, controller_epoch=epoch)
        if stale.topic_configs:
            configs = self._with_configs(image.topic_configs, stale.topic_configs, paths.topic_config)
            image = replace(image, topic_configs=configs)
        if stale.broker_configs:
            configs = self._with_configs(image.broker_configs, stale.broker_configs, paths.broker_config)
            image = replace(image, broker_configs=configs)
        if stale.group_configs:
            configs = self._with_configs(image.group_configs, stale.group_configs, paths.group_config)
            image = replace(image, group_configs=configs)
        return image

    def _with_topics(self, image: ClusterImage, stale: Mapping[str, set[int] | None]) -> ClusterImage:
        if len(stale) >= _RELOAD_ALL_FROM:
            topics = image_loading.load_topics(self.store.subtree(paths.TOPICS))
            by_id = image_loading.index_by_id(topics)
            return replace(image, topics=topics, topic_by_id=by_id)
        topics, by_id = dict(image.topics), dict(image.topic_by_id)
        for name, partitions in stale.items():
            known = topics.pop(name, None)
            if known is not None:
                by_id.pop(known.topic_id, None)
            topic = self._reload_topic(known, name, partitions)
            if topic is not None:
                topics[name] = topic
                by_id.update(image_loading.index_by_id({name: topic}))
        return replace(image, topics=topics, topic_by_id=by_id)

    def _reload_topic(
        self, known: TopicImage | None, name: str, partitions: set[int] | None
    ) -> TopicImage | None:
        if known is not None and partitions is not None and partitions <= known.partitions.keys():
            try:
                return image_loading.with_states(
                    known, {number: self._read_state(name, number) for number in partitions}
                )
            except NoNode:
                pass  # Deleted meanwhile: read the whole topic.
        return image_loading.load_topics(self.store.subtree(paths.topic(name))).get(name)

    def _read_state(self, topic: str, partition: int) -> tuple[StateNode, int]:
        path = paths.partition_state(topic, partition)
        data, stat = self.store.get(path)
        return nodes.read(path, data, nodes.decode_state), stat.version

    def _load_registrations(self) -> dict[int, Registration]:
        sessions = {
            int(name): self._read_session(int(name)) for name in self.store.children(paths.BROKER_IDS)
        }
        records = self._read_records()
        registrations: dict[int, Registration] = {}
        for broker_id in sorted(sessions.keys() | records.keys()):
            session, record = sessions.get(broker_id), records.get(broker_id)
            found = image_loading.load_registration(broker_id, session, record)
            if found is not None:
                registrations[broker_id] = found
        return registrations

    def _read_session(self, broker_id: int) -> tuple[BrokerNode, int] | None:
        path = paths.broker(broker_id)
        try:
            data, stat = self.store.get(path)
        except NoNode:
            return None
        return nodes.read(path, data, nodes.decode_broker), stat.created_in

    def _read_records(self) -> dict[int, tuple[RegistrationNode, int]]:
        prefix = paths.REGISTRATIONS + "/"
        return {
            int(path[len(prefix) :]): (nodes.read(path, data, nodes.decode_registration), version)
            for path, (data, version) in self.store.subtree(paths.REGISTRATIONS).items()
            if path.startswith(prefix)
        }

    def _with_configs(
        self, known: Mapping[str, dict[str, str]], names: Iterable[str], path_of: Callable[[str], str]
    ) -> dict[str, dict[str, str]]:
        configs = dict(known)
        for name in names:
            configs.pop(name, None)
            tree = self.store.subtree(path_of(name))
            configs.update(image_loading.load_configs(tree, path_of(name).rpartition("/")[0]))
        return configs


def _decode(tree: image_loading.Tree, path: str, decode: Callable[[bytes], int], otherwise: int) -> int:
    return nodes.read(path, tree[path][0], decode) if path in tree else otherwise


def _everything(before: ClusterImage, image: ClusterImage) -> Stale:
    """All names of both images, as if each of them had been read again."""
    return Stale(
        topics=dict.fromkeys([*before.topics, *image.topics]),
        topic_configs={*before.topic_configs, *image.topic_configs},
        broker_configs={*before.broker_configs, *image.broker_configs},
        group_configs={*before.group_configs, *image.group_configs},
    )


def _different(
    before: Mapping[str, object], after: Mapping[str, object], among: Iterable[str]
) -> frozenset[str]:
    """Those of the names whose value was added, changed or removed."""
    return frozenset(name for name in among if before.get(name) != after.get(name))
