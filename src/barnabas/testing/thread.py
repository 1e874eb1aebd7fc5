"""A broker in a background thread of this process."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.base.clock import Clock
from barnabas.base.light_kio import import_kio_lightly
from barnabas.testing.broker import BrokerStartError

if TYPE_CHECKING:
    from barnabas.broker.runtime import BrokerThread


class ThreadHost:
    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock | None = clock
        self._thread: BrokerThread | None = None

    def start(self, properties: Mapping[str, str]) -> int:
        import_kio_lightly()
        from barnabas.base.config.broker_config import BrokerConfig
        from barnabas.base.errors import KafkaError
        from barnabas.base.loop_holds import LoopHolds
        from barnabas.broker.runtime import BrokerThread

        try:
            config = BrokerConfig.from_properties(properties)
            thread = BrokerThread(config, clock=self._clock, holds=LoopHolds(time.thread_time))
            thread.start()
        except (KafkaError, OSError) as error:
            raise BrokerStartError(str(error)) from error
        self._thread = thread
        return thread.port

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.stop()

    def loop_holds(self) -> dict[str, tuple[int, float]]:
        return {} if self._thread is None else self._thread.holds.summary()

    def kill(self) -> None:
        if self._thread is not None:
            self._thread.stop(clean=False)
