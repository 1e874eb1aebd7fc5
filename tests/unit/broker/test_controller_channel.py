import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from tests.fakes.node import Node, entity
from tests.strategies.entities import read, written

from barnabas.base.errors import ErrorCode, InvalidRequest, NotController
from barnabas.broker.controller_channel import ControllerChannel
from barnabas.metadata.image import NO_CONTROLLER, PartitionImage
from barnabas.metadata.isr_proposal import IsrProposal, IsrResult
from barnabas.metadata.store import StoreError
from barnabas.network.broker_client import BrokerClient
from barnabas.network.outbound_channel import OutboundChannel, Response
from barnabas.network.transport import Endpoint
from barnabas.wire.outgoing_request import RequestBuilder

P = ParamSpec("P")
T = TypeVar("T")

ALTER_PARTITION, VERSION = 56, 3
A, B = UUID(int=1), UUID(int=2)
PROPOSALS = [
    IsrProposal(A, 0, 4, 7, ((1, -1), (2, 33))),
    IsrProposal(B, 0, 5, 8, ((1, -1),), is_recovering=True),
    IsrProposal(A, 1, 6, 9, ((1, -1), (3, 44))),
]


class Controllers(BrokerClient):
    """Notes requests, and responds with what the test has set."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(lambda _: None, _no_channel, loop)
        self.sent: list[tuple[int, RequestBuilder]] = []
        self.response: bytes = b""

    def send(
        self, broker_id: int, request: RequestBuilder, *, purpose: str = "", timeout: float | None = None
    ) -> "asyncio.Future[Response]":
        self.sent.append((broker_id, request))
        future: asyncio.Future[Response] = self._loop.create_future()
        future.set_result(Response(VERSION, memoryview(bytearray(self.response))))
        return future


def _no_channel(broker_id: int, purpose: str, endpoint: Endpoint) -> OutboundChannel:
    raise AssertionError("no request goes through the network")


class FailingThread:
    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        raise StoreError("no response")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path, {})
    yield node
    node.close()


@pytest.fixture
def client(node: Node) -> Controllers:
    return Controllers(node.loop)


def alter(node: Node, client: Controllers, proposals: list[IsrProposal], thread: Any = None) -> Any:
    replication = node._replication
    channel = ControllerChannel(replication.controller, replication.membership, thread or node, client)
    return node.loop.run_until_complete(channel.alter_partitions(proposals))


def follow_controller(node: Node, broker_id: int) -> None:
    node.cluster.image = replace(node.cluster.image, controller_id=broker_id)


def respond(client: Controllers, error: KioErrorCode, *topics: dict[str, Any]) -> None:
    fields = {"error_code": error, "topics": topics}
    client.response = written(entity(load_response_schema(ALTER_PARTITION, VERSION), fields))


def test_proposals_and_states_pass_through_the_bytes_of_alter_partition(
    node: Node, client: Controllers
) -> None:
    follow_controller(node, 9)
    state = {"leader_id": 1, "leader_epoch": 4, "isr": [1, 2], "partition_epoch": 8}
    known = {"partition_index": 0, "error_code": KioErrorCode.none, "leader_recovery_state": 1} | state
    refused = {"partition_index": 1, "error_code": KioErrorCode.ineligible_replica}
    respond(
        client,
        KioErrorCode.none,
        {"topic_id": A, "partitions": [known, refused]},
        {"topic_id": UUID(int=3), "partitions": [known]},  # Not proposed.
    )

    results = alter(node, client, PROPOSALS)

    assert results == [
        IsrResult(PROPOSALS[0], state=PartitionImage(0, 1, 4, (1, 2), (), (), (), 8, is_recovering=True)),
        IsrResult(PROPOSALS[2], ErrorCode.ineligible_replica),
    ]
    ((broker_id, request),) = client.sent
    assert (broker_id, request.oldest, request.newest, request.is_advertised) == (9, VERSION, VERSION, False)
    sent = read(load_request_schema(ALTER_PARTITION, VERSION), b"".join(request.build(VERSION).parts))
    assert (sent.broker_id, sent.broker_epoch) == (0, node._replication.membership.epoch)
    assert [
        IsrProposal(
            topic.topic_id,
            each.partition_index,
            each.leader_epoch,
            each.partition_epoch,
            tuple((member.broker_id, member.broker_epoch) for member in each.new_isr_with_epochs),
            bool(each.leader_recovery_state),
        )
        for topic in sent.topics
        for each in topic.partitions
    ] == [PROPOSALS[0], PROPOSALS[2], PROPOSALS[1]]


def test_error_of_the_whole_request_is_raised(node: Node, client: Controllers) -> None:
    follow_controller(node, 9)
    respond(client, KioErrorCode.stale_broker_epoch)
    with pytest.raises(NotController, match="error 77"):
        alter(node, client, PROPOSALS)
    client.response = b"\x00"
    with pytest.raises(InvalidRequest, match="ALTER_PARTITION"):
        alter(node, client, PROPOSALS)


def test_nothing_is_sent_without_a_controller(node: Node, client: Controllers) -> None:
    follow_controller(node, NO_CONTROLLER)
    with pytest.raises(NotController, match="No broker"):
        alter(node, client, PROPOSALS)
    assert client.sent == []


def test_controller_decides_about_its_own_proposals_without_a_request(
    node: Node, client: Controllers
) -> None:
    node.create_topic("t")
    topic = node.image.topics["t"]
    state = topic.partitions[0]
    proposal = IsrProposal(topic.topic_id, 0, state.leader_epoch, state.state_version, ((0, -1),))
    assert alter(node, client, [proposal]) == [IsrResult(proposal, state=state)]
    with pytest.raises(NotController, match="no response"):
        alter(node, client, [proposal], FailingThread())
    assert client.sent == []
