import struct
from typing import Any, cast

from barnabas.base.loop_holds import LoopHolds
from barnabas.handlers.held_request import note_frame
from barnabas.network.connection import Connection


class _Peer:
    def __repr__(self) -> str:
        return "10.0.0.1:4711"


def _note(frame: bytes, caplog: Any) -> str:
    holds = LoopHolds()
    note_frame(holds, cast(Connection, _Peer()), memoryview(frame), 0.25)
    assert holds.count == 1
    return str(caplog.records[-1].getMessage())


def test_log_says_which_request_of_whom_held_the_loop(caplog: Any) -> None:
    message = _note(struct.pack(">hhih", 15, 5, 99, 3) + b"abc" + b"\x00" * 10, caplog)
    assert message == (
        "DescribeGroups held the event loop for 250 ms, other clients waited "
        "(version 5, client id 'abc', peer 10.0.0.1:4711, 23 bytes)"
    )


def test_frame_without_a_header_is_named_too(caplog: Any) -> None:
    assert "malformed request held the event loop" in _note(b"\x00", caplog)
