"""A real Kafka broker inside your tests, ready in a fraction of a second.

    from barnabas.testing import Broker

    with Broker() as broker:
        broker.create_topic("orders", partitions=3)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

`Cluster` is several of them, with replicated partitions.

Installing the package also gives every pytest suite the fixtures `kafka_broker`, `kafka_topic`,
`kafka_broker_factory` and `kafka_cluster` (see `barnabas.testing.plugin`). Importing this package loads
nothing else: pytest imports it in every run, also in suites that never use a broker.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.testing.admin import AdminError
    from barnabas.testing.broker import Broker, BrokerStartError
    from barnabas.testing.cluster import Cluster

__all__ = ["AdminError", "Broker", "BrokerStartError", "Cluster"]


def __getattr__(name: str) -> Any:
    if name in ("Broker", "BrokerStartError"):
        from barnabas.testing import broker

        return getattr(broker, name)
    if name == "Cluster":
        from barnabas.testing.cluster import Cluster

        return Cluster
    if name == "AdminError":
        from barnabas.testing.admin import AdminError

        return AdminError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
