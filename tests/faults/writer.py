"""A producer that never gives up: idempotent, the same bytes again after a crash.

Values are numbered, so that a reader can tell what is missing, doubled or out of order.
"""

import struct
import threading
import time
from collections import deque
from contextlib import suppress

from kio.schema.errors import ErrorCode
from tests.integration.clients.raw import RawClient, decode, encode, frame
from tests.integration.clients.requests import PRODUCE_BY_NAME, produce_fields
from tests.patience import PATIENCE

from barnabas.records.builder import build_batch
from barnabas.records.record import Record

IN_FLIGHT = 5
"""As many as an idempotent producer may have: all of them are repeated after a crash."""

_AGAIN = (ErrorCode.not_leader_or_follower, ErrorCode.unknown_topic_or_partition)


def number_of(value: bytes) -> int:
    return int.from_bytes(value[:8], "big")


class Writer:
    """Writes to one partition from its own thread; `acknowledged` batches of `per_batch` records are safe."""

    def __init__(self, port: int, topic: str, *, per_batch: int = 3, size: int = 60) -> None:
        self._port: int = port
        self._topic: str = topic
        self._per_batch: int = per_batch
        self._filler: bytes = bytes(size)
        self._sequence: int = 0
        self._waiting: deque[bytes] = deque()
        self._is_over: bool = False
        self.acknowledged: int = 0
        self.failure: BaseException | None = None
        with RawClient(port) as client:
            answer = client.call("init_producer_id", 4, transactional_id=None, transaction_timeout=0,
                                 producer_id=-1, producer_epoch=-1)  # fmt: skip
        assert answer.error_code == 0
        self._producer: tuple[int, int] = answer.producer_id, answer.producer_epoch
        self._thread: threading.Thread = threading.Thread(target=self._run, daemon=True)

    @property
    def records(self) -> int:
        """How many records are acknowledged."""
        return self.acknowledged * self._per_batch

    @property
    def records_sent(self) -> int:
        return self._sequence

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Stop, once everything sent is acknowledged."""
        self._is_over = True
        self._thread.join(PATIENCE)
        self.check()
        assert not self._thread.is_alive(), "the producer is not through"

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not (self._is_over and not self._waiting):
            done = self.acknowledged
            try:
                with suppress(OSError), RawClient(self._port) as client:
                    self._write(client)
            except BaseException as error:  # noqa: BLE001  raised where it is awaited
                self.failure = error
                return
            if self.acknowledged > done:
                deadline = time.monotonic() + PATIENCE
            if time.monotonic() > deadline:
                self.failure = TimeoutError("nothing was acknowledged for a long time")
                return
            time.sleep(0.005)

    def _write(self, client: RawClient) -> None:
        in_flight = 0
        for request in self._waiting:
            client.send_bytes(request)
            in_flight += 1
        while True:
            while in_flight < IN_FLIGHT and not self._is_over:
                request = self._next_request()
                self._waiting.append(request)
                client.send_bytes(request)
                in_flight += 1
            if in_flight == 0:
                return
            answer = decode("produce", PRODUCE_BY_NAME, client.receive_frame())
            result = answer.responses[0].partition_responses[0]
            if result.error_code in _AGAIN:
                return
            assert result.error_code == 0, (result, self._sequence)
            self._waiting.popleft()
            self.acknowledged += 1
            in_flight -= 1

    def _next_request(self) -> bytes:
        now = time.time_ns() // 1_000_000
        numbers = range(self._sequence, self._sequence + self._per_batch)
        records = [
            Record(index, now, b"key", struct.pack(">q", number) + self._filler, ())
            for index, number in enumerate(numbers)
        ]
        producer_id, epoch = self._producer
        batch = build_batch(
            records, producer_id=producer_id, producer_epoch=epoch, base_sequence=self._sequence
        )
        self._sequence += self._per_batch
        return frame(encode("produce", PRODUCE_BY_NAME, 7, **produce_fields(self._topic, batch)))
