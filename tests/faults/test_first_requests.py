"""The first request of an API loads code and schemas, in a thread: no other client waits for it."""

import uuid

from benchmarks.raw_client import Connection
from tests.faults.loop_holds import no_long_hold
from tests.faults.valid_requests import valid_requests

from barnabas.base.loop_holds import HOLD_SECONDS
from barnabas.handlers.registry import APIS
from barnabas.testing import Broker

HOST = "127.0.0.1"
PATIENCE = 120.0
_UNSTABLE = ("InitProducerId", 6)


def test_first_request_of_each_api_does_not_hold_the_loop() -> None:
    newest = {
        name: (version, frame)
        for name, version, frame in valid_requests("first", uuid.uuid4())
        if (name, version) != _UNSTABLE
    }
    assert len(newest) == len(APIS)
    with Broker(process=True) as broker:
        for name, (_, frame) in newest.items():
            with Connection(HOST, broker.port, PATIENCE) as connection, no_long_hold(broker, HOLD_SECONDS):
                assert connection.call(frame), name


def test_first_group_and_transaction_do_not_hold_the_loop() -> None:
    """The coordinators' topics are created by these, so the coordinators are made."""
    with Broker(process=True) as broker, no_long_hold(broker, HOLD_SECONDS):
        with Connection(HOST, broker.port, PATIENCE) as connection:
            connection.call(_find_coordinator(0))
            connection.call(_find_coordinator(1))
        with Connection(HOST, broker.port, PATIENCE) as connection:
            for name, version, frame in valid_requests("first", uuid.uuid4()):
                if (name, version) in (("OffsetCommit", 8), ("InitProducerId", 5), ("AddOffsetsToTxn", 4)):
                    assert connection.call(frame)


def _find_coordinator(key_type: int) -> bytes:
    body = b"\x00\x05first" + bytes([key_type])
    header = b"\x00\x0a\x00\x01\x00\x00\x00\x07\xff\xff"
    return len(header + body).to_bytes(4, "big") + header + body
