"""Fetch of one partition at a time, without a session, as Spark's reader needs it."""

from dataclasses import dataclass
from uuid import UUID

from barnabas.base.ids import ZERO_UUID
from barnabas.client.connection import Connection
from barnabas.wire.client_fetch import NEWEST, OLDEST, FetchedPartition, fetch_request, parse_fetch_response
from barnabas.wire.fetch import FIRST_WITH_TOPIC_IDS, FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.outgoing_request import OutgoingRequest

_CONSUMER = -1
_NO_SESSION, _SESSIONLESS = 0, -1


@dataclass(frozen=True, slots=True)
class FetchTarget:
    """Which partition is fetched, and how much of it."""

    topic: str
    topic_id: UUID | None
    """None if the broker returned none: versions before 13 are used then."""
    partition: int
    offset: int
    isolation: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int
    rack: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """The response for the one partition that was requested."""

    partition: FetchedPartition
    throttle_ms: int


def version_for(connection: Connection, topic_id: UUID | None) -> int:
    """The newest version both sides know. Raises Unsupported."""
    newest = NEWEST if topic_id is not None else FIRST_WITH_TOPIC_IDS - 1
    return connection.common_version("fetch", OLDEST, newest)


def single_fetch_request(version: int, target: FetchTarget) -> OutgoingRequest:
    partition = FetchPartition(target.partition, target.offset, target.partition_max_bytes)
    topic = FetchTopic(target.topic, target.topic_id or ZERO_UUID, [partition])
    request = FetchRequest(
        _CONSUMER,
        target.max_wait_ms,
        target.min_bytes,
        target.max_bytes,
        target.isolation,
        _NO_SESSION,
        _SESSIONLESS,
        [topic],
        [],
        target.rack,
    )
    return fetch_request(version, request)


def parse_fetched(version: int, response: memoryview) -> Fetched:
    """Raises one of response_reader.MALFORMED if the bytes are not a response."""
    found = parse_fetch_response(version, response)
    partitions = [each for topic in found.topics for each in topic.partitions]
    if found.error_code or len(partitions) != 1:
        # A broker over its quota may leave the partition out.
        return Fetched(FetchedPartition(-1, found.error_code), found.throttle_ms)
    return Fetched(partitions[0], found.throttle_ms)
