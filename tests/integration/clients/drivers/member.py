"""A member of a group: a `GroupClient` in a thread of its own that polls all the time, as applications do.

`do` runs something in that thread, between two polls. What was received and which rebalances happened is
kept in lists that any thread may read.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple, TypeVar

from tests.integration.clients.drivers.group_client import GroupClient, Happening, Listener, Partition
from tests.integration.clients.messages import Message
from tests.patience import PATIENCE

Result = TypeVar("Result")
_POLL_SECONDS = 0.03


class Rebalance(NamedTuple):
    happening: Happening
    partitions: frozenset[Partition]
    at: float


class Member:
    def __init__(self, open_client: Callable[[Listener], GroupClient], topics: Sequence[str]) -> None:
        """`topics` is what to subscribe to; empty: the test does that, or assigns, itself."""
        self.received: list[Message] = []
        self.rebalances: list[Rebalance] = []
        self.owned: frozenset[Partition] = frozenset()
        self.failure: BaseException | None = None
        self._open: Callable[[Listener], GroupClient] = open_client
        self._topics: Sequence[str] = topics
        self._wanted: queue.SimpleQueue[Callable[[GroupClient], None]] = queue.SimpleQueue()
        self._is_over: bool = False
        self._thread: threading.Thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def values(self) -> list[bytes]:
        return [message.value or b"" for message in self.received]

    @property
    def happenings(self) -> list[Happening]:
        return [rebalance.happening for rebalance in self.rebalances]

    def do(self, action: Callable[[GroupClient], Result]) -> Result:
        """Run it between two polls; its result or its exception."""
        done: Future[Result] = Future()

        def run(client: GroupClient) -> None:
            try:
                done.set_result(action(client))
            except BaseException as error:  # noqa: BLE001  raised where `do` was called
                done.set_exception(error)

        self._wanted.put(run)
        deadline = time.monotonic() + PATIENCE
        while not done.done() and self._thread.is_alive():
            assert time.monotonic() < deadline, "the member does not answer"
            time.sleep(0.002)
        if not done.done():
            raise self.failure or AssertionError("the member is closed")
        return done.result()

    def ask_to_close(self) -> None:
        self._is_over = True

    def close(self) -> None:
        """Leave the group; returns when the client is closed."""
        self.ask_to_close()
        self._thread.join(2 * PATIENCE)
        assert not self._thread.is_alive(), "the member does not close"

    def _run(self) -> None:
        client: GroupClient | None = None
        try:
            client = self._open(self._heard)
            if self._topics:
                client.subscribe(self._topics)
            while not self._is_over:
                if self._wanted.empty():
                    self.received += client.poll(_POLL_SECONDS)
                    self.owned = client.assignment()
                else:
                    self._wanted.get()(client)
        except BaseException as error:  # noqa: BLE001  raised in the test's thread
            self.failure = error
        try:
            if client is not None:
                client.close()
        except BaseException as error:  # noqa: BLE001  raised in the test's thread
            self.failure = self.failure or error

    def _heard(self, happening: Happening, partitions: frozenset[Partition]) -> None:
        self.rebalances.append(Rebalance(happening, partitions, time.monotonic()))


def until(condition: Callable[[], object], *members: Member, seconds: float = PATIENCE) -> None:
    """Wait for it; a member that fails meanwhile ends the wait with its failure."""
    deadline = time.monotonic() + seconds
    while not condition():
        for member in members:
            if member.failure is not None:
                raise member.failure
        assert time.monotonic() < deadline, _described(members)
        time.sleep(0.01)


def _described(members: Sequence[Member]) -> str:
    lines = [
        f"owns {sorted(member.owned)}, got {len(member.received)}, {member.happenings}" for member in members
    ]
    return "it did not happen: " + "; ".join(lines)


def shares(*members: Member) -> list[int]:
    """How many partitions each member owns, the largest first."""
    return sorted((len(member.owned) for member in members), reverse=True)


def settle(*members: Member, topic: str, partitions: int = 3, to: list[int] | None = None) -> None:
    """Wait until every partition of the topic has one owner, and the members so many each (largest first)."""
    wanted = {Partition(topic, number) for number in range(partitions)}
    until(lambda: is_shared_out(wanted, *members) and to in (None, shares(*members)), *members)


def is_shared_out(partitions: set[Partition], *members: Member) -> bool:
    """Every partition has one owner."""
    owned = [partition for member in members for partition in member.owned]
    return len(owned) == len(partitions) and set(owned) == partitions
