"""`Broker`: a real broker for tests, in a background thread or in a child process.

It listens on a free port of 127.0.0.1 and keeps its data in a temporary directory, which is deleted when
the broker is closed. Nothing is simulated: it is the broker of `barnabas serve`, for every Kafka client.

A thread starts fastest and is easy to debug. A child process can be killed with `kill -9`, and has its own
memory and its own GIL. It stops when the tests end, however they end.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from barnabas.testing.admin import Admin, config_text
from barnabas.testing.faults import Faults

_HOST: Final = "127.0.0.1"
FOR_TESTS: Final[Mapping[str, str]] = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.delete.delay.ms": "1000",
    # The key with the lowest priority of three: each of them in the configuration of a test overrides it.
    "log.retention.hours": "-1",
}
"""A single broker, no waiting for further members, no retention by time: test data has old timestamps."""


class BrokerStartError(Exception):
    """The broker did not start. The message has the reason, and the end of its log if there is one."""


class Host(Protocol):
    """Runs the broker: in a thread of this process, or in a child process."""

    def start(self, properties: Mapping[str, str]) -> int:
        """Start, wait until it is ready, return the port. Raises BrokerStartError."""
        ...

    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def command(self, **command: Any) -> Any:
        """Execute a command inside the broker (`barnabas.testing.control`). Raises RuntimeError."""
        ...


class Broker:
    """A broker to test against. Use it with `with`, with `async with`, or by `start()` and `close()`.

    process: run it in a child process instead of a thread.
    config: keys of server.properties, over the defaults for tests; not `listeners`, which follow from `port`.
    port: the port to listen on; 0 takes a free one. It stays the same over `restart()`.
    directory: where to keep the data; it is not deleted then, and a later broker can use it.
    """

    def __init__(
        self,
        *,
        process: bool = False,
        config: Mapping[str, object] | None = None,
        port: int = 0,
        directory: str | Path | None = None,
    ) -> None:
        if config and "listeners" in config:
            raise ValueError("a test broker has one listener, on 127.0.0.1: choose its port with port=...")
        self._process: bool = process
        self._config: dict[str, str] = {key: config_text(value) for key, value in (config or {}).items()}
        self._port: int = port
        self._given_directory: Path | None = None if directory is None else Path(directory)
        self._directory: Path | None = None
        self._remove_directory: weakref.finalize[[Path], Broker] | None = None
        self._host: Host | None = None
        self._is_paused: bool = False
        self.faults: Faults = Faults(lambda: [self])
        """Errors, delays and disconnections by request."""

    # --- life ------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start the broker and return when clients can connect. Does nothing if it is running."""
        if self._host is not None:
            return self
        directory = self._prepare_directory()
        host = self._new_host(directory)
        self._port = host.start(self._properties(directory))
        self._host = host
        return self

    def stop(self) -> None:
        """Stop cleanly. The data stays for the next `start()`. Does nothing if it is stopped."""
        host, self._host, self._is_paused = self._host, None, False
        if host is not None:
            host.stop()

    def kill(self) -> None:
        """Stop uncleanly: `kill -9` of a child process; in a thread, no flush and no clean shutdown."""
        host, self._host, self._is_paused = self._host, None, False
        if host is not None:
            host.kill()

    def pause(self) -> None:
        """Stop the child process with SIGSTOP: it keeps its connections and answers nothing."""
        self._running().pause()
        self._is_paused = True

    def resume(self) -> None:
        """Let a paused broker go on. Does nothing if it is not paused."""
        if self._is_paused:
            self._running().resume()
            self._is_paused = False

    def restart(self) -> None:
        """Stop cleanly, if it runs, and start again on the same port with the same data."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop, and remove the temporary directory."""
        try:
            self.stop()
        finally:
            remove, self._remove_directory = self._remove_directory, None
            self._directory = None
            if remove is not None:
                remove()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    # --- topics ----------------------------------------------------------------------------------------

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, object] | None = None
    ) -> None:
        """Create a topic; raises `AdminError` if the broker rejects it."""
        self._admin().create_topic(name, partitions, config or {})

    def delete_topic(self, *names: str) -> None:
        """Delete topics; raises `AdminError` if the broker rejects it."""
        self.delete_topics(names)

    def delete_topics(self, names: Iterable[str]) -> None:
        if chosen := list(names):
            self._admin().delete_topics(chosen)

    def topics(self) -> set[str]:
        """The names of all topics, internal ones (`__consumer_offsets`) included."""
        return self._admin().list_topics()

    # --- where -----------------------------------------------------------------------------------------

    @property
    def bootstrap_servers(self) -> str:
        """The value of `bootstrap.servers`. Known once it has started, and unchanged by a restart."""
        return f"{_HOST}:{self.port}"

    @property
    def port(self) -> int:
        if self._port == 0:
            raise RuntimeError("the broker has no port yet: start() it, or use it with `with`")
        return self._port

    @property
    def log_dir(self) -> Path:
        """The directory of the partitions (the first one of `log.dirs`)."""
        if "log.dirs" in self._config:
            return Path(self._config["log.dirs"].split(",")[0])
        if self._directory is None:
            raise RuntimeError("the broker has no directory yet: start() it, or use it with `with`")
        return self._directory / "kafka-logs"

    @property
    def running(self) -> bool:
        return self._host is not None

    @property
    def paused(self) -> bool:
        return self._is_paused

    def loop_holds(self) -> dict[str, tuple[int, float]]:
        """Holds of the event loop longer than 20 ms: count and longest in seconds, by API or job.

        Seconds are CPU time of the loop's thread: how busy the machine is does not matter.
        """
        holds = self.command("loop_holds")
        return {name: (int(count), float(seconds)) for name, (count, seconds) in holds.items()}

    @property
    def worst_loop_hold(self) -> float:
        """The longest hold of the event loop since the start in seconds, 0.0 if none was over 20 ms."""
        return max((seconds for _, seconds in self.loop_holds().values()), default=0.0)

    def __repr__(self) -> str:
        where = f"{_HOST}:{self._port}" if self._port else "no port yet"
        kind = "process" if self._process else "thread"
        state = "paused" if self.paused else "running" if self.running else "stopped"
        return f"<Broker {where}, {kind}, {state}>"

    # --- inside ----------------------------------------------------------------------------------------

    def command(self, verb: str, **arguments: Any) -> Any:
        """Execute a command inside the broker: for this package. Raises RuntimeError."""
        return self._running().command(verb=verb, **arguments)

    def _running(self) -> Host:
        if self._host is None:
            raise RuntimeError(f"{self!r} is not running: start() it first")
        return self._host

    def _admin(self) -> Admin:
        self._running()
        return Admin(_HOST, self.port)

    def _prepare_directory(self) -> Path:
        if self._directory is None:
            if self._given_directory is not None:
                self._directory = self._given_directory.absolute()
                self._directory.mkdir(parents=True, exist_ok=True)
            else:
                self._directory = Path(tempfile.mkdtemp(prefix="barnabas-"))
                # Also if it is not closed.
                self._remove_directory = weakref.finalize(self, shutil.rmtree, self._directory, True)
        return self._directory

    def _properties(self, directory: Path) -> dict[str, str]:
        return {
            **FOR_TESTS,
            "log.dirs": str(directory / "kafka-logs"),
            **self._config,
            "listeners": f"PLAINTEXT://{_HOST}:{self._port}",
        }

    def _new_host(self, directory: Path) -> Host:
        if self._process:
            from barnabas.testing.process import ProcessHost

            return ProcessHost(directory / "broker.log")
        from barnabas.testing.thread import ThreadHost

        return ThreadHost()
