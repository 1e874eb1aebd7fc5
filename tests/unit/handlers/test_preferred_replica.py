"""Which replica a leader sends a consumer to (KIP-392)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.node import Node
from tests.integration.clients.requests import values_in
from tests.unit.handlers.conftest import StartNode
from tests.unit.handlers.test_fetch import NEWEST, Consumer, append

from barnabas.metadata.image import Address, BrokerImage

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER = 0
ENDPOINTS = {"PLAINTEXT": Address("localhost", 1)}


class Racks(Consumer):
    """Broker 0 leads in rack a, brokers 1 and 2 follow in racks b and c."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        node.create_topic("t")
        append(node, b"a")
        self.register({0: "a", 1: "b", 2: "c"})
        self.follow((0, 1, 2))
        for follower in (1, 2):
            self.fetched(follower, 1)

    def register(self, racks: dict[int, str]) -> None:
        brokers = {each: BrokerImage(each, ENDPOINTS, rack, 1) for each, rack in racks.items()}
        self.node.cluster.image = replace(self.node.cluster.image, brokers=brokers)

    def follow(self, isr: tuple[int, ...], version: int = 1) -> None:
        image = self.node.image.topics["t"].partitions[0]
        self.node.partitions.get("t", 0).follow(
            image._replace(replicas=(0, 1, 2), isr=isr, state_version=image.state_version + version)
        )

    def fetched(self, follower: int, offset: int) -> None:
        self.node.partitions.get("t", 0).on_follower_fetch(follower, offset, 0, 1)

    def preferred(self, rack: str, offset: int = 0, **options: Any) -> int:
        found = self.partition(offset, rack=rack, max_wait=60_000, min_bytes=1 << 20, **options)
        assert not found.records
        return int(found.preferred_read_replica)


@pytest.fixture
def racks(start_node: StartNode, tmp_path: Path) -> Racks:
    return Racks(start_node({"replica.selector.class": SELECTOR, "node.id": str(LEADER)}))


@pytest.mark.parametrize("version", [11, 12])
def test_consumer_is_sent_to_the_replica_in_its_rack_at_once(racks: Racks, version: int) -> None:
    assert racks.preferred("b", version=version) == 1
    assert racks.preferred("c", version=version) == 2
    topic_id = racks.node.image.topics["t"].topic_id
    assert racks.preferred("c", version=NEWEST, number=topic_id) == 2


@pytest.mark.parametrize("rack", ["a", "", "elsewhere"])
def test_leader_serves_its_own_rack_and_those_without_a_replica(racks: Racks, rack: str) -> None:
    found = racks.partition(0, rack=rack)
    assert (values_in(found.records), found.preferred_read_replica) == ([b"a"], -1)


def test_replica_out_of_sync_or_fenced_or_behind_the_offset_is_not_preferred(racks: Racks) -> None:
    append(racks.node, b"b")
    racks.fetched(1, 2)
    assert racks.preferred("b", 2) == 1
    assert racks.partition(2, rack="c").preferred_read_replica == -1  # it has not that offset yet
    racks.register({0: "a", 2: "c"})
    assert racks.partition(0, rack="b").preferred_read_replica == -1
    racks.follow((0, 1), 2)
    assert racks.partition(0, rack="c").preferred_read_replica == -1


def test_broker_without_a_selector_serves_every_rack_itself(start_node: StartNode) -> None:
    racks = Racks(start_node({"node.id": "0"}))
    assert values_in(racks.partition(0, rack="b").records) == [b"a"]


def test_preferred_replica_is_in_the_response_of_a_session(racks: Racks) -> None:
    opened = racks.fetch(0, rack="b", session_epoch=0)
    again = racks.fetch(rack="b", session_id=opened.session_id, session_epoch=1)
    (found,) = again.responses[0].partitions
    assert found.preferred_read_replica == 1
