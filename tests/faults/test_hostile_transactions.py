"""Peers that write into transactions what does not belong there: nothing is stored, nothing is left open.

An open transaction that no client ends would hold back every reader of committed records for ever. After each
campaign the last stable offset is the end of the log, and a good producer commits.
"""

import random
import struct
from collections.abc import Iterator

import pytest
from tests.faults.served import Served, until
from tests.faults.test_crash import create_topic
from tests.faults.test_hostile_peers import Peers
from tests.integration.clients.raw import RawClient, encode, frame
from tests.integration.clients.requests import end_offset, list_offset
from tests.integration.clients.transaction_requests import (
    Producer,
    end,
    patiently,
    produce_in,
    start,
    transactional_batch,
    wait_for_transaction_coordinator,
)

from barnabas.records.control import build_end_marker

TOPIC = "target"
NAME = "victim"
COMMITTED = 1
VERSIONS = (3, 9, 11, 12)
_CRC = struct.Struct(">I")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    config = {"auto.create.topics.enable": "false", "transaction.state.log.num.partitions": 2}
    with Served(tmp_path_factory.mktemp("hostile-transactions"), config) as served:
        served.start()
        create_topic(served, TOPIC, {})
        wait_for_transaction_coordinator(served.port, NAME)
        yield served


@pytest.fixture
def victim(broker: Served) -> Iterator[Producer]:
    """A producer with nothing open; afterwards nothing was stored, and it can write."""
    with RawClient(broker.port) as client:
        producer = start(client, NAME)
        before = end_offset(client, TOPIC)
        broker.forget_lines()
        yield producer
        broker.assert_no_traceback()
        assert end_offset(client, TOPIC) == before
        assert list_offset(client, TOPIC, isolation=COMMITTED).offset == before
        fresh = start(client, NAME)
        assert produce_in(client, fresh, TOPIC, b"good").error_code == 0
        assert patiently(lambda: end(client, fresh)).error_code == 0
        until(lambda: list_offset(client, TOPIC, isolation=COMMITTED).offset == before + 2)


def request(records: bytes, name: str | None, version: int, *, acks: int = -1) -> bytes:
    topics = [{"name": TOPIC, "partition_data": [{"index": 0, "records": records}]}]
    fields = {"transactional_id": name, "acks": acks, "timeout": 1000, "topic_data": topics}
    return frame(encode("produce", version, 7, **fields))


def with_good_crc(records: bytearray) -> bytes:
    from crc32c import crc32c

    _CRC.pack_into(records, 17, crc32c(memoryview(records)[21:]))
    return bytes(records)


@pytest.mark.parametrize("rounds", [60, pytest.param(2000, marks=pytest.mark.soak)])
def test_flipped_bits_in_batches_of_a_stranger(broker: Served, victim: Producer, rounds: int) -> None:
    """Id, epoch, sequence, flags: whatever the header says, under a CRC that is right."""
    rng = random.Random(rounds)
    stranger = victim._replace(id=victim.id + 1_000_000)
    peers = Peers(broker.port)
    for _ in range(rounds):
        for version in VERSIONS:
            records = bytearray(transactional_batch(stranger, b"hostile"))
            for _ in range(rng.randint(1, 3)):
                records[rng.randrange(43, 57)] ^= 1 << rng.randrange(8)
            records[43] &= 0x7F  # without a producer it would be no transaction
            peers.send(request(with_good_crc(records), NAME, version))
    peers.hang_up()
    assert peers.closed == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_every_prefix_of_a_batch(broker: Served, victim: Producer, version: int) -> None:
    whole = transactional_batch(victim, b"hostile")
    peers = Peers(broker.port)
    for size in range(len(whole)):
        peers.send(request(whole[:size], NAME, version))
    peers.hang_up()
    assert peers.closed == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_markers_of_a_client(broker: Served, victim: Producer, version: int) -> None:
    peers = Peers(broker.port)
    for epoch in (0, victim.epoch, victim.epoch + 1, 2**15 - 1):
        for is_commit in (True, False):
            marker = build_end_marker(victim.id, epoch, is_commit, 2**31 - 1, 1_700_000_000_000)
            peers.send(request(marker, NAME, version))
            peers.send(request(marker, None, version))
    peers.hang_up()
    assert peers.closed == 0


def test_transactions_without_acknowledgement_are_hung_up_on(broker: Served, victim: Producer) -> None:
    stranger = victim._replace(id=victim.id + 1_000_000)
    peers = Peers(broker.port)
    for _ in range(20):
        peers.send(request(transactional_batch(stranger, b"hostile"), NAME, 12, acks=0))
        peers.send(request(transactional_batch(victim, b"hostile"), None, 12, acks=0))
    assert peers.closed == 40


def test_thousands_of_unknown_producers(broker: Served, victim: Producer) -> None:
    """What is remembered of each refused batch is small, and the broker has room for it."""
    before = broker.resident_bytes()
    peers = Peers(broker.port)
    for number in range(3000):
        stranger = victim._replace(id=victim.id + 1_000_000 + number)
        peers.send(request(transactional_batch(stranger, b"hostile"), f"unknown-{number}", 12))
    peers.hang_up()
    assert broker.resident_bytes() < before + (20 << 20)
