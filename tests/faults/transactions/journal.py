"""The journals of a run's clients: how a client writes one, and the history that all of them tell together.

Every line is one write of JSON to a file opened for appending, so that a SIGKILL tears none. An operation is
written down before it is begun and again when it is over; one without an end is of unknown outcome.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.faults.transactions.history import (
    History,
    Outcome,
    Poll,
    Reads,
    Reposition,
    Send,
    Transaction,
)

Got = Mapping[str, tuple[list[int], list[int]]]
"""By key: offsets, values."""


class Journal:
    def __init__(self, path: Path) -> None:
        self._file: int = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def begin(self, number: int) -> None:
        self._write("begin", number=number)

    def send(self, number: int, key: str, value: int) -> None:
        self._write("send", number=number, key=key, value=value)

    def sent(self, number: int, value: int, offset: int) -> None:
        self._write("sent", number=number, value=value, offset=offset)

    def not_sent(self, number: int, value: int, why: str) -> None:
        self._write("not sent", number=number, value=value, why=why)

    def commit(self, number: int, group: str | None = None) -> None:
        """Requested, now."""
        self._write("commit", number=number, group=group)

    def over(self, number: int, outcome: Outcome, why: str = "") -> None:
        self._write("over", number=number, outcome=outcome.value, why=why)

    def position(self, offsets: Mapping[str, int | None]) -> None:
        self._write("position", offsets=offsets)

    def poll(self, begun: float, got: Got, number: int | None = None) -> None:
        self._write("poll", begun=begun, got=got, number=number)

    def drained(self, ends: Mapping[str, int]) -> None:
        self._write("drained", ends=ends)

    def note(self, text: str) -> None:
        """For a reader of the journal; the history leaves it out."""
        self._write("note", text=text)

    def _write(self, event: str, **more: object) -> None:
        line = json.dumps({"event": event, "at": time.monotonic(), **more}, separators=(",", ":"))
        os.write(self._file, line.encode() + b"\n")


class _OpenTransaction:
    """Of a journal that is being read."""

    def __init__(self, process: str, line: Mapping[str, Any]) -> None:
        self._process: str = process
        self._number: int = line["number"]
        self._begun: float = line["at"]
        self._sends: dict[int, Send] = {}
        self._commit_requested: float | None = None
        self._group: str | None = None
        self._ended: float | None = None
        self._outcome: Outcome | None = None
        self.polls: list[Poll] = []

    def take(self, line: Mapping[str, Any]) -> None:
        match line["event"]:
            case "send":
                self._sends[line["value"]] = Send(line["key"], line["value"])
            case "sent":
                key = self._sends[line["value"]].key
                self._sends[line["value"]] = Send(key, line["value"], line["offset"])
            case "not sent":
                key = self._sends[line["value"]].key
                self._sends[line["value"]] = Send(key, line["value"], has_failed=True)
            case "commit":
                self._commit_requested = line["at"]
                self._group = line["group"]
            case "over":
                self._outcome, self._ended = Outcome(line["outcome"]), line["at"]

    def close(self) -> Transaction:
        outcome = self._outcome
        if outcome is not Outcome.COMMITTED and self._commit_requested is None:
            outcome = Outcome.ABORTED
        return Transaction(
            self._process,
            self._number,
            self._begun,
            outcome or Outcome.UNKNOWN,
            tuple(self._sends.values()),
            self._commit_requested,
            self._ended,
            tuple(self.polls),
            self._group,
        )


def read_journals(paths: Iterable[Path]) -> History:
    transactions: list[Transaction] = []
    reading: dict[str, Sequence[Poll | Reposition]] = {}
    drained: dict[str, int] = {}
    for path in paths:
        if not path.exists():  # it died before it had begun
            continue
        of_process, steps = _read(path, drained)
        transactions += of_process
        if steps:
            reading[path.name] = steps
    return History(transactions, reading, drained)


def _read(path: Path, drained: dict[str, int]) -> tuple[list[Transaction], list[Poll | Reposition]]:
    process = path.name
    open_ones: dict[int, _OpenTransaction] = {}
    steps: list[Poll | Reposition] = []
    for line in _lines(path):
        match line["event"]:
            case "begin":
                open_ones[line["number"]] = _OpenTransaction(process, line)
            case "position":
                steps.append(Reposition(process, line["at"], line["offsets"]))
            case "poll":
                poll = _poll(process, line)
                steps.append(poll)
                if poll.transaction is not None:
                    open_ones[poll.transaction].polls.append(poll)
            case "drained":
                drained.update(line["ends"])
            case "note":
                pass
            case _:
                open_ones[line["number"]].take(line)
    return [each.close() for each in open_ones.values()], steps


def _poll(process: str, line: Mapping[str, Any]) -> Poll:
    reads = {key: Reads.compact(*got) for key, got in line["got"].items()}
    return Poll(process, line["begun"], line["at"], reads, line["number"])


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open() as file:
        for line in file:
            if line.endswith("\n"):  # a client that still runs may be writing
                yield json.loads(line)
