"""kcat: an older librdkafka, one process for each call, as in a shell."""

import itertools
import json
import subprocess
from collections.abc import Sequence
from typing import ClassVar

from tests.integration.clients.drivers import SendFailed
from tests.integration.clients.messages import Message, Settings
from tests.patience import PATIENCE

_KEY_ENDS = "\x1f"
_MESSAGE_ENDS = "\x1e"


class KcatDriver:
    keeps_timestamps: ClassVar[bool] = False

    def __init__(self, bootstrap_servers: str, settings: Settings) -> None:
        self._servers: str = bootstrap_servers
        self._settings: Settings = settings

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        settings = self._settings
        options = [
            *("-X", f"acks={settings.acks}"),
            *("-X", f"enable.idempotence={str(settings.is_idempotent).lower()}"),
            *("-X", f"message.max.bytes={settings.max_request_bytes}"),
            *("-X", f"message.timeout.ms={int(PATIENCE * 1000)}"),
            *("-z", settings.codec, "-K", _KEY_ENDS, "-D", _MESSAGE_ENDS, "-Z"),
        ]
        for (partition, headers), run in itertools.groupby(
            messages, lambda each: (each.partition, each.headers)
        ):
            named = [word for name, value in headers for word in ("-H", f"{name}={(value or b'').decode()}")]
            text = _MESSAGE_ENDS.encode().join(_line(message) for message in run)
            self.run("-P", "-t", topic, "-p", str(partition), *options, *named, stdin=text)

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Message]:
        isolation = "read_committed" if self._settings.reads_committed else "read_uncommitted"
        output = self.run(
            *("-C", "-t", topic, "-p", str(partition), "-o", str(offset), "-c", str(count), "-J"),
            *("-X", f"isolation.level={isolation}", "-X", "check.crcs=true", "-X", "fetch.wait.max.ms=100"),
        )
        return [_message(json.loads(line.decode(errors="surrogateescape"))) for line in output.splitlines()]

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        output = self.run("-Q", "-t", f"{topic}:{partition}:{timestamp}").decode()
        offset = int(output.split("offset ")[1])
        return None if offset == -1 else offset

    def close(self) -> None:
        pass

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """kcat with these arguments; what it printed."""
        command = ["kcat", "-b", self._servers, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=2 * PATIENCE, check=False)
        if done.returncode != 0:
            raise SendFailed(done.stderr.decode())
        return done.stdout


def _line(message: Message) -> bytes:
    key = b"" if message.key is None else message.key
    return key + _KEY_ENDS.encode() + (message.value or b"")


def _message(printed: dict[str, object]) -> Message:
    def raw(text: object) -> bytes | None:
        return None if text is None else str(text).encode(errors="surrogateescape")

    flat = printed.get("headers", [])
    assert isinstance(flat, list)
    headers = tuple((str(name), raw(value)) for name, value in zip(flat[::2], flat[1::2], strict=True))
    timestamp, partition, offset = printed["ts"], printed["partition"], printed["offset"]
    assert isinstance(timestamp, int)
    assert isinstance(partition, int)
    assert isinstance(offset, int)
    return Message(raw(printed["key"]), raw(printed["payload"]), headers, timestamp, partition, offset)
