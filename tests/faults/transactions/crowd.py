"""The clients of a run: started, killed, frozen past their timeout, replaced while they sleep."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.faults.transactions.history import History
from tests.faults.transactions.journal import read_journals
from tests.faults.transactions.writer import TRANSACTION_TIMEOUT_MS

_ROOT = Path(__file__).parents[3]
_PATIENCE = 180.0


@dataclass(frozen=True, slots=True)
class Member:
    role: str
    name: str
    process: "subprocess.Popen[bytes]"


class Crowd:
    def __init__(
        self,
        servers: str,
        roles: Mapping[str, int],
        directory: Path,
        *,
        partitions: int,
        pause: float,
        may_crash: bool = False,
    ) -> None:
        """`may_crash`: a segmentation fault of librdkafka counts as a kill, and is in the report."""
        self.servers: str = servers
        self._may_crash: bool = may_crash
        self.roles: Mapping[str, int] = roles
        self.partitions: int = partitions
        self.pause: float = pause
        self.faults: Counter[str] = Counter()
        self.stderr: Path = directory / "stderr"
        """Of all clients. That one was fenced librdkafka always tells."""
        self._directory: Path = directory
        self._members: list[Member] = []
        self._frozen: dict[int, tuple[Member, float]] = {}
        self._journals: list[Path] = []

    def start(self) -> None:
        """Start the clients that are missing."""
        names = {member.name for member in self._members}
        for role, count in self.roles.items():
            for number in range(count):
                if f"{role}-{number}" not in names:
                    self._add(role, f"{role}-{number}")

    def new_journal(self, name: str) -> Path:
        self._journals.append(self._directory / f"{name}.{len(self._journals)}")
        return self._journals[-1]

    @property
    def history(self) -> History:
        return read_journals(self._journals)

    def disturb(self, rng: random.Random) -> None:
        """One is killed and another replaces it, or one sleeps, or one sleeps and is replaced."""
        self._wake()
        self._forget_ended()
        self.start()
        awake = [member for member in self._members if member.process.pid not in self._frozen]
        if not awake:
            return
        member = rng.choice(awake)
        match rng.choice(("kill", "pause", "replace")):
            case "kill":
                self.faults[f"{member.role} killed"] += 1
                member.process.kill()
                member.process.wait()
                self._members.remove(member)
                self.start()
            case "pause":
                self.faults[f"{member.role} frozen"] += 1
                self._freeze(member, rng)
            case _:
                self.faults[f"{member.role} frozen and replaced"] += 1
                self._freeze(member, rng)
                self._add(member.role, member.name)

    def finish(self) -> None:
        """Every client ends what it has begun; one that was replaced ends when it learns of it, or here."""
        for member in self._members:
            member.process.send_signal(signal.SIGCONT)
            member.process.terminate()
        failed = []
        for member in self._members:
            try:
                status = member.process.wait(_PATIENCE)
                if status not in (0, -signal.SIGTERM):
                    failed.append(f"{member.name}: {status}")
            except subprocess.TimeoutExpired:
                failed.append(f"{member.name} did not end")
            finally:
                member.process.kill()
                member.process.wait()
        self._members.clear()
        assert not failed, f"{failed}\n{self._last_words()}"

    def kill(self) -> None:
        for member in self._members:
            member.process.kill()
            member.process.wait()
        self._members.clear()

    def _forget_ended(self) -> None:
        for member in list(self._members):
            status = member.process.poll()
            if status == -signal.SIGSEGV and self._may_crash:
                self.faults[f"{member.role} crashed in librdkafka"] += 1
                self._members.remove(member)
            elif status is not None:
                assert status in (0, -signal.SIGTERM), f"{member.name}: {status}\n{self._last_words()}"
                self._members.remove(member)

    def _last_words(self) -> str:
        return self.stderr.read_text(errors="replace")[-4000:]

    def _freeze(self, member: Member, rng: random.Random) -> None:
        member.process.send_signal(signal.SIGSTOP)
        seconds = rng.choice((0.3, 1.5)) * TRANSACTION_TIMEOUT_MS / 1000 + rng.uniform(0, 1)
        self._frozen[member.process.pid] = member, time.monotonic() + seconds

    def _wake(self) -> None:
        now = time.monotonic()
        for pid, (member, end) in list(self._frozen.items()):
            if end >= now:
                continue
            del self._frozen[pid]
            member.process.send_signal(signal.SIGCONT)
            if sum(each.name == member.name for each in self._members) > 1:
                # A zombie may do what it still can, for a moment; then it goes.
                member.process.terminate()

    def _add(self, role: str, name: str) -> None:
        number = len(self._journals) + 1
        command = [sys.executable, "-m", "tests.faults.transactions.client", role, self.servers]
        command += [name, str(number), str(self.partitions), str(self.pause), str(self.new_journal(name))]
        with self.stderr.open("ab") as stderr:
            process = subprocess.Popen(command, cwd=_ROOT, stderr=stderr)
        self._members.append(Member(role, name, process))
