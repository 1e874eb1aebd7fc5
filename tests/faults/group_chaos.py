"""Members in child processes that join, leave, freeze and die, records for them, an eye on their offsets."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.faults.group_journal import GroupJournal
from tests.integration.clients.group_requests import fetch_offsets
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import end_offset
from tests.patience import PATIENCE

_ROOT = Path(__file__).parents[2]


class Crowd:
    """The members of one group."""

    def __init__(
        self, port: int, group: str, topic: str, protocols: tuple[str, ...], directory: Path
    ) -> None:
        self.group: str = group
        self._port: int = port
        self._topic: str = topic
        self._protocols: itertools.cycle[str] = itertools.cycle(protocols)
        self._directory: Path = directory
        self._members: list[subprocess.Popen[bytes]] = []
        self._frozen: dict[int, float] = {}
        self._journals: list[Path] = []

    @property
    def size(self) -> int:
        return len(self._members)

    @property
    def journal(self) -> GroupJournal:
        return GroupJournal(self._journals)

    def add(self) -> None:
        journal = self._directory / f"{self.group}-{len(self._journals)}"
        command = [sys.executable, "-m", "tests.faults.group_member", f"127.0.0.1:{self._port}"]
        command += [self.group, self._topic, next(self._protocols), str(journal)]
        self._journals.append(journal)
        self._members.append(subprocess.Popen(command, cwd=_ROOT, env=dict(os.environ)))

    def disturb(self, rng: random.Random, most: int) -> None:
        """One of them leaves, freezes, dies, or one more comes. The first is left alone.

        A mixed group that has lost all its members begins anew with the protocol of the next one, and
        counts its generations from 1 again: what was owned twice in one could not be found.
        """
        self._thaw_those_whose_time_is_over()
        if self.size <= 1 or (self.size < most and rng.random() < 0.4):
            self.add()
            return
        member = rng.choice(self._members[1:])
        action = rng.choice(("leave", "kill", "freeze", "freeze"))
        if action == "freeze":
            member.send_signal(signal.SIGSTOP)
            self._frozen[member.pid] = time.monotonic() + rng.uniform(0.3, 4)
            return
        self._members.remove(member)
        self._frozen.pop(member.pid, None)
        if action == "kill":
            member.kill()
        else:
            member.send_signal(signal.SIGCONT)
            member.terminate()
        threading.Thread(target=member.wait).start()

    def calm(self) -> None:
        """No member stays frozen."""
        for member in self._members:
            member.send_signal(signal.SIGCONT)
        self._frozen.clear()

    def leave(self) -> None:
        self.calm()
        for member in self._members:
            member.terminate()
        for member in self._members:
            try:
                # One that was still starting has no handler yet, and dies of the signal.
                status = member.wait(2 * PATIENCE)
                assert status in (0, -signal.SIGTERM), f"a member failed: {status}"
            finally:
                member.kill()
        self._members.clear()

    def kill(self) -> None:
        for member in self._members:
            member.kill()
            member.wait()

    def _thaw_those_whose_time_is_over(self) -> None:
        for member in self._members:
            if self._frozen.get(member.pid, float("inf")) < time.monotonic():
                member.send_signal(signal.SIGCONT)
                del self._frozen[member.pid]


class Source:
    """Writes numbered records to all partitions from a thread; `flush` waits for the acknowledgements."""

    def __init__(self, port: int, topic: str, partitions: int) -> None:
        from confluent_kafka import Producer

        self._topic: str = topic
        self._partitions: int = partitions
        self._producer: Any = Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{port}",
                "enable.idempotence": True,
                "linger.ms": 5,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self._is_over: bool = False
        self.acknowledged: dict[int, int] = dict.fromkeys(range(partitions), 0)
        self._thread: threading.Thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        self._is_over = True
        self._thread.join(PATIENCE)
        assert self._producer.flush(PATIENCE) == 0, "not everything was acknowledged"

    def _run(self) -> None:
        for number in itertools.count():
            if self._is_over:
                return
            partition = number % self._partitions
            self._producer.produce(
                self._topic, b"%d" % number, partition=partition, on_delivery=self._delivered
            )
            self._producer.poll(0.002)

    def _delivered(self, error: Any, message: Any) -> None:
        assert error is None, error
        self.acknowledged[message.partition()] += 1


class Watch:
    """Asks for the committed offsets all the time: they never go back, and never beyond the end."""

    def __init__(self, port: int, topic: str, partitions: int, crowds: list[Crowd]) -> None:
        self._port: int = port
        self._topic: str = topic
        self._partitions: int = partitions
        self._crowds: list[Crowd] = crowds
        self._is_over: bool = False
        self.failure: BaseException | None = None
        self.seen: dict[tuple[str, int], int] = {}
        self._thread: threading.Thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        self._thread.join(PATIENCE)
        if error is None and self.failure is not None:
            raise self.failure

    def look(self, client: RawClient) -> None:
        """Once; raises when a group has lost an acknowledged offset."""
        for crowd in self._crowds:
            before: dict[int, int] = {}
            for commit in crowd.journal.commits:
                before[commit.partition] = max(before.get(commit.partition, 0), commit.offset)
            answer = fetch_offsets(client, crowd.group, {self._topic: range(self._partitions)})
            if answer.error_code != 0:  # it loads
                continue
            for each in answer.topics[0].partitions:
                assert each.error_code == 0, each.error_code
                self._check(client, crowd.group, each.partition_index, each.committed_offset, before)

    def _check(
        self, client: RawClient, group: str, partition: int, offset: int, before: dict[int, int]
    ) -> None:
        known = max(self.seen.get((group, partition), -1), before.get(partition, -1))
        assert offset >= known, f"{group}, partition {partition}: {offset} after {known}"
        assert offset <= end_offset(client, self._topic, partition)
        self.seen[group, partition] = offset

    def _run(self) -> None:
        while not self._is_over:
            try:
                with suppress(OSError), RawClient(self._port) as client:
                    while not self._is_over:
                        self.look(client)
                        time.sleep(0.1)
            except BaseException as error:  # noqa: BLE001  raised where it is awaited
                self.failure = error
                return
            time.sleep(0.05)
