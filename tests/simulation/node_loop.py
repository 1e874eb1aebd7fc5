"""The asyncio event loop of one node: a broker or a client has one, as a process would.

Callbacks run in the order in which they became ready. Time is the scheduler's. Sockets are simulated ones
(`network`), threads are too (`threads`). Nothing here waits.

A loop can be paused, as by SIGSTOP: callbacks gather until it is resumed. It can be killed: nothing of it
runs any more. The tasks of a killed loop are kept until `discard`, so that no code of theirs runs at random
moments because a coroutine was collected.
"""

import asyncio
import contextvars
import warnings
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tests.simulation.scheduler import Scheduler
from tests.simulation.threads import SimulatedThreads

if TYPE_CHECKING:
    from tests.simulation.network import SimulatedSocket
    from tests.simulation.transports import Host

T = TypeVar("T")


class NodeLoop(asyncio.AbstractEventLoop):
    """Made by `NodeLoop.on`. What a broker or a client does not use of a loop is not there."""

    @classmethod
    def on(cls, scheduler: Scheduler, name: str) -> Self:
        return cls(name, scheduler)

    def __init__(self, name: str, scheduler: Scheduler) -> None:
        self.name: str = name
        self.scheduler: Scheduler = scheduler
        self.is_paused: bool = False
        self.is_dead: bool = False
        self.threads: SimulatedThreads = SimulatedThreads(self, scheduler)
        self.host: Host | None = None
        """Where it connects from and listens; None on a node without a network."""
        self._ready: deque[asyncio.Handle] = deque()
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def __repr__(self) -> str:
        return f"NodeLoop({self.name})"

    # --- callbacks --------------------------------------------------------------------------------------

    def call_soon(  # type: ignore[override]  # typeshed uses TypeVarTuple
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._add_ready(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)

        def fire() -> None:
            if not handle.cancelled():
                self._add_ready(handle)

        self.scheduler.at(when, f"timer of {self.name}", fire)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Its event finds it cancelled."""

    def _add_ready(self, handle: asyncio.Handle) -> None:
        if self.is_dead:
            return
        self._ready.append(handle)
        if len(self._ready) == 1 and not self.is_paused:
            self.scheduler.add_ready(self)

    def run_one(self) -> tuple[str, bool]:
        handle = self._ready[0]
        label = "cancelled" if handle.cancelled() else _name_of(handle)
        asyncio._set_running_loop(self)
        try:
            if not handle.cancelled():
                handle._run()
        finally:
            asyncio._set_running_loop(None)
        if self._ready:  # not killed by the callback
            self._ready.popleft()
        return label, bool(self._ready) and not self.is_paused

    def time(self) -> float:
        return self.scheduler.now

    # --- tasks and futures ------------------------------------------------------------------------------

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[T]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        """The executor's own threads are never used; how many it has decides what runs in order."""
        return asyncio.wrap_future(self.threads.of(executor).submit(func, *args), loop=self)

    def run(self, work: Coroutine[Any, Any, T], limit: float = 600.0) -> T:
        """Run the simulation until `work` is done on this loop."""
        task = self.create_task(work)
        self.scheduler.run_until(task.done, limit, f"the end of {_coroutine_name(task)} on {self.name}")
        return task.result()

    # --- sockets ----------------------------------------------------------------------------------------

    def add_reader(  # type: ignore[override]
        self, fd: Any, callback: Callable[..., object], *args: Any
    ) -> None:
        _socket(fd).on_readable(self, callback, args)

    def remove_reader(self, fd: Any) -> bool:
        return _socket(fd).stop_reading()

    def add_writer(  # type: ignore[override]
        self, fd: Any, callback: Callable[..., object], *args: Any
    ) -> None:
        _socket(fd).on_writable(self, callback, args)

    def remove_writer(self, fd: Any) -> bool:
        return _socket(fd).stop_writing()

    async def sock_connect(self, sock: Any, address: Any) -> None:
        await self._host.connect_socket(_socket(sock), address)

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any
    ) -> Any:
        return await self._host.create_connection(protocol_factory, host, port)

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return self._host.create_server(protocol_factory, port)

    @property
    def _host(self) -> "Host":
        assert self.host is not None, f"{self.name} has no network"
        return self.host

    # --- the life of the process ------------------------------------------------------------------------

    def pause(self) -> None:
        self.is_paused = True
        self.scheduler.remove_ready(self)

    def resume(self) -> None:
        if self.is_paused and not self.is_dead:
            self.is_paused = False
            if self._ready:
                self.scheduler.add_ready(self)
            self.threads.resume()

    def kill(self) -> None:
        """Nothing of this process runs any more."""
        self.is_dead = True
        self._ready.clear()
        self.scheduler.remove_ready(self)

    def discard(self) -> None:
        """Close what the tasks of a killed loop have left: their `finally` blocks run, and reach nothing."""
        tasks, self._tasks = list(self._tasks), {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for task in tasks:
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                coroutine = task.get_coro()
                with suppress(BaseException):
                    coroutine.close()

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        return self.is_dead

    def close(self) -> None:
        self.kill()

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.is_dead:
            error = context.get("exception")
            self.scheduler.unexpected.append(f"{self.name}: {context.get('message')}: {error!r}")

    default_exception_handler = call_exception_handler

    async def shutdown_asyncgens(self) -> None:
        """There are none that outlive their task."""

    async def shutdown_default_executor(self) -> None:  # type: ignore[override,unused-ignore]
        """Simulated threads need no end."""


def _socket(sock: Any) -> "SimulatedSocket":
    assert hasattr(sock, "on_readable"), f"not a simulated socket: {sock!r}"
    found: SimulatedSocket = sock
    return found


def _name_of(handle: asyncio.Handle) -> str:
    callback = handle._callback  # type: ignore[attr-defined]
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return _coroutine_name(owner)
    while hasattr(callback, "func"):
        callback = callback.func
    return str(getattr(callback, "__qualname__", type(callback).__name__))


def _coroutine_name(task: "asyncio.Task[Any]") -> str:
    coroutine = task.get_coro()
    return str(getattr(coroutine, "__qualname__", type(coroutine).__name__))
