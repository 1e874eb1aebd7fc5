"""One reply serves every version: kio reads back what the version has of it."""

import dataclasses
import struct
from typing import Any
from uuid import UUID

import pytest
from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from tests.strategies.entities import as_reply, entity_in, filled, read
from tests.strategies.kio_responses import encode_with_kio

from barnabas.handlers.registry import API_VERSIONS, APIS, FETCH, OFFSET_COMMIT, PRODUCE
from barnabas.wire import Reply, encode_response
from barnabas.wire.heartbeat import API_KEY as HEARTBEAT

METADATA = 3
BY_HAND = (PRODUCE, FETCH, OFFSET_COMMIT, HEARTBEAT)
"""Tested equal to kio on their own."""
VERSIONS = [
    pytest.param(api.key, version, id=f"{api.name}-v{version}")
    for api in APIS.values()
    for version in range(api.min_version, api.max_version + 1)
    if api.key not in BY_HAND
]


def superset(api_key: int) -> Reply:
    """Every field of every version: the newest version's, and behind it what older ones had."""
    api = APIS[api_key]
    reply = as_reply(filled(load_response_schema(api_key, api.max_version)))
    for version in range(api.min_version, api.max_version):
        merge(reply, as_reply(filled(load_response_schema(api_key, version))))
    return reply


def merge(reply: Reply, other: Reply) -> None:
    for name, value in vars(other).items():
        mine = vars(reply).setdefault(name, value)
        if isinstance(mine, list) and mine is not value:
            for pair in zip(mine, value, strict=True):
                merge(*pair)


def body_of(api_key: int, version: int, encoded: bytes, correlation_id: int) -> Any:
    entity = load_response_schema(api_key, version)
    header = struct.pack(">i", correlation_id)
    if entity.__flexible__ and api_key != API_VERSIONS:
        header += b"\x00"
    assert encoded.startswith(header)
    return read(entity, encoded[len(header) :])


def assert_shows(read_back: Any, reply: Reply) -> None:
    for field in dataclasses.fields(read_back):
        found, given = getattr(read_back, field.name), getattr(reply, field.name)
        if isinstance(given, list):
            assert len(found) == len(given)
            for pair in zip(found, given, strict=True):
                assert_shows(*pair)
        elif isinstance(given, Reply):
            assert_shows(found, given)
        else:
            assert found == given


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_reply_reads_back_with_kio(api_key: int, version: int) -> None:
    reply = superset(api_key)
    if api_key == METADATA:
        reply.throttle_time = 12

    body = body_of(api_key, version, encode_response(api_key, version, 77, reply), 77)

    if api_key == METADATA:
        reply.throttle_time = getattr(body, "throttle_time", None)
    assert_shows(body, reply)


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_reply_is_written_as_kio_writes_it(api_key: int, version: int) -> None:
    for reply in (superset(api_key), Reply()):
        if api_key != METADATA:
            expected = encode_with_kio(api_key, version, 77, reply)
            assert encode_response(api_key, version, 77, reply) == expected


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_nulls_are_written_as_kio_writes_them(api_key: int, version: int) -> None:
    reply = as_reply(filled(load_response_schema(api_key, version), nulls=True))
    if api_key != METADATA:
        assert encode_response(api_key, version, 7, reply) == encode_with_kio(api_key, version, 7, reply)


@pytest.mark.parametrize(("api_key", "version"), VERSIONS)
def test_empty_reply_takes_the_schema_s_defaults(api_key: int, version: int) -> None:
    body = body_of(api_key, version, encode_response(api_key, version, 1, Reply()), 1)

    for field in dataclasses.fields(body):
        if field.default is not dataclasses.MISSING and entity_in(field.type) is None:
            assert getattr(body, field.name) == field.default


@pytest.mark.parametrize("api_key", [key for key in APIS if key not in (*BY_HAND, METADATA)])
def test_name_that_no_version_has_is_an_error(api_key: int) -> None:
    with pytest.raises(TypeError, match="colour"):
        encode_response(api_key, APIS[api_key].max_version, 1, Reply(colour="red"))


def test_plain_numbers_stand_for_durations_and_error_codes() -> None:
    list_offsets = 2
    partition = Reply(partition_index=3, error_code=41, offset=7)
    reply = Reply(throttle_time=250, topics=[Reply(name="t", partitions=[partition])])

    body = body_of(list_offsets, 11, encode_response(list_offsets, 11, 1, reply), 1)

    assert body.throttle_time.total_seconds() == 0.25
    assert body.topics[0].partitions[0].error_code is ErrorCode.not_controller


# --- Metadata is written by hand ---------------------------------------------------------------------------


def metadata_reply() -> Reply:
    def partition(index: int, error: ErrorCode, *ids: tuple[int, ...]) -> Reply:
        replicas, isr, offline = ids
        return Reply(
            error_code=error,
            partition_index=index,
            leader_id=index - 1,
            leader_epoch=4,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=offline,
        )

    return Reply(
        brokers=[
            Reply(node_id=0, host="localhost", port=9092, rack=None),
            Reply(node_id=1, host="höst", port=19092, rack="r1"),
        ],
        cluster_id="abc",
        controller_id=1,
        cluster_authorized_operations=8184,
        topics=[
            Reply(
                error_code=ErrorCode.none,
                name="x" * 200,
                topic_id=UUID(int=5),
                is_internal=True,
                partitions=[
                    partition(0, ErrorCode.leader_not_available, (0, 1), (1,), (0,)),
                    partition(1, ErrorCode.none, (1,), (1,), ()),
                ],
                topic_authorized_operations=3576,
            ),
            Reply(error_code=ErrorCode.unknown_topic_or_partition, name="none"),
        ],
        error_code=ErrorCode.none,
    )


@pytest.mark.parametrize("version", range(14))
def test_metadata_by_hand_equals_kio(version: int) -> None:
    for reply in (metadata_reply(), Reply(), Reply(cluster_id=None, topics=[])):
        by_hand = encode_response(METADATA, version, 5, reply)
        assert by_hand == encode_with_kio(METADATA, version, 5, reply)


@pytest.mark.parametrize("version", [12, 13])
def test_metadata_by_hand_can_leave_a_name_out(version: int) -> None:
    reply = Reply(topics=[Reply(error_code=ErrorCode.unknown_topic_id, name=None, topic_id=UUID(int=9))])

    assert encode_response(METADATA, version, 5, reply) == encode_with_kio(METADATA, version, 5, reply)
