"""The other brokers, as transactions need them: the port `transaction.peers` over this broker's connections.

Each call is one attempt. Whatever keeps a broker from answering (no connection, no response in time, a
version that it does not serve, a malformed response) is one error that callers retry, for they cannot know
whether the broker has handled the request: markers and partitions of a transaction are idempotent.

Nothing of `barnabas.transaction` or of kio's schemas is imported before the first request: a broker is built
without them.
"""

from asyncio import AbstractEventLoop, Future
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.base.deferred import Deferred
from barnabas.base.errors import ErrorCode, KafkaError, NotLeaderOrFollower
from barnabas.base.ids import TopicPartition
from barnabas.network.broker_client import BrokerClient
from barnabas.network.outbound_channel import Response
from barnabas.wire.message_codec import decode_body, message_request
from barnabas.wire.outgoing_request import RequestBuilder

if TYPE_CHECKING:
    from barnabas.runtime.end_marker import EndMarker
    from barnabas.transaction.peers import Codes
    from barnabas.transaction.requests import TransactionPartitions

_PURPOSE = "transactions"
_TIMEOUT_SECONDS = 30.0
_FIRST_OF_BROKERS = 4
"""Of AddPartitionsToTxn: the first that brokers send, with several transactions."""
_NOT_KNOWN_YET = frozenset({ErrorCode.unknown_topic_or_partition, ErrorCode.operation_not_attempted})


class _PartitionOfProducer(NamedTuple):
    """By which a response of WriteTxnMarkers names a marker."""

    producer_id: int
    partition: TopicPartition


class _MarkerRequest:
    """Markers that share a request: one of each producer id, in any number of partitions.

    The response merges the markers of a producer id, so two of them could not be distinguished in it.
    """

    def __init__(self) -> None:
        self.written: dict[_PartitionOfProducer, Deferred[None]] = {}
        self._markers: dict[int, EndMarker] = {}

    def add(self, partition: TopicPartition, marker: "EndMarker", written: Deferred[None]) -> bool:
        """Returns False if the marker needs another request."""
        key = _PartitionOfProducer(marker.producer_id, partition)
        if key in self.written or self._markers.setdefault(marker.producer_id, marker) != marker:
            return False
        self.written[key] = written
        return True

    def build(self) -> RequestBuilder:
        partitions: dict[int, list[TopicPartition]] = defaultdict(list)
        for producer_id, partition in self.written:
            partitions[producer_id].append(partition)
        markers = [
            {
                "producer_id": producer_id,
                "producer_epoch": marker.producer_epoch,
                "transaction_result": marker.is_commit,
                "topics": [
                    {"name": name, "partition_indexes": numbers}
                    for name, numbers in _by_topic(partitions[producer_id]).items()
                ],
                "coordinator_epoch": marker.coordinator_epoch,
                "transaction_version": marker.transaction_version,
            }
            for producer_id, marker in self._markers.items()
        ]
        return message_request("write_txn_markers", {"markers": markers})


class RemotePeers:
    """Belongs to the event loop's thread."""

    def __init__(self, client: BrokerClient, loop: AbstractEventLoop) -> None:
        self._client: BrokerClient = client
        self._loop: AbstractEventLoop = loop
        self._markers: dict[int, list[_MarkerRequest]] = {}
        """By broker id: the requests that are sent when the turn of the loop ends."""

    def write_marker(self, broker_id: int, partition: TopicPartition, marker: "EndMarker") -> Deferred[None]:
        """WriteTxnMarkers (27). Markers of one turn of the loop share a request."""
        if not self._markers:
            self._loop.call_soon(self._send_markers)
        requests = self._markers.setdefault(broker_id, [])
        written: Deferred[None] = Deferred()
        if not any(each.add(partition, marker, written) for each in requests):
            requests.append(_MarkerRequest())
            requests[-1].add(partition, marker, written)
        return written

    def verify_partitions(self, broker_id: int, requested: "TransactionPartitions") -> "Deferred[Codes]":
        """AddPartitionsToTxn (24): adds the partitions, or only verifies them. Never fails."""
        answer: Deferred[Codes] = Deferred()

        def on_response(response: "Response | None") -> None:
            answer.complete(_parse_verified(response, requested))

        self._send(broker_id, _verify_request(requested), on_response)
        return answer

    def _send_markers(self) -> None:
        markers, self._markers = self._markers, {}
        for broker_id, requests in markers.items():
            for request in requests:
                self._send(broker_id, request.build(), partial(_on_markers, broker_id, request))

    def _send(
        self, broker_id: int, request: RequestBuilder, on_response: Callable[[Response | None], None]
    ) -> None:
        """`on_response` gets None if there is no response."""

        def on_done(done: "Future[Response]") -> None:
            has_response = not done.cancelled() and done.exception() is None
            on_response(done.result() if has_response else None)

        sent = self._client.send(broker_id, request, purpose=_PURPOSE, timeout=_TIMEOUT_SECONDS)
        sent.add_done_callback(on_done)


