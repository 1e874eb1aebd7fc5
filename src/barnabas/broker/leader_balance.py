"""Automatic preferred elections (`auto.leader.rebalance.enable`): each broker checks, the controller acts."""

import logging

from barnabas.base.config.current_config import CurrentConfig
from barnabas.base.errors import KafkaError
from barnabas.base.loop_holds import LoopHolds
from barnabas.broker.periodic import Periodic
from barnabas.controller.controller import Controller
from barnabas.controller.leader_elections import balance_leaders
from barnabas.handlers.context import StoreThread
from barnabas.metadata.store import StoreError

logger = logging.getLogger("broker")

_NAME = "leader.imbalance.check.interval.seconds"


class LeaderBalance:
    def __init__(
        self, settings: CurrentConfig, controller: Controller, thread: StoreThread, holds: LoopHolds
    ) -> None:
        self._settings: CurrentConfig = settings
        self._controller: Controller = controller
        self._thread: StoreThread = thread
        self._periodic: Periodic = Periodic(holds)

    def start(self) -> None:
        if self._settings.value.get("auto.leader.rebalance.enable"):
            self._periodic.every(lambda: float(self._number(_NAME)), self.check, name=_NAME)

    async def stop(self) -> None:
        await self._periodic.stop()

    async def check(self) -> None:
        """Return leadership to the preferred replicas of brokers that have lost too much of it."""
        if not self._controller.is_active:
            return
        percentage = self._number("leader.imbalance.per.broker.percentage")
        try:
            await self._thread.run(balance_leaders, self._controller, percentage)
        except (KafkaError, StoreError) as error:
            logger.info("No automatic leader election in this round: %s", error)

    def _number(self, key: str) -> int:
        value = self._settings.value.get(key)
        assert isinstance(value, int)
        return value
