"""A broker and its event loop: in the foreground until a signal, or in a thread of its own."""

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.broker import Broker
from barnabas.broker.environment import Environment
from barnabas.broker.garbage import FrozenObjects
from barnabas.handlers.pipeline import Stage

logger = logging.getLogger("broker")


def serve(
    config: BrokerConfig,
    *,
    on_ready: Callable[[Broker], None] = lambda _: None,
    environment: Environment | None = None,
    stages: Sequence[Stage] = (),
) -> None:
    """Run a broker until SIGINT or SIGTERM. Raises the error that prevents the start or stops the broker.

    A second SIGINT does not wait for the clean stop. The next start recovers the logs.
    """

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _on_signal, number, stop)
        broker = Broker(config, environment, stages=stages)
        try:
            await broker.start()
            if not stop.is_set():
                FrozenObjects(broker.holds).start()
                on_ready(broker)
                await _until_stopped(broker, stop)
        finally:
            await _stop(broker)

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(run())


def _on_signal(number: signal.Signals, stop: asyncio.Event) -> None:
    if not stop.is_set():
        logger.info(
            "%s received: stopping. Requests under way are answered, then the logs are flushed and closed",
            number.name,
        )
        stop.set()
    elif number == signal.SIGINT:
        logger.warning("SIGINT received again: stopped at once, the next start recovers the logs")
        logging.shutdown()
        os._exit(128 + signal.SIGINT)
    else:
        logger.info("%s received again: the broker is already stopping", number.name)


async def _stop(broker: Broker) -> None:
    begin = time.monotonic()
    is_running = broker.is_running
    await broker.stop()
    if is_running:
        logger.info("Broker %d stopped in %.1f s", broker.config.broker_id, time.monotonic() - begin)


async def _until_stopped(broker: Broker, stop: asyncio.Event) -> None:
    """Return when `stop` is set. Raise the failure of the broker, if there is one."""
    waits = [asyncio.ensure_future(event.wait()) for event in (stop, broker.failed)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    if broker.failure is not None:
        raise broker.failure


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop if it is installed: an accelerator, not a requirement."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


class BrokerThread:
    """A broker on an event loop in a background thread. `start` returns when the broker is ready."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        environment: Environment | None = None,
        stages: Sequence[Stage] = (),
    ) -> None:
        self._config: BrokerConfig = config
        self._stages: Sequence[Stage] = stages
        self._environment: Environment = environment or Environment()
        self.holds: LoopHolds = self._environment.holds
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
        except BaseException as error:  # noqa: BLE001  raised by start()
            self._failure = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        broker = Broker(self._config, self._environment, stages=self._stages)
        try:
            await broker.start()
            self.broker = broker
            self._ready.set()
            await _until_stopped(broker, self._stop)
        finally:
            await broker.stop(clean=self._is_clean)

    def stop(self, *, clean: bool = True) -> None:
        """Stop and wait. `clean=False` leaves the files as a crash would.

        Raises the error that ended the broker.
        """
        self._is_clean = clean
        thread, loop, stop = self._thread, self._loop, self._stop
        if thread is None or loop is None or stop is None:
            return
        with suppress(RuntimeError):  # The loop is closed: the broker ended by itself.
            loop.call_soon_threadsafe(stop.set)
        thread.join()
        if self._failure is not None:
            raise self._failure
