"""Peers that send garbage, too much, too slowly, or do not read: the broker hangs up and serves the others.

After each campaign a new client is served, nothing of what was refused is in the log directory, every
violation took one line of the log and none a traceback, and the memory is what it was.
"""

import random
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from tests.faults.served import Served
from tests.faults.test_crash import create_topic
from tests.faults.valid_requests import refused_batch, valid_requests
from tests.integration.clients.raw import RawClient, encode, frame
from tests.integration.clients.requests import batch, end_offset, fetch, fetch_fields, produce, produce_fields
from tests.integration.clients.requests import topic_id as id_of
from tests.patience import PATIENCE

TOPIC = "target"
_CHANGING = ("AlterConfigs", "IncrementalAlterConfigs", "CreatePartitions", "DeleteTopics", "DeleteRecords",
             "CreateTopics", "WriteTxnMarkers")  # fmt: skip
"""One bit makes a real change of these (validate_only turned off): they have tests of their own."""
_GROWTH = 40 << 20
"""What a campaign may add: caches, codecs loaded on the way, the allocator's habits."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    config = {
        "auto.create.topics.enable": "false",
        "connections.max.idle.ms": 600_000,
        "transaction.two.phase.commit.enable": "true",  # then every version is served
    }
    with Served(tmp_path_factory.mktemp("hostile"), config) as served:
        served.start()
        create_topic(served, TOPIC, {})
        with RawClient(served.port) as client:
            for _ in range(20):
                assert produce(client, TOPIC, batch(bytes(1_000_000))).error_code == 0
        yield served


@pytest.fixture
def unharmed(broker: Served) -> Iterator[None]:
    files, end, before = _content(broker), _end(broker), broker.resident_bytes()
    broker.forget_lines()
    yield
    assert _end(broker) == end
    assert _content(broker) == files
    broker.assert_no_traceback()
    assert broker.resident_bytes() < before + _GROWTH
    with RawClient(broker.port) as client:
        assert fetch(client, TOPIC, end - 1).error_code == 0


def _content(broker: Served) -> dict[str, int]:
    """Names and sizes of all files of partitions, but the internal ones: anybody may bring those about."""
    partitions = [path for path in broker.log_dir.iterdir() if path.is_dir() and path.name[0] not in "._"]
    return {str(file): file.stat().st_size for path in partitions for file in path.iterdir()}


def _end(broker: Served) -> int:
    with RawClient(broker.port) as client:
        return end_offset(client, TOPIC)


def _requests(broker: Served) -> list[tuple[str, int, bytes]]:
    with RawClient(broker.port) as client:
        return list(valid_requests(TOPIC, id_of(client, TOPIC)))


class Peers:
    """Sends each frame on a connection that is replaced when the broker has closed it."""

    def __init__(self, port: int) -> None:
        self._port: int = port
        self._socket: socket.socket | None = None
        self.closed: int = 0
        self.answered: int = 0

    def send(self, data: bytes) -> None:
        """Send, and wait until it is answered or refused."""
        sock = self._socket
        if sock is None:
            sock = self._socket = socket.create_connection(("127.0.0.1", self._port), PATIENCE)
            # A bit of max_wait makes a fetch wait for days: then the peer hangs up.
            sock.settimeout(1.0)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            # A second request tells when the broker is through with the first, answered or not (acks=0).
            sock.sendall(data + _QUESTION)
            self._read_answers(sock)
        except (OSError, EOFError):
            self.closed += 1
            self.hang_up()

    def _read_answers(self, sock: socket.socket) -> None:
        for _ in range(2):
            answer = _exactly(sock, struct.unpack(">i", _exactly(sock, 4))[0])
            self.answered += 1
            if answer.startswith(_QUESTION_ID):
                return

    def hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


_QUESTION_ID = b"\x7f\x01\x02\x03"
_QUESTION = frame(struct.pack(">hh", 18, 0) + _QUESTION_ID + struct.pack(">h", -1))


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = sock.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


# --- what is sent ----------------------------------------------------------------------------------------


def test_every_api_at_every_version_is_answered(broker: Served, unharmed: None) -> None:
    """The starting point of the others: as they are, these requests are understood."""
    for name, version, request in _requests(broker):
        if name not in _CHANGING:
            _assert_answered(broker, name, version, request)


def _assert_answered(broker: Served, name: str, version: int, request: bytes) -> None:
    peers = Peers(broker.port)
    peers.send(request)
    assert (peers.closed, peers.answered) == (0, 2), (name, version)
    peers.hang_up()


@pytest.mark.parametrize("rounds", [40, pytest.param(400, marks=pytest.mark.soak)])
def test_flipped_bits(broker: Served, unharmed: None, rounds: int) -> None:
    rng = random.Random(rounds)
    requests = [each for each in _requests(broker) if each[0] not in _CHANGING]
    peers = Peers(broker.port)
    for _ in range(rounds):
        for _, _, request in requests:
            peers.send(_flipped(request, rng))
    peers.hang_up()
    assert peers.answered > rounds * len(requests)
    assert peers.closed > rounds
    assert len(broker.warnings()) <= peers.closed + _LOUD * rounds


_LOUD = 60


def _flipped(request: bytes, rng: random.Random) -> bytes:
    """One to three bits behind the length, key and version, which have other tests."""
    changed = bytearray(request)
    for _ in range(rng.randint(1, 3)):
        changed[rng.randrange(8, len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("rounds", [15, pytest.param(300, marks=pytest.mark.soak)])
def test_flipped_bits_in_requests_that_change_things(tmp_path: Path, rounds: int) -> None:
    """Topics may come, go and change by them; the broker stays."""
    rng = random.Random(rounds)
    with Served(tmp_path).start() as broker:
        create_topic(broker, TOPIC, {})
        requests = [each for each in _requests(broker) if each[0] in _CHANGING]
        for each in requests:
            _assert_answered(broker, *each)
        peers = Peers(broker.port)
        for _ in range(rounds):
            for _, _, request in requests:
                peers.send(_flipped(request, rng))
        peers.hang_up()
        broker.assert_no_traceback()
        create_topic(broker, "still-here", {})
        broker.stop()
        broker.start()
        broker.assert_no_traceback()


def test_every_prefix_of_a_request(broker: Served, unharmed: None) -> None:
    """Framed as if it were whole: the body ends early."""
    peers = Peers(broker.port)
    newest = {name: request for name, _, request in _requests(broker) if name not in _CHANGING}
    for request in newest.values():
        for end in range(4, len(request)):
            peers.send(frame(request[4:end]))
    peers.hang_up()
    assert peers.closed > 500
    assert len(broker.warnings()) <= peers.closed + _LOUD


def test_random_bytes(broker: Served, unharmed: None) -> None:
    rng = random.Random(5)
    peers = Peers(broker.port)
    for _ in range(400):
        payload = rng.randbytes(rng.randrange(200))
        if rng.random() < 0.5:
            payload = struct.pack(">hh", rng.randrange(80), rng.randrange(14)) + payload
        peers.send(frame(payload))
    peers.hang_up()
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", broker.port), PATIENCE) as sock, suppress(OSError):
            sock.sendall(rng.randbytes(rng.randrange(1, 300)))


def test_a_violation_is_one_line(broker: Served, unharmed: None) -> None:
    peers = Peers(broker.port)
    violations = [frame(b"\x00"), struct.pack(">i", -7), frame(struct.pack(">hhih", 999, 0, 1, -1)),
                  frame(struct.pack(">hhih", 3, 12, 1, 4) + b"\r\n\n\r" + b"\x00\x7f")]  # fmt: skip
    for violation in violations:
        peers.send(violation)
    assert peers.closed == len(violations)
    assert len(broker.lines) == len(violations), broker.lines


@pytest.mark.parametrize("count", [2**31 - 1, 2**28, 10_000_000, -2, -(2**31)])
def test_arrays_and_strings_that_promise_more_than_there_is(
    broker: Served, unharmed: None, count: int
) -> None:
    peers = Peers(broker.port)
    for key, version in ((3, 1), (2, 1), (0, 3), (1, 4), (19, 2), (37, 0), (32, 1)):
        head = struct.pack(">hhih", key, version, 1, -1)
        for before in range(0, 24, 2):
            peers.send(frame(head + bytes(before) + struct.pack(">i", count) + bytes(40)))
    peers.hang_up()


def test_compressed_bombs_are_refused(broker: Served, unharmed: None) -> None:
    """A topic that recompresses must look inside: what unfolds to gigabytes is not unfolded."""
    with RawClient(broker.port) as client:
        before = broker.resident_bytes()
        for codec in (1, 2, 3, 4):
            bomb = batch(bytes(60_000_000), compression=codec)
            if len(bomb) < 1_000_000:
                produce(client, TOPIC, _with_wrong_crc(bomb))
        assert broker.resident_bytes() < before + _GROWTH


def _with_wrong_crc(records: bytes) -> bytes:
    changed = bytearray(records)
    changed[17] ^= 0xFF
    return bytes(changed)


# --- how it is sent --------------------------------------------------------------------------------------


def test_hundreds_of_connections_dropped_in_the_middle_of_a_frame(broker: Served, unharmed: None) -> None:
    rng = random.Random(6)
    request = frame(encode("produce", 9, 1, **produce_fields(TOPIC, refused_batch())))
    large = frame(encode("produce", 9, 1, **produce_fields(TOPIC, batch(bytes(900_000)))))
    for _ in range(300):
        sock = socket.create_connection(("127.0.0.1", broker.port), PATIENCE)
        whole = rng.choice((request, large))
        sock.sendall(whole[: rng.randrange(len(whole))])
        if rng.random() < 0.5:  # a reset instead of a good-bye
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()


def test_announced_frames_take_no_memory_before_they_come(broker: Served, unharmed: None) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", broker.port), PATIENCE))
            sock.sendall(struct.pack(">i", 100 * 1024 * 1024) + b"\x00" * 100)
        _end(broker)
        # unharmed measures after they disconnected; this is while they wait
        assert broker.resident_bytes() < 200 << 20


def test_bytes_that_trickle_in_make_a_request(broker: Served, unharmed: None) -> None:
    """And delay no other client."""
    with ExitStack() as stack:
        slow = [stack.enter_context(RawClient(broker.port)) for _ in range(30)]
        request = frame(encode("list_offsets", 7, 9, replica_id=-1, isolation_level=0, topics=[]))
        for position in range(len(request) - 1):
            for client in slow:
                client.send_bytes(request[position : position + 1])
            if position % 10 == 0:
                _end(broker)
        for client in slow:
            client.send_bytes(request[-1:])
            assert client.receive("list_offsets", 7, 9).topics == ()


def test_half_closed_connections_do_not_stay(broker: Served, unharmed: None) -> None:
    before = _sockets(broker)
    request = frame(encode("metadata", 1, 1, topics=[]))
    parked = frame(encode("fetch", 12, 2, **fetch_fields(TOPIC, [(0, 20)], max_wait=500_000)))
    with ExitStack() as stack:
        for data in (b"", request[:7], request, parked) * 20:
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", broker.port), PATIENCE))
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(4096):
                pass
        assert _sockets(broker) <= before


def _sockets(broker: Served) -> int:
    return sum(name.startswith("socket:") for name in broker.open_files())


def _ask_for_files(number: int) -> bytes:
    return frame(encode("fetch", 12, number, **fetch_fields(TOPIC, [(0, 0)], partition_max_bytes=50 << 20)))


def _ask_for_bytes(number: int) -> bytes:
    resource = {"resource_type": 4, "resource_name": "0", "configuration_keys": None}
    return frame(encode("describe_configs", 4, number, resources=[resource], include_synonyms=True,
                        include_documentation=True))  # fmt: skip


@pytest.mark.parametrize("question", [_ask_for_files, _ask_for_bytes])
def test_peers_that_never_read_cost_no_memory(
    broker: Served, unharmed: None, question: Callable[[int], bytes]
) -> None:
    before = broker.resident_bytes()
    with ExitStack() as stack:
        for _ in range(6):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", broker.port), PATIENCE))
            sock.setblocking(False)
            _send_as_much_as_it_takes(sock, question)
        _end(broker)
        assert broker.resident_bytes() < before + 2 * _GROWTH


def _send_as_much_as_it_takes(sock: socket.socket, question: Callable[[int], bytes]) -> None:
    """Requests for gigabytes, until the broker reads no more of them."""
    data = b"".join(question(number) for number in range(1000))
    sent = 0
    with suppress(BlockingIOError):
        while sent < len(data):
            sent += sock.send(data[sent : sent + 65536])


def test_a_reader_that_comes_back_gets_every_answer_in_order(broker: Served, unharmed: None) -> None:
    with RawClient(broker.port) as client:
        for number in range(30):
            client.send_bytes(_ask_for_files(number))
        for number in range(30):
            answer = client.receive("fetch", 12, number)
            assert len(answer.responses[0].partitions[0].records) > 15_000_000
