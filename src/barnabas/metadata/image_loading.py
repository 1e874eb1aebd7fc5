"""From nodes to images: pure functions over the result of `MetadataStore.subtree`."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from barnabas.base.config.listeners import Listener
from barnabas.base.ids import ZERO_UUID
from barnabas.metadata import nodes, paths
from barnabas.metadata.image import (
    NO_LEADER,
    Address,
    BrokerImage,
    PartitionImage,
    Registration,
    TopicImage,
)
from barnabas.metadata.nodes import BrokerNode, RegistrationNode, StateNode, TopicNode

Tree = Mapping[str, tuple[bytes, int]]

_NO_STATE = (StateNode(leader=NO_LEADER, leader_epoch=-1, isr=(), controller_epoch=0), -1)
_States = dict[int, tuple[StateNode, int]]


def load_topics(tree: Tree) -> dict[str, TopicImage]:
    """Returns the topics of a tree that holds /brokers/topics, or one of its children, completely."""
    prefix = paths.TOPICS + "/"
    found: dict[str, tuple[TopicNode, int]] = {}
    states: dict[str, _States] = {}
    for path, (data, version) in tree.items():
        if not path.startswith(prefix):
            continue
        parts = path[len(prefix) :].split("/")
        if len(parts) == 1:
            found[parts[0]] = (nodes.read(path, data, nodes.decode_topic), version)
        elif len(parts) == 4 and parts[3] == "state":
            state = nodes.read(path, data, nodes.decode_state)
            states.setdefault(parts[0], {})[int(parts[2])] = (state, version)
    return {
        name: load_topic(name, node, version, states.get(name, {})) for name, (node, version) in found.items()
    }


def index_by_id(topics: Mapping[str, TopicImage]) -> dict[UUID, TopicImage]:
    """Topics that were written before topic ids (KIP-516) are in no index."""
    return {topic.topic_id: topic for topic in topics.values() if topic.topic_id != ZERO_UUID}


def load_topic(name: str, node: TopicNode, version: int, states: _States) -> TopicImage:
    partitions = {
        number: load_partition(node, number, *states.get(number, _NO_STATE))
        for number in sorted(node.assignment)
    }
    return TopicImage(name, node.topic_id, partitions, version)


def load_partition(node: TopicNode, number: int, state: StateNode, version: int) -> PartitionImage:
    return PartitionImage(
        number,
        state.leader,
        state.leader_epoch,
        state.isr,
        node.assignment[number],
        node.adding.get(number, ()),
        node.removing.get(number, ()),
        version,
        state.elr,
        state.last_known_elr,
        state.is_recovering,
    )


def with_states(topic: TopicImage, states: Mapping[int, tuple[StateNode, int]]) -> TopicImage:
    """Returns the topic with new leaders and in-sync replicas of some partitions."""
    partitions = dict(topic.partitions)
    for number, (state, version) in states.items():
        partitions[number] = partitions[number]._replace(
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            state_version=version,
            elr=state.elr,
            last_known_elr=state.last_known_elr,
            is_recovering=state.is_recovering,
        )
    return TopicImage(topic.name, topic.topic_id, partitions, topic.node_version)


def load_registration(
    broker_id: int, session: tuple[BrokerNode, int] | None, record: tuple[RegistrationNode, int] | None
) -> Registration | None:
    """A broker from its node below /brokers/ids, with its epoch, and its registration, with its version.

    A broker without a registration is one of another implementation: its session makes it active.
    """
    if session is not None and record is None:
        broker = _broker(broker_id, session[0].listeners, session[0].rack, session[1])
        return Registration(broker, True, session[1], False)
    if record is None:
        return None
    node, version = record
    epoch = node.active_epoch if session is None else session[1]
    broker = _broker(broker_id, node.listeners, node.rack, epoch, node.is_shutting_down)
    return Registration(
        broker,
        session is not None,
        node.active_epoch,
        node.is_unclean,
        node.software,
        version,
        node.offline_replicas,
    )


def _broker(
    broker_id: int,
    listeners: Iterable[Listener],
    rack: str | None,
    epoch: int,
    is_shutting_down: bool = False,
) -> BrokerImage:
    endpoints = {listener.name: Address(listener.host, listener.port) for listener in listeners}
    return BrokerImage(broker_id, endpoints, rack, epoch, is_shutting_down)


def active_brokers(registrations: Mapping[int, Registration]) -> dict[int, BrokerImage]:
    return {number: each.broker for number, each in registrations.items() if each.is_active}


def load_configs(tree: Tree, root: str) -> dict[str, dict[str, str]]:
    """Configurations by resource name. Resources without a configuration are left out."""
    prefix = root + "/"
    start = len(prefix)
    loaded: dict[str, dict[str, str]] = {}
    for path, (data, _) in tree.items():
        if path.startswith(prefix) and "/" not in path[start:]:
            configs = nodes.read(path, data, nodes.decode_config)
            if configs:
                loaded[entity_name(path[start:])] = configs
    return loaded


def entity_name(element: str) -> str:
    return "" if element == paths.DEFAULT_ENTITY else paths.unescape(element)


def missing_paths(tree: Tree) -> list[str]:
    return [path for path in paths.PERSISTENT if path not in tree]
