"""A broker in a background thread of this process."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.base.clock import Clock
from barnabas.base.light_kio import import_kio_lightly
from barnabas.testing.broker import BrokerStartError

if TYPE_CHECKING:
    from barnabas.broker.runtime import BrokerThread
    from barnabas.testing.control import Control


class ThreadHost:
    def __init__(self, clock: Clock | None = None) -> None:
        self._clock: Clock | None = clock
        self._thread: BrokerThread | None = None
        self._control: Control | None = None

    def start(self, properties: Mapping[str, str]) -> int:
        import_kio_lightly()
        from barnabas.base.config.broker_config import BrokerConfig
        from barnabas.base.errors import KafkaError
        from barnabas.base.loop_holds import LoopHolds
        from barnabas.broker.runtime import BrokerThread
        from barnabas.testing.control import Control

        try:
            config = BrokerConfig.from_properties(properties)
            control = Control(config.broker_id, LoopHolds(time.thread_time))
            thread = BrokerThread(config, environment=control.environment(self._clock), stages=control.stages)
            thread.start()
        except (KafkaError, OSError) as error:
            raise BrokerStartError(str(error)) from error
        assert thread.broker is not None
        control.attach(thread.broker)
        self._thread, self._control = thread, control
        return thread.port

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.stop()

    def command(self, **command: Any) -> Any:
        if self._control is None:
            raise RuntimeError("the broker is not running")
        return self._control.do(**command)

    def pause(self) -> None:
        raise RuntimeError("a broker in a thread cannot be paused: use Broker(process=True)")

    def resume(self) -> None:
        """It is never paused."""

    def kill(self) -> None:
        if self._thread is not None:
            self._thread.stop(clean=False)
