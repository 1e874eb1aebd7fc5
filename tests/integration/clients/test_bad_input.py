"""Bad input over bare sockets: Kafka's error code or a closed connection, nothing stored, and served on."""

import os
import random
import struct
from collections.abc import Callable, Iterator

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.conftest import OTHER_BROKER
from tests.integration.clients.group_requests import wait_for_coordinator
from tests.integration.clients.messages import now_ms
from tests.integration.clients.raw import RawClient, encode, frame
from tests.integration.clients.requests import (
    batch,
    end_offset,
    fetch,
    fetch_fields,
    produce,
    produce_fields,
    topic_id,
)

from barnabas.records.batch import parse_header
from barnabas.records.builder import assemble
from barnabas.testing import Broker

ours_only = pytest.mark.skipif(OTHER_BROKER is not None, reason="a documented difference to Apache Kafka")
_FUTURE = 400 * 24 * 3600 * 1000


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


@pytest.fixture
def assert_untouched(kafka_broker: Broker, kafka_topic: str) -> Iterator[Callable[[], None]]:
    """After the test: nothing was stored in the topic, and a new connection is served."""

    def check() -> None:
        with RawClient(kafka_broker.port) as anew:
            assert end_offset(anew, kafka_topic) == 0
            if OTHER_BROKER is None:
                (log,) = (kafka_broker.log_dir / f"{kafka_topic}-0").glob("*.log")
                assert log.stat().st_size == 0
            assert produce(anew, kafka_topic, batch(b"good")).base_offset == 0
            assert fetch(anew, kafka_topic, 0).error_code == 0

    yield check
    check()


def _changed(original: bytes, **fields: int) -> bytes:
    """The batch with other header fields, and the CRC that they have."""
    return assemble(parse_header(original)._replace(**fields), original[61:])


def _flipped(original: bytes, position: int) -> bytes:
    changed = bytearray(original)
    changed[position] ^= 0x20
    return bytes(changed)


# --- frames ----------------------------------------------------------------------------------------------

_METADATA = encode("metadata", 4, 1, topics=None, allow_auto_topic_creation=False)


@pytest.mark.usefixtures("assert_untouched")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(struct.pack(">i", 2**31 - 1), id="the longest length"),
        pytest.param(struct.pack(">i", 100 * 1024 * 1024 + 1), id="one byte more than allowed"),
        pytest.param(struct.pack(">i", -1), id="a negative length"),
        pytest.param(struct.pack(">i", -(2**31)), id="the most negative length"),
        pytest.param(frame(b""), id="an empty frame"),
        pytest.param(frame(b"\x00"), id="a frame of one byte"),
        pytest.param(frame(struct.pack(">hhih", 3, 1, 1, 100) + b"short"), id="a client id beyond the frame"),
        pytest.param(frame(struct.pack(">hhih", 999, 0, 1, -1)), id="an unknown API"),
        pytest.param(frame(struct.pack(">hhih", -1, 0, 1, -1)), id="a negative API"),
        pytest.param(frame(struct.pack(">hhih", 4, 0, 1, -1)), id="an API between brokers of old"),
        pytest.param(frame(struct.pack(">hhih", 3, 99, 1, -1) + b"\x00\x00"), id="a version of the future"),
        pytest.param(frame(struct.pack(">hhih", 0, 2, 1, -1) + b"\x00" * 20), id="a version of the past"),
        pytest.param(frame(_METADATA[:-1]), id="a body that ends early"),
        pytest.param(
            frame(struct.pack(">hhihi", 3, 1, 1, -1, 2**31 - 1)), id="an array longer than its request"
        ),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="a web browser"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200, id="a TLS greeting"),
    ],
)
def test_what_is_no_request_closes_the_connection(client: RawClient, data: bytes) -> None:
    client.send_bytes(data)
    assert client.is_closed_by_the_broker()


@pytest.mark.usefixtures("assert_untouched")
def test_answers_before_the_bad_frame_still_come(client: RawClient) -> None:
    good = frame(encode("metadata", 1, 1, topics=[]))
    client.send_bytes(good)
    client.receive("metadata", 1, 1)
    client.send_bytes(good + struct.pack(">i", -5))
    client.receive("metadata", 1, 1)
    assert client.is_closed_by_the_broker()


