"""A member of a group in a process of its own, which can be killed or stopped without a word.

`python -m tests.integration.clients.drivers.child NAME SERVERS SETTINGS TOPIC...` (settings as JSON) prints a
line of JSON for each happening: what it owns, what it received.
"""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.integration.clients.drivers.group_client import GroupSettings, Partition

_ROOT = Path(__file__).parents[4]


class ChildMember:
    """The parent's end."""

    def __init__(self, name: str, bootstrap_servers: str, settings: GroupSettings, *topics: str) -> None:
        self.owned: frozenset[Partition] = frozenset()
        self.values: list[bytes] = []
        command = [sys.executable, "-m", __name__, name, bootstrap_servers]
        command += [json.dumps(dataclasses.asdict(settings)), *topics]
        self._process: subprocess.Popen[str] = subprocess.Popen(
            command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        self._reader: threading.Thread = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """kill -9: it leaves no group and closes nothing."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            report: dict[str, Any] = json.loads(line)
            if "owned" in report:
                self.owned = frozenset(Partition(*each) for each in report["owned"])
            self.values += [value.encode() for value in report.get("values", ())]


def main() -> None:
    warnings.simplefilter("ignore")
    from tests.integration.clients.drivers.group_clients import open_group_client

    name, servers, text, *topics = sys.argv[1:]
    client = open_group_client(name, servers, GroupSettings(**json.loads(text)), lambda *_: None)
    client.subscribe(topics)
    owned: frozenset[Partition] | None = None
    while True:
        values = [(message.value or b"").decode() for message in client.poll(0.05)]
        if values:
            print(json.dumps({"values": values}), flush=True)
        if client.assignment() != owned:
            owned = client.assignment()
            print(json.dumps({"owned": sorted(owned)}), flush=True)
        time.sleep(0)


if __name__ == "__main__":
    main()
