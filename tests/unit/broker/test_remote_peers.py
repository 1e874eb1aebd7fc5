import asyncio
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, NamedTuple, cast

import pytest
from kio.schema.add_partitions_to_txn.v5 import request as adding
from kio.schema.add_partitions_to_txn.v5 import response as added
from kio.schema.write_txn_markers.v2 import request as writing
from kio.schema.write_txn_markers.v2 import response as written
from kio.serial import entity_reader, entity_writer
from tests.fakes.virtual_time import run_virtually

from barnabas.base.deferred_tasks import awaited
from barnabas.base.errors import (
    ErrorCode,
    InvalidProducerEpoch,
    KafkaError,
    NotLeaderOrFollower,
    TransactionCoordinatorFenced,
)
from barnabas.base.ids import TopicPartition
from barnabas.broker.remote_peers import RemotePeers
from barnabas.network.broker_client import BrokerClient
from barnabas.network.errors import BrokerDisconnected
from barnabas.network.outbound_channel import Response
from barnabas.runtime.end_marker import EndMarker
from barnabas.transaction.requests import TransactionPartitions
from barnabas.wire.message_codec import _build
from barnabas.wire.outgoing_request import RequestBuilder

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
COMMIT = EndMarker(7, 1, 5, True, 2)
ABORT = EndMarker(8, 0, 5, False)


class Sent(NamedTuple):
    broker_id: int
    body: Any


class Client:
    """Answers with what `answer` makes of a request: a body, or an error."""

    def __init__(self, answer: Callable[[Any], bytes | Exception]) -> None:
        self.sent: list[Sent] = []
        self._answer: Callable[[Any], bytes | Exception] = answer

    def send(
        self, broker_id: int, request: RequestBuilder, *, purpose: str, timeout: float
    ) -> "asyncio.Future[Response]":
        assert (purpose, timeout) == ("transactions", 30.0)
        entity = {27: writing.WriteTxnMarkersRequest, 24: adding.AddPartitionsToTxnRequest}[request.key]
        reader: Any = entity_reader(cast(Any, entity))
        body, _ = reader(b"".join(request.build(request.newest).parts), 0)
        self.sent.append(Sent(broker_id, body))
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        answer = self._answer(body)
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(Response(request.newest, memoryview(answer)))
        return future


def peers_of(client: Client) -> RemotePeers:
    return RemotePeers(cast(BrokerClient, client), asyncio.get_running_loop())


def encoded(entity: Any, fields: Mapping[str, Any]) -> bytes:
    buffer = BytesIO()
    entity_writer(entity)(buffer, _build(entity, fields))
    return buffer.getvalue()


def marked(request: Any, codes: Mapping[TopicPartition, ErrorCode]) -> bytes:
    """As a broker answers: `codes` has the partitions that fail."""
    markers = [
        {
            "producer_id": marker.producer_id,
            "topics": [
                {
                    "name": topic.name,
                    "partitions": [
                        {
                            "partition_index": number,
                            "error_code": codes.get(TopicPartition(topic.name, number), ErrorCode.none),
                        }
                        for number in topic.partition_indexes
                    ],
                }
                for topic in marker.topics
            ],
        }
        for marker in request.markers
    ]
    return encoded(written.WriteTxnMarkersResponse, {"markers": markers})


def verified(codes: Mapping[TopicPartition, ErrorCode], *, error: ErrorCode = ErrorCode.none) -> bytes:
    topics = [
        {
            "name": partition.topic,
            "results_by_partition": [{"partition_index": partition.partition, "partition_error_code": code}],
        }
        for partition, code in codes.items()
    ]
    results = [{"transactional_id": "t", "topic_results": topics}]
    fields = {"throttle_time": 0, "error_code": error, "results_by_transaction": results}
    return encoded(added.AddPartitionsToTxnResponse, fields)


async def error_of_marker(client: Client) -> KafkaError | None:
    done = peers_of(client).write_marker(2, A0, COMMIT)
    try:
        await awaited(done)
    except KafkaError as error:
        return error
    return None


def test_markers_of_one_turn_share_a_request_per_broker() -> None:
    async def run() -> None:
        client = Client(lambda request: marked(request, {}))
        peers = peers_of(client)
        requested = [(2, A0, COMMIT), (2, B0, ABORT), (2, A1, COMMIT), (3, B0, COMMIT)]
        results = [peers.write_marker(*each) for each in requested]
        assert client.sent == []
        for each in results:
            await awaited(each)
        assert [each.broker_id for each in client.sent] == [2, 3]
        commit, abort = client.sent[0].body.markers
        assert (commit.producer_id, commit.producer_epoch, commit.coordinator_epoch) == (7, 1, 5)
        assert (commit.transaction_result, commit.transaction_version) == (True, 2)
        assert [(each.name, each.partition_indexes) for each in commit.topics] == [("a", (0, 1))]
        assert (abort.producer_id, abort.transaction_result) == (8, False)
        await awaited(peers.write_marker(2, A0, COMMIT))
        assert len(client.sent) == 3

    run_virtually(run())