def _by_topic(partitions: Iterable[TopicPartition]) -> Mapping[str, list[int]]:
    topics: dict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        topics[topic].append(number)
    return topics


# --- markers --------------------------------------------------------------------------------------------


def _on_markers(broker_id: int, request: _MarkerRequest, response: Response | None) -> None:
    codes = _parse_markers(response)
    for key, written in request.written.items():
        code = codes.get(key)
        if code is ErrorCode.none:
            written.complete(None)
        elif code is None:
            reason = f"Broker {broker_id} did not answer for the marker in {key.partition}"
            written.fail(NotLeaderOrFollower(reason))
        else:
            reason = f"Broker {broker_id} answers {code.name.upper()} for the marker in {key.partition}"
            written.fail(_kind_of(code)(reason))


def _parse_markers(response: Response | None) -> dict[_PartitionOfProducer, ErrorCode]:
    body = _decoded("write_txn_markers", response)
    if body is None:
        return {}
    return {
        _PartitionOfProducer(marker.producer_id, TopicPartition(topic.name, each.partition_index)): (
            each.error_code
        )
        for marker in body.markers
        for topic in marker.topics
        for each in topic.partitions
    }


@cache
def _kind_of(code: ErrorCode) -> type[KafkaError]:
    """The error with this code; also for codes of Kafka that this broker never answers with itself."""
    for kind in KafkaError.__subclasses__():
        if kind.code is code and kind.__module__ == KafkaError.__module__:
            return kind

    class ErrorOfPeer(KafkaError):
        pass

    ErrorOfPeer.code = code
    return ErrorOfPeer


# --- verification ---------------------------------------------------------------------------------------


def _verify_request(requested: "TransactionPartitions") -> RequestBuilder:
    topics = _by_topic(requested.partitions)
    transaction = {
        "transactional_id": requested.transactional_id,
        "producer_id": requested.producer_id,
        "producer_epoch": requested.producer_epoch,
        "verify_only": not requested.is_added,
        "topics": [{"name": name, "partitions": numbers} for name, numbers in topics.items()],
    }
    return message_request("add_partitions_to_txn", {"transactions": [transaction]}, oldest=_FIRST_OF_BROKERS)


def _parse_verified(response: Response | None, requested: "TransactionPartitions") -> "Codes":
    codes = dict.fromkeys(requested.partitions, ErrorCode.coordinator_not_available)
    body = _decoded("add_partitions_to_txn", response)
    if body is None:
        return codes
    if body.error_code is not ErrorCode.none:
        return dict.fromkeys(requested.partitions, body.error_code)
    for partition, code in _verified(body, requested.transactional_id):
        # A coordinator that does not know a partition, which its leader asks for, is late with metadata.
        if partition in codes and code not in _NOT_KNOWN_YET:
            codes[partition] = code
    return codes


def _verified(body: Any, transactional_id: str) -> Iterable[tuple[TopicPartition, ErrorCode]]:
    for result in body.results_by_transaction:
        if result.transactional_id == transactional_id:
            for topic in result.topic_results:
                for each in topic.results_by_partition:
                    yield TopicPartition(topic.name, each.partition_index), each.partition_error_code


def _decoded(api: str, response: Response | None) -> Any:
    """Returns None if there is no response, or none that can be understood."""
    if response is None:
        return None
    try:
        return decode_body(api, response.version, response.body)
    except KafkaError:
        return None
