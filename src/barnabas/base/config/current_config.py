"""The configuration of a running broker: the one object through which a change reaches its readers."""

import logging
from collections.abc import Callable, Mapping

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.keys import ConfigError

logger = logging.getLogger("broker")


class CurrentConfig:
    """`value` is replaced as a whole. Who keeps something derived from it subscribes; others read `value`."""

    __slots__ = ("_subscribers", "value")

    def __init__(self, config: BrokerConfig) -> None:
        self.value: BrokerConfig = config
        self._subscribers: list[Callable[[BrokerConfig], None]] = []

    def subscribe(self, on_change: Callable[[BrokerConfig], None]) -> None:
        """Call `on_change` with each new configuration, in the order of the subscriptions."""
        self._subscribers.append(on_change)

    def replace(self, config: BrokerConfig) -> None:
        self.value = config
        for on_change in self._subscribers:
            on_change(config)

    def take_dynamic(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """Apply the dynamic configuration of brokers, by broker id (empty: the default of all brokers)."""
        own, shared = configs.get(str(self.value.broker_id), {}), configs.get("", {})
        if own == self.value.dynamic and shared == self.value.dynamic_defaults:
            return
        try:
            config = self.value.with_dynamic(own, shared)
        except ConfigError as error:
            logger.error("The dynamic configuration of this broker is invalid and ignored: %s", error)
            return
        self.replace(config)
