"""Requests of this broker to the controller: to itself, or to another broker by AlterPartition (56) and
BrokerHeartbeat (63).

The controller is looked up for each request. A broker that is not the controller any more answers
NOT_CONTROLLER, and the caller repeats the request.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from barnabas.base.errors import ErrorCode, NotController
from barnabas.controller.brokers import begin_controlled_shutdown
from barnabas.controller.controller import Controller
from barnabas.controller.isr_changes import alter_partitions
from barnabas.handlers.context import StoreThread
from barnabas.metadata.image import NO_CONTROLLER, PartitionImage
from barnabas.metadata.isr_proposal import IsrProposal, IsrResult
from barnabas.metadata.membership import Membership
from barnabas.metadata.store import StoreError
from barnabas.network.broker_client import BrokerClient
from barnabas.wire.message_codec import decode_body, message_request
from barnabas.wire.outgoing_request import RequestBuilder

_VERSION = 3
"""Of AlterPartition: the first with the broker epochs of the ISR (KIP-903)."""
_HEARTBEAT_VERSION = 1
"""Of BrokerHeartbeat: the newest that every controller serves."""
_PURPOSE = "controller"
_TIMEOUT_SECONDS = 10.0


class ControllerChannel:
    def __init__(
        self, controller: Controller, membership: Membership, thread: StoreThread, client: BrokerClient
    ) -> None:
        self._controller: Controller = controller
        self._membership: Membership = membership
        self._thread: StoreThread = thread
        self._client: BrokerClient = client

    async def alter_partitions(self, proposals: Sequence[IsrProposal]) -> Sequence[IsrResult]:
        """Raises KafkaError if the controller has not decided."""
        broker_id, epoch = self._membership.broker_id, self._membership.epoch
        controller_id = self._controller_id()
        if controller_id == broker_id:
            try:
                return await self._thread.run(alter_partitions, self._controller, broker_id, epoch, proposals)
            except StoreError as error:
                raise NotController(f"The metadata store does not respond: {error}") from error
        request = alter_partition_request(broker_id, epoch, proposals)
        response = await self._client.send(controller_id, request, purpose=_PURPOSE, timeout=_TIMEOUT_SECONDS)
        return parse_alter_partition(response.version, response.body, proposals)

    async def begin_shutdown(self) -> bool:
        """Hand over the leaderships of this broker. Returns whether it has none left.

        Raises KafkaError if the controller has not decided.
        """
        broker_id, epoch = self._membership.broker_id, self._membership.epoch
        controller_id = self._controller_id()
        if controller_id == broker_id:
            try:
                return await self._thread.run(begin_controlled_shutdown, self._controller, broker_id, epoch)
            except StoreError as error:
                raise NotController(f"The metadata store does not respond: {error}") from error
        fields = {"broker_id": broker_id, "broker_epoch": epoch, "want_shut_down": True}
        request = message_request("broker_heartbeat", fields, newest=_HEARTBEAT_VERSION)
        request = request._replace(is_advertised=False)
        response = await self._client.send(controller_id, request, purpose=_PURPOSE, timeout=_TIMEOUT_SECONDS)
        answer = decode_body("broker_heartbeat", response.version, response.body)
        if answer.error_code:
            raise NotController(
                f"The controller refused BROKER_HEARTBEAT with error {int(answer.error_code)}"
            )
        return bool(answer.should_shut_down)

    def _controller_id(self) -> int:
        found = self._controller.image.controller_id
        if found == NO_CONTROLLER:
            raise NotController("No broker is the controller.")
        return found


def alter_partition_request(
    broker_id: int, broker_epoch: int, proposals: Sequence[IsrProposal]
) -> RequestBuilder:
    topics: dict[UUID, list[Mapping[str, Any]]] = defaultdict(list)
    for each in proposals:
        topics[each.topic_id].append(
            {
                "partition_index": each.partition,
                "leader_epoch": each.leader_epoch,
                "new_isr_with_epochs": [
                    {"broker_id": member, "broker_epoch": epoch} for member, epoch in each.isr
                ],
                "leader_recovery_state": int(each.is_recovering),
                "partition_epoch": each.partition_epoch,
            }
        )
    fields = {
        "broker_id": broker_id,
        "broker_epoch": broker_epoch,
        "topics": [{"topic_id": topic, "partitions": each} for topic, each in topics.items()],
    }
    request = message_request("alter_partition", fields, oldest=_VERSION, newest=_VERSION)
    return request._replace(is_advertised=False)


def parse_alter_partition(
    version: int, body: memoryview, proposals: Sequence[IsrProposal]
) -> list[IsrResult]:
    """Raises KafkaError if the whole request failed, or if the bytes are not a response."""
    response = decode_body("alter_partition", version, body)
    if response.error_code:
        raise NotController(f"The controller refused ALTER_PARTITION with error {int(response.error_code)}")
    proposed = {(each.topic_id, each.partition): each for each in proposals}
    return [
        IsrResult(proposed[key], ErrorCode(error), state)
        for key, error, state in _states(response)
        if key in proposed
    ]


def _states(response: Any) -> Iterator[tuple[tuple[UUID, int], int, PartitionImage | None]]:
    for topic in response.topics:
        for each in topic.partitions:
            state = None
            if not each.error_code:
                state = PartitionImage(
                    each.partition_index,
                    int(each.leader_id),
                    each.leader_epoch,
                    tuple(map(int, each.isr)),
                    (),
                    (),
                    (),
                    each.partition_epoch,
                    is_recovering=bool(each.leader_recovery_state),
                )
            yield (topic.topic_id, each.partition_index), int(each.error_code), state
