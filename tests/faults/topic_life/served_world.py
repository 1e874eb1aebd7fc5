"""A machine with `barnabas serve` in a process of its own, on a real disk, killed with kill -9.

What a broker does in the background it does all the time here, so that kills hit it. Retention and compaction
are left out, for no model knows when they run. Log starts are checkpointed at clean stops only: written all
the time, the checkpoint would soon be without what a deleted topic had left in it.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from tests.faults.served import Served
from tests.faults.topic_life.machine import SETTINGS, Machine
from tests.faults.topic_life.wire_requests import WireRequests

from barnabas.base.filesystem import FileSystem

_EAGER = {
    "log.initial.task.delay.ms": "10",
    "log.flush.offset.checkpoint.interval.ms": "50",
    "replica.high.watermark.checkpoint.interval.ms": "50",
}


class ServedWorld(Machine):
    def __init__(self, directory: Path, program: Sequence[str] = ("barnabas",), directories: int = 2) -> None:
        super().__init__(directory, directories)
        self.fs = FileSystem()
        self.served: Served = Served(directory, {**SETTINGS, **_EAGER}, self.log_dirs)
        self.served.program = program
        self._requests: WireRequests | None = None

    async def start(self) -> None:
        self.served.config["log.dirs"] = ",".join(map(str, self.log_dirs))
        self.served.spawn()
        if not self.served.becomes_ready():
            self.served.wait()
            raise OSError(f"the broker ended: {self.served.lines[-1]}")
        if self._requests is None:
            self._requests = WireRequests(f"127.0.0.1:{self.served.port}")
        else:
            self._requests.reconnect()
        self.requests = self._requests

    async def stop(self) -> None:
        self._disconnect()
        self.served.stop()

    async def kill(self) -> None:
        self.served.kill()
        self._disconnect()

    async def abandon(self) -> None:
        self.served.kill()
        self._disconnect()
        self._requests = None

    async def cut_power(self, rng: random.Random) -> None:
        raise NotImplementedError("a real machine keeps its power")

    def _disconnect(self) -> None:
        if self._requests is not None:
            self._requests.close()
        self.requests = None

    def move(self, source: Path, target: Path) -> None:
        self.fs.rename(source, target)