def test_markers_of_one_producer_id_that_differ_have_their_own_requests() -> None:
    async def run() -> None:
        client = Client(lambda request: marked(request, {}))
        peers = peers_of(client)
        later = COMMIT._replace(producer_epoch=2)
        results = [peers.write_marker(2, *each) for each in ((A0, COMMIT), (A1, later), (A0, COMMIT))]
        for each in results:
            await awaited(each)
        epochs = [[each.producer_epoch for each in sent.body.markers] for sent in client.sent]
        assert epochs == [[1], [2], [1]]

    run_virtually(run())


def test_each_partition_has_its_own_error() -> None:
    async def run() -> None:
        codes = {A0: ErrorCode.transaction_coordinator_fenced, B0: ErrorCode.invalid_producer_epoch}
        peers = peers_of(Client(lambda request: marked(request, codes)))
        fenced, fine, old = (peers.write_marker(2, each, COMMIT) for each in (A0, A1, B0))
        await awaited(fine)
        with pytest.raises(TransactionCoordinatorFenced):
            await awaited(fenced)
        with pytest.raises(InvalidProducerEpoch):
            await awaited(old)

    run_virtually(run())


def test_code_without_a_class_is_kept() -> None:
    async def run() -> None:
        codes = {A0: ErrorCode.cluster_authorization_failed}
        error = await error_of_marker(Client(lambda request: marked(request, codes)))
        assert error is not None
        assert error.code is ErrorCode.cluster_authorization_failed

    run_virtually(run())


@pytest.mark.parametrize(
    "answer",
    [
        BrokerDisconnected("gone"),
        ValueError("cannot be encoded"),
        b"",
        encoded(written.WriteTxnMarkersResponse, {"markers": []}),
    ],
    ids=["disconnected", "not sent", "malformed", "partition missing"],
)
def test_marker_without_an_answer_has_no_leader(answer: bytes | Exception) -> None:
    async def run() -> None:
        assert isinstance(await error_of_marker(Client(lambda _: answer)), NotLeaderOrFollower)

    run_virtually(run())


def test_truncated_responses_are_no_answer() -> None:
    async def run() -> None:
        client = Client(lambda request: marked(request, {}))
        assert await error_of_marker(client) is None
        whole = marked(client.sent[0].body, {})
        for size in range(len(whole)):
            error = await error_of_marker(Client(lambda _, size=size: whole[:size]))  # type: ignore[misc]
            assert isinstance(error, NotLeaderOrFollower)

    run_virtually(run())


def verify(
    answer: bytes | Exception, *, is_added: bool = False
) -> tuple[Any, dict[TopicPartition, ErrorCode]]:
    async def run() -> tuple[Any, dict[TopicPartition, ErrorCode]]:
        client = Client(lambda _: answer)
        requested = TransactionPartitions("t", 7, 1, [A0, B0], is_added)
        codes = await awaited(peers_of(client).verify_partitions(2, requested))
        return client.sent[0].body.transactions[0], codes

    return run_virtually(run())


@pytest.mark.parametrize("is_added", [False, True])
def test_partitions_are_added_or_only_verified(is_added: bool) -> None:
    answer = {A0: ErrorCode.none, B0: ErrorCode.transaction_abortable}
    sent, codes = verify(verified(answer), is_added=is_added)
    assert codes == answer
    assert sent.verify_only is not is_added
    assert (sent.transactional_id, sent.producer_id, sent.producer_epoch) == ("t", 7, 1)
    assert [(each.name, each.partitions) for each in sent.topics] == [("a", (0,)), ("b", (0,))]


@pytest.mark.parametrize(
    "answer",
    [
        BrokerDisconnected("gone"),
        b"\x00",
        verified({}),
        verified({A0: ErrorCode.operation_not_attempted, B0: ErrorCode.unknown_topic_or_partition}),
    ],
    ids=["disconnected", "malformed", "partitions missing", "late metadata"],
)
def test_coordinator_that_cannot_answer_is_not_available(answer: bytes | Exception) -> None:
    assert verify(answer)[1] == dict.fromkeys([A0, B0], ErrorCode.coordinator_not_available)


def test_error_of_the_whole_request_is_that_of_each_partition() -> None:
    refused = verified({}, error=ErrorCode.cluster_authorization_failed)
    assert verify(refused)[1] == dict.fromkeys([A0, B0], ErrorCode.cluster_authorization_failed)
