"""The Java client, in one JVM for all tests (java/ClientDriver.java says how they talk)."""

import queue
import subprocess
import threading
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tests.integration.clients.drivers import SendFailed
from tests.integration.clients.jars import java_command
from tests.integration.clients.messages import Message, Settings
from tests.patience import PATIENCE


class JavaMachine:
    """The running JVM."""

    def __init__(self, jars: Path, classes: Path) -> None:
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [*java_command(jars, classes), "ClientDriver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        # Clients with names have threads of their own at both ends; all others ask one after the other.
        self._turn: threading.Lock = threading.Lock()
        self._writing: threading.Lock = threading.Lock()
        self._answers: defaultdict[str, queue.SimpleQueue[str]] = defaultdict(queue.SimpleQueue)
        self._reader: threading.Thread = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, *words: str, lines: Sequence[str] = ()) -> list[str]:
        """Send a command with its further lines; the lines of the answer. Raises SendFailed."""
        with self._turn:
            self._write(words, lines)
            return self._answer("")

    def ask_named(self, kind: str, name: str, *words: str, lines: Sequence[str] = ()) -> list[str]:
        """The same for a client with a name (`kind` is member or transaction); by its one thread."""
        self._write((kind, name, *words), lines)
        return self._answer(name)

    def _write(self, words: Sequence[str], lines: Sequence[str]) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        command, *arguments = words
        with self._writing:
            first = "\t".join([command, str(len(lines)), *arguments])
            stdin.write("".join(f"{line}\n" for line in (first, *lines)))
            stdin.flush()

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        for line in stdout:
            name, text = "", line
            if line.startswith("@"):
                name, _, text = line[1:].partition("\t")
            self._answers[name].put(text.rstrip("\n"))
        for waiting in list(self._answers.values()):
            waiting.put("error the JVM ended")

    def _answer(self, name: str) -> list[str]:
        answer: list[str] = []
        while (line := self._answers[name].get(timeout=3 * PATIENCE)) != "ok":
            if line.startswith("error "):
                raise SendFailed(line)
            answer.append(line)
        return answer

    def close(self) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.close()
        self._process.wait(PATIENCE)
        self._reader.join()
        stdout.close()


class JavaDriver:
    keeps_timestamps: ClassVar[bool] = True

    def __init__(self, machine: JavaMachine, bootstrap_servers: str, settings: Settings) -> None:
        self._machine: JavaMachine = machine
        common = f"bootstrap.servers={bootstrap_servers};reconnect.backoff.ms=20;reconnect.backoff.max.ms=100"
        isolation = "read_committed" if settings.reads_committed else "read_uncommitted"
        self._of_consumer: str = (
            f"{common};enable.auto.commit=false;auto.offset.reset=none;isolation.level={isolation}"
            ";fetch.max.wait.ms=100"
        )
        self.of_producer: str = (
            f"{common};compression.type={settings.codec};acks={settings.acks};linger.ms=1"
            f";enable.idempotence={str(settings.is_idempotent).lower()}"
            f";max.request.size={settings.max_request_bytes};delivery.timeout.ms=20000;request.timeout.ms=10000"
        )

    def produce(self, topic: str, messages: Sequence[Message]) -> None:
        lines = ["\t".join(words_of(message)) for message in messages]
        self._machine.ask("produce", self.of_producer, topic, lines=lines)

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Message]:
        where = (topic, str(partition), str(offset), str(count))
        return [message_of(line) for line in self._machine.ask("consume", self._of_consumer, *where)]

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        where = (topic, str(partition), str(timestamp))
        (answer,) = self._machine.ask("offset-for-time", self._of_consumer, *where)
        return None if answer == "-" else int(answer)

    def close(self) -> None:
        self._machine.ask("close")


def words_of(message: Message) -> list[str]:
    words = [str(message.partition), str(message.timestamp), _text(message.key), _text(message.value)]
    for name, value in message.headers:
        words += [name, _text(value)]
    return words


def message_of(line: str) -> Message:
    partition, offset, timestamp, key, value, *flat = line.split("\t")
    headers = tuple((name, _bytes(text)) for name, text in zip(flat[::2], flat[1::2], strict=True))
    return Message(_bytes(key), _bytes(value), headers, int(timestamp), int(partition), int(offset))


def _text(value: bytes | None) -> str:
    return "-" if value is None else b64encode(value).decode()


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else b64decode(text)