@pytest.mark.usefixtures("assert_untouched")
def test_hang_up_in_the_middle_of_a_request(kafka_broker: Broker, kafka_topic: str) -> None:
    request = frame(encode("produce", 9, 1, **produce_fields(kafka_topic, batch(b"x" * 500_000))))
    for end in (1, 3, 4, 5, 20, 100, 300_000, len(request) - 1):
        with RawClient(kafka_broker.port) as torn:
            torn.send_bytes(request[:end])


@pytest.mark.usefixtures("assert_untouched")
def test_garbage_after_garbage(kafka_broker: Broker) -> None:
    numbers = random.Random(4)
    for _ in range(60):
        garbage = numbers.randbytes(numbers.randrange(1, 200))
        if numbers.random() < 0.5:
            garbage = frame(struct.pack(">h", numbers.randrange(80)) + garbage)
        with RawClient(kafka_broker.port) as torn:
            torn.send_bytes(garbage)


@pytest.mark.usefixtures("assert_untouched")
def test_damaged_requests_are_answered_or_refused(kafka_broker: Broker, kafka_topic: str) -> None:
    """Any byte may be wrong; the records have a wrong CRC besides, so that none of them may be stored."""
    good = encode("produce", 9, 1, **produce_fields(kafka_topic, _flipped(batch(b"a"), 61)))
    for position in range(len(good) - 70):
        with RawClient(kafka_broker.port) as torn:
            torn.send_bytes(frame(_flipped(good, position)))


# --- records ---------------------------------------------------------------------------------------------

_BAD_RECORDS: list[tuple[str, Callable[[], bytes | None], ErrorCode]] = [
    ("a wrong CRC", lambda: _flipped(batch(b"a"), 17), ErrorCode.corrupt_message),
    ("a changed value", lambda: _flipped(batch(b"abc"), -3), ErrorCode.corrupt_message),
    ("a batch too large", lambda: batch(os.urandom(1_048_600)), ErrorCode.message_too_large),
    ("a time too far ahead", lambda: batch(b"a", timestamp=now_ms() + _FUTURE), ErrorCode.invalid_timestamp),
    ("two batches", lambda: batch(b"a") + batch(b"b"), ErrorCode.invalid_record),
    ("no records", lambda: b"", ErrorCode.invalid_record),
    ("the format of 2014", lambda: _flipped_magic(0), ErrorCode.invalid_record),
    ("the format of 2016", lambda: _flipped_magic(1), ErrorCode.invalid_record),
    ("a control batch", lambda: batch(b"a", control=True), ErrorCode.invalid_record),
    ("a wrong count", lambda: _changed(batch(b"a"), record_count=7), ErrorCode.invalid_record),
    ("a wrong last offset", lambda: _changed(batch(b"a"), last_offset_delta=7), ErrorCode.invalid_record),
    (
        "an idempotent batch without sequence",
        lambda: batch(b"a", producer_id=5, producer_epoch=0),
        ErrorCode.invalid_record,
    ),
]


def _flipped_magic(magic: int) -> bytes:
    changed = bytearray(batch(b"a"))
    changed[16] = magic
    return bytes(changed)


@pytest.mark.usefixtures("assert_untouched")
@pytest.mark.parametrize(
    ("make", "expected"), [pytest.param(make, code, id=name) for name, make, code in _BAD_RECORDS]
)
def test_bad_records_get_kafkas_error(
    client: RawClient, kafka_topic: str, make: Callable[[], bytes], expected: ErrorCode
) -> None:
    answer = produce(client, kafka_topic, make())
    assert (answer.error_code, answer.base_offset) == (expected, -1)


@ours_only
@pytest.mark.usefixtures("assert_untouched")
@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param(batch(b"a")[:-1], ErrorCode.corrupt_message, id="a torn batch"),
        pytest.param(
            _changed(batch(b"a"), attributes=7), ErrorCode.unsupported_compression_type, id="codec 7"
        ),
    ],
)
def test_bad_records_that_kafka_names_otherwise(
    client: RawClient, kafka_topic: str, records: bytes, expected: ErrorCode
) -> None:
    assert produce(client, kafka_topic, records).error_code == expected


