"""The process that cleans: `python -m barnabas.storage.cleaning`, started by the broker when needed.

A line of JSON each way. In: `{"clean": <job>}`, then `{"swapped": true}` for every cleaned segment, or
`{"abort": true}`. Out: `{"cleaned": <segment>}` for every segment that is to be swapped in, and at the end
of a job one of `{"done": <statistics>}`, `{"aborted": true}`, `{"failed": <message>, "corrupt": <bool>}`.

It lives no longer than its standard input: whatever ends the broker closes that, and the work stops at the
next buffer. What it leaves then are `.cleaned` files, which the next start removes.
"""

import json
import os
import select
import sys
from typing import Any

from barnabas.base.errors import KafkaError
from barnabas.base.filesystem import FileSystem
from barnabas.storage.cleaning.cleaner import Cleaner
from barnabas.storage.cleaning.job import CleanedSegment, CleaningAborted, CleaningJob

_NICENESS = 3
"""Requests are answered first; on an idle core it costs nothing, on a busy one half of the share."""


class Conversation:
    """The broker at the other end of two pipes."""

    def __init__(self, source: int, target: int) -> None:
        self._source: int = source
        self._target: int = target
        self._unread: bytes = b""

    def receive(self) -> dict[str, Any]:
        """The next line; raises EOFError when the broker has ended."""
        while b"\n" not in self._unread:
            received = os.read(self._source, 1 << 16)
            if not received:
                raise EOFError
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def send(self, message: dict[str, Any]) -> None:
        rest = memoryview(json.dumps(message).encode() + b"\n")
        while rest:
            rest = rest[os.write(self._target, rest) :]

    def check(self) -> None:
        """End the work if the broker aborted it or has ended."""
        if self._unread or select.select([self._source], [], [], 0)[0]:
            self._expect("abort")

    def swap(self, cleaned: CleanedSegment) -> None:
        self.send(
            {"cleaned": [cleaned.base_offset, cleaned.size, cleaned.has_txn_index, list(cleaned.replaced)]}
        )
        self._expect("swapped")

    def _expect(self, word: str) -> None:
        message = self.receive()
        if "abort" in message:
            raise CleaningAborted
        if word not in message:
            raise EOFError(f"unexpected {message}")


def serve(conversation: Conversation) -> None:
    """Do one job after the other until the broker ends."""
    while True:
        message = conversation.receive()
        if "clean" in message:
            conversation.send(_clean(conversation, CleaningJob.from_json(message["clean"])))


def _clean(conversation: Conversation, job: CleaningJob) -> dict[str, Any]:
    try:
        stats = Cleaner(job, FileSystem(), conversation.swap, check=conversation.check).clean()
    except CleaningAborted:
        return {"aborted": True}
    except KafkaError as error:
        return {"failed": error.message, "corrupt": True}
    except OSError as error:
        return {"failed": str(error), "corrupt": False, "errno": error.errno}
    return {"done": stats.to_json()}


def main() -> None:
    os.nice(_NICENESS)
    try:
        serve(Conversation(sys.stdin.fileno(), sys.stdout.fileno()))
    except (EOFError, BrokenPipeError):
        os._exit(0)
