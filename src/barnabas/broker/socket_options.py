"""Socket options of the listeners, from the configuration."""

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.network.server import SocketOptions


def socket_options(config: BrokerConfig, max_descriptor: int) -> SocketOptions:
    def when_set(key: str) -> int:
        # Kafka's default of 100 KiB is for older kernels: unless it is configured, the kernel tunes the
        # buffer.
        value = config.get(key) if config.is_set(key) else -1
        assert isinstance(value, int)
        return value

    return SocketOptions(
        max_frame=config.socket_request_max_bytes,
        send_buffer=when_set("socket.send.buffer.bytes"),
        receive_buffer=when_set("socket.receive.buffer.bytes"),
        max_idle_seconds=config.connections_max_idle_ms / 1000,
        max_connections=config.max_connections,
        max_descriptor=max_descriptor,
    )
