"""From nodes to images: pure functions over what `MetadataStore.subtree` returns."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from barnabas.base.ids import ZERO_UUID
from barnabas.metadata import nodes, paths
from barnabas.metadata.image import NO_LEADER, Address, BrokerImage, PartitionImage, TopicImage
from barnabas.metadata.nodes import BrokerNode, StateNode, TopicNode

Tree = Mapping[str, tuple[bytes, int]]

_NO_STATE = (StateNode(leader=NO_LEADER, leader_epoch=-1, isr=(), controller_epoch=0), -1)
_States = dict[int, tuple[StateNode, int]]


def load_topics(tree: Tree) -> dict[str, TopicImage]:
    """The topics of a tree that holds /brokers/topics, or one of its children, whole."""
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
    """Topics that were written before there were ids are in no index."""
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
    )


def with_states(topic: TopicImage, states: Mapping[int, tuple[StateNode, int]]) -> TopicImage:
    """The topic with other leaders and in-sync replicas in some of its partitions."""
    partitions = dict(topic.partitions)
    for number, (state, version) in states.items():
        partitions[number] = partitions[number]._replace(
            leader=state.leader, leader_epoch=state.leader_epoch, isr=state.isr, state_version=version
        )
    return TopicImage(topic.name, topic.topic_id, partitions, topic.node_version)


def load_broker(broker_id: int, node: BrokerNode, epoch: int) -> BrokerImage:
    endpoints = {listener.name: Address(listener.host, listener.port) for listener in node.listeners}
    return BrokerImage(broker_id, endpoints, node.rack, epoch)


def load_configs(tree: Tree, root: str) -> dict[str, dict[str, str]]:
    """Settings by the name of what they are for, as resources are named; what has none is left out."""
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


def broker_ids(tree: Iterable[str]) -> list[int]:
    prefix = paths.BROKER_IDS + "/"
    return [int(path[len(prefix) :]) for path in tree if path.startswith(prefix)]
