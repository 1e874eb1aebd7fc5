"""The configuration of a topic, as the broker tells it."""

from tests.integration.clients.raw import RawClient

from barnabas.testing import Broker

_TOPIC = 2


def topic_configs(broker: Broker, topic: str) -> dict[str, str]:
    requested = [{"resource_type": _TOPIC, "resource_name": topic, "configuration_keys": None}]
    with RawClient(broker.port) as client:
        (found,) = client.call("describe_configs", 4, resources=requested).results
    return {config.name: config.value for config in found.configs}
