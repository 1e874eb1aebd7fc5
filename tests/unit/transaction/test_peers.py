"""Transactions of several brokers: markers go to the leaders, verifications to the coordinator."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fakes.node import Node
from tests.unit.transaction.test_coordinator import EPOCH, NAME, PRODUCER, markers_in, prepared, state_of

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, NotLeaderOrFollower
from barnabas.base.ids import TopicPartition
from barnabas.metadata.image import NO_LEADER, ClusterImage
from barnabas.replication.partition import Partition
from barnabas.runtime.end_marker import EndMarker
from barnabas.runtime.hosted_shard import HostedShard
from barnabas.transaction.coordinator import TransactionCoordinator
from barnabas.transaction.peers import Codes
from barnabas.transaction.requests import InitProducerId, TransactionPartitions
from barnabas.transaction.shard import TransactionShard
from barnabas.transaction.transaction import Transaction
from barnabas.transaction.transaction_record import TransactionRecord

SECOND = TopicPartition("topic", 1)
OTHER, THIRD = 7, 8


class FakePeers:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.markers: list[tuple[int, TopicPartition, EndMarker]] = []
        self.verified: list[tuple[int, TransactionPartitions]] = []
        self.answers: list[Deferred[None]] = []

    def write_marker(self, broker_id: int, partition: TopicPartition, marker: EndMarker) -> Deferred[None]:
        self.markers.append((broker_id, partition, marker))
        self.answers.append(Deferred())
        return self.answers[-1]

    def verify_partitions(self, broker_id: int, requested: TransactionPartitions) -> Deferred[Codes]:
        self.verified.append((broker_id, requested))
        return Deferred.of(dict.fromkeys(requested.partitions, ErrorCode.none))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path, {})
    node.create_topic("__transaction_state", 1)
    node.create_topic("topic", 2)
    yield node
    node.close()


def coordinator_of(
    node: Node, peers: FakePeers | None, image: ClusterImage, transaction: Transaction | None = None
) -> TransactionCoordinator:
    def load(hosted: HostedShard[TransactionShard], partition: Partition) -> None:
        if transaction is not None:
            hosted.shard.replay(TransactionRecord(transaction, transaction.transactional_id))
        hosted.activate()

    coordinator = TransactionCoordinator(
        node.config,
        node.partitions,
        node.clock,
        load,
        node.later,
        lambda callback: callback(),
        node.parts.groups.get,
        lambda: None,
        peers,
    )
    coordinator.follow(image)
    return coordinator


def led_by(image: ClusterImage, topic: str, partition: int, leader: int) -> ClusterImage:
    found = image.topics[topic]
    changed = {**found.partitions, partition: found.partitions[partition]._replace(leader=leader)}
    return replace(image, topics={**image.topics, topic: replace(found, partitions=changed)})


# --- markers ----------------------------------------------------------------------------------------------


def test_each_marker_goes_to_the_leader_of_its_partition(node: Node) -> None:
    peers = FakePeers()
    image = led_by(node.image, "topic", 1, OTHER)
    coordinator = coordinator_of(node, peers, image, prepared(("topic", 0), ("topic", 1)))
    assert len(markers_in(node, "topic", 0)) == 1
    assert peers.markers == [(OTHER, SECOND, EndMarker(PRODUCER, EPOCH, 0, True, 2))]
    assert state_of(coordinator) == "PrepareCommit"
    peers.answers[0].complete(None)
    assert state_of(coordinator) == "CompleteCommit"
    assert markers_in(node, "topic", 1) == []


def test_the_leader_is_looked_up_again_at_each_attempt(node: Node) -> None:
    peers = FakePeers()
    image = led_by(node.image, "topic", 1, OTHER)
    coordinator = coordinator_of(node, peers, image, prepared(("topic", 1)))
    peers.answers[0].fail(NotLeaderOrFollower("moved"))
    coordinator.follow(led_by(image, "topic", 1, NO_LEADER))
    node.advance(100)
    coordinator.follow(led_by(image, "topic", 1, THIRD))
    node.advance(100)
    assert [broker_id for broker_id, _, _ in peers.markers] == [OTHER, THIRD]
    peers.answers[1].fail(NotLeaderOrFollower("moved"))
    coordinator.follow(node.image)
    node.advance(100)
    assert len(markers_in(node, "topic", 1)) == 1
    assert state_of(coordinator) == "CompleteCommit"


def test_without_peers_a_marker_waits_until_this_broker_leads(node: Node) -> None:
    coordinator = coordinator_of(node, None, led_by(node.image, "topic", 1, OTHER), prepared(("topic", 1)))
    node.advance(100)
    assert state_of(coordinator) == "PrepareCommit"
    coordinator.follow(node.image)
    node.advance(100)
    assert state_of(coordinator) == "CompleteCommit"


# --- verification -----------------------------------------------------------------------------------------


def codes(coordinator: TransactionCoordinator, *, is_added: bool, producer_id: int = 5) -> Codes:
    requested = TransactionPartitions(NAME, producer_id, 0, [SECOND], is_added)
    return coordinator.verify(requested).result()


@pytest.mark.parametrize("is_added", [True, False])
def test_a_coordinator_elsewhere_is_called_by_its_broker(node: Node, is_added: bool) -> None:
    peers = FakePeers()
    coordinator = coordinator_of(node, peers, led_by(node.image, "__transaction_state", 0, OTHER))
    assert codes(coordinator, is_added=is_added) == {SECOND: ErrorCode.none}
    assert peers.verified == [(OTHER, TransactionPartitions(NAME, 5, 0, [SECOND], is_added))]


def test_a_coordinator_here_adds_and_verifies(node: Node) -> None:
    peers = FakePeers()
    coordinator = coordinator_of(node, peers, node.image)
    coordinator.write(NAME, lambda shard: shard.init_producer_id(InitProducerId(NAME, 1000), 5)).result()
    assert codes(coordinator, is_added=False) == {SECOND: ErrorCode.transaction_abortable}
    assert codes(coordinator, is_added=True) == {SECOND: ErrorCode.none}
    assert codes(coordinator, is_added=False) == {SECOND: ErrorCode.none}
    assert codes(coordinator, is_added=True, producer_id=6) == {SECOND: ErrorCode.invalid_producer_id_mapping}
    assert peers.verified == []


def test_without_a_coordinator_the_error_is_that_of_each_partition(node: Node) -> None:
    elsewhere = led_by(node.image, "__transaction_state", 0, OTHER)
    nowhere = led_by(node.image, "__transaction_state", 0, NO_LEADER)
    found = codes(coordinator_of(node, None, elsewhere), is_added=True)
    assert found == {SECOND: ErrorCode.not_coordinator}
    found = codes(coordinator_of(node, FakePeers(), nowhere), is_added=True)
    assert found == {SECOND: ErrorCode.coordinator_not_available}
