"""What the periodic jobs of a broker need: housekeeping and the log cleaner."""

from concurrent.futures import Executor
from dataclasses import dataclass

from barnabas.base.clock import Clock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.current_config import CurrentConfig
from barnabas.base.loop_holds import LoopHolds
from barnabas.storage.logs import Logs


@dataclass(frozen=True, slots=True)
class MaintenanceContext:
    settings: CurrentConfig
    clock: Clock
    logs: Logs
    executor: Executor
    holds: LoopHolds

    @property
    def config(self) -> BrokerConfig:
        return self.settings.value
