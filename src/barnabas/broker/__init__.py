"""The composition root: builds every part of a broker, starts them in order, stops them in reverse."""

from barnabas.broker.adoption import adopt
from barnabas.broker.broker import Broker
from barnabas.broker.runtime import BrokerThread, serve

__all__ = ["Broker", "BrokerThread", "adopt", "serve"]
