"""The error of a request to another broker that got no response."""

from barnabas.base.errors import ErrorCode, KafkaError


class BrokerDisconnected(KafkaError):
    """There is no connection, it was lost, or the broker did not respond in time."""

    code = ErrorCode.network_exception
