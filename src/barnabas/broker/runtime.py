"""A broker and the event loop it lives on: in the foreground until a signal, or in a thread of its own."""

import asyncio
import signal
import threading
from collections.abc import Callable

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.broker.broker import Broker


def serve(config: BrokerConfig, *, on_ready: Callable[[Broker], None] = lambda _: None) -> None:
    """Run a broker until SIGINT or SIGTERM; raises what keeps it from starting."""

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        broker = Broker(config)
        try:
            await broker.start()
            on_ready(broker)
            await stop.wait()
        finally:
            await broker.stop()

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(run())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: an accelerator, not a requirement."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


class BrokerThread:
    """A broker on an event loop in a background thread. `start` returns when it can be used."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config: BrokerConfig = config
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._is_clean: bool = True
        self._ready: threading.Event = threading.Event()
        self._failure: BaseException | None = None
        self.broker: Broker | None = None

    @property
    def port(self) -> int:
        """The port of the first listener."""
        if self.broker is None:
            raise RuntimeError("the broker is not running")
        return self.broker.port

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="barnabas", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(self._main())
        except BaseException as error:  # noqa: BLE001  handed to whoever called start()
            self._failure = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        broker = Broker(self._config)
        try:
            await broker.start()
            self.broker = broker
            self._ready.set()
            await self._stop.wait()
        finally:
            await broker.stop(clean=self._is_clean)

    def stop(self, *, clean: bool = True) -> None:
        """Stop and wait for it; `clean=False` leaves the files as a crash would."""
        self._is_clean = clean
        thread, loop, stop = self._thread, self._loop, self._stop
        if thread is None or loop is None or stop is None or not thread.is_alive():
            return
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        if self._failure is not None:
            raise self._failure
