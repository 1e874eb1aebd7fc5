"""A Kafka Streams application in a JVM of its own (java/WordCount.java)."""

import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.integration.clients.jars import java_command
from tests.patience import PROGRAM_PATIENCE


class WordCount:
    """Runs from the beginning; `states` are those of KafkaStreams, as they come."""

    def __init__(
        self, jars: Path, classes: Path, bootstrap_servers: str, name: str, *topics: str, directory: Path
    ) -> None:
        settings = {
            "bootstrap.servers": bootstrap_servers,
            "application.id": name,
            "processing.guarantee": "exactly_once_v2",
            "commit.interval.ms": 100,
            # What was counted is deleted from the topic between the two halves.
            "repartition.purge.interval.ms": 200,
            "num.stream.threads": 1,
            "state.dir": directory,
            "main.consumer.auto.offset.reset": "earliest",
            "main.consumer.session.timeout.ms": 2000,
            "main.consumer.heartbeat.interval.ms": 200,
            "producer.transaction.timeout.ms": 5000,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 100,
        }
        text = ";".join(f"{key}={value}" for key, value in settings.items())
        self.states: list[str] = []
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [*java_command(jars, classes), "WordCount", text, *topics],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._reader: threading.Thread = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def is_running(self) -> bool:
        return self.states[-1:] == ["RUNNING"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PROGRAM_PATIENCE)

    def kill(self) -> None:
        """kill -9: it leaves no group and closes nothing."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                end.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.states.append(line.strip())