@pytest.mark.usefixtures("assert_untouched")
def test_zstd_needs_a_version_that_knows_it(client: RawClient, kafka_topic: str) -> None:
    answer = produce(client, kafka_topic, batch(b"a", compression=4), version=6)
    assert answer.error_code == ErrorCode.unsupported_compression_type


@pytest.mark.kafka_topic(config={"cleanup.policy": "compact"})
def test_compacted_topic_wants_keys(client: RawClient, kafka_topic: str) -> None:
    answer = produce(client, kafka_topic, batch(b"a", b"b", key=None))
    assert answer.error_code == ErrorCode.invalid_record
    assert [error.batch_index for error in answer.record_errors] == [0, 1]
    assert end_offset(client, kafka_topic) == 0
    assert produce(client, kafka_topic, batch(b"a", compression=1)).base_offset == 0


@pytest.mark.kafka_topic(config={"message.timestamp.before.max.ms": 1000})
def test_time_too_far_back(client: RawClient, kafka_topic: str) -> None:
    answer = produce(client, kafka_topic, batch(b"a", timestamp=now_ms() - 60_000))
    assert answer.error_code == ErrorCode.invalid_timestamp
    assert [error.batch_index for error in answer.record_errors] == [0]
    assert end_offset(client, kafka_topic) == 0


@pytest.mark.kafka_topic(config={"max.message.bytes": 200})
def test_limit_of_the_topic(client: RawClient, kafka_topic: str) -> None:
    assert produce(client, kafka_topic, batch(b"x" * 200)).error_code == ErrorCode.message_too_large
    assert produce(client, kafka_topic, batch(b"x" * 100)).base_offset == 0


# --- names -----------------------------------------------------------------------------------------------

_ILLEGAL = ["", ".", "..", "a b", "a/b", "ü", "x" * 250]


@pytest.mark.parametrize("name", _ILLEGAL)
def test_illegal_name_is_refused(client: RawClient, kafka_broker: Broker, name: str) -> None:
    requested = client.call("metadata", 4, topics=[{"name": name}], allow_auto_topic_creation=True)
    assert requested.topics[0].error_code == ErrorCode.invalid_topic_exception
    spec = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    created = client.call("create_topics", 5, topics=[spec], timeout=5000, validate_only=False)
    assert created.topics[0].error_code == ErrorCode.invalid_topic_exception
    answer = produce(client, name, batch(b"a"))
    assert answer.error_code in (ErrorCode.unknown_topic_or_partition, ErrorCode.invalid_topic_exception)
    assert name not in kafka_broker.topics()
    if OTHER_BROKER is None:
        assert all(path.parent == kafka_broker.log_dir for path in kafka_broker.log_dir.glob("*-0"))


def test_only_the_coordinator_writes_to_its_topic(client: RawClient, kafka_broker: Broker) -> None:
    wait_for_coordinator(kafka_broker.port, "any")
    before = end_offset(client, "__consumer_offsets")
    for _ in range(3):  # the second one would take the shortcut for repeated requests
        answer = produce(client, "__consumer_offsets", batch(b"no value of a coordinator"))
        assert answer.error_code == ErrorCode.invalid_topic_exception
    assert end_offset(client, "__consumer_offsets") == before


@pytest.mark.parametrize("version", [12, 17])
@pytest.mark.parametrize(
    ("leader_epoch", "error"), [(-1, ErrorCode.not_leader_or_follower), (0, ErrorCode.unknown_leader_epoch)]
)
@pytest.mark.parametrize("replica_id", [0, 1, 7])
def test_a_fetch_of_a_replica_that_is_none_is_refused(
    client: RawClient, kafka_topic: str, replica_id: int, leader_epoch: int, error: ErrorCode, version: int
) -> None:
    produce(client, kafka_topic, batch(b"good"))
    number = topic_id(client, kafka_topic)
    fields = fetch_fields(kafka_topic, [(0, 0)], leader_epoch=leader_epoch, number=number)
    fields |= {"replica_id": replica_id, "replica_state": {"replica_id": replica_id, "replica_epoch": -1}}
    (found,) = client.call("fetch", version, **fields).responses[0].partitions
    assert found.error_code == error
    assert not found.records
