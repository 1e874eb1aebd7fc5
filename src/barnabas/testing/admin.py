"""Topics for tests: create, delete and list them, over the wire.

It uses the Kafka protocol only (`barnabas.client`), so it works with Apache Kafka as well. Each call opens
its own connections: tests create few topics, and no connection has to survive a restart of the broker.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

_CLIENT_ID = "barnabas-testing"


class AdminError(Exception):
    """The broker responded with an error. `code` is its name, for example `topic_already_exists`."""

    def __init__(self, action: str, code: str, message: str | None) -> None:
        super().__init__(f"{action}: {message or code.replace('_', ' ')} ({code})")
        self.code: str = code


class Admin:
    """Raises ConnectionError if the broker is unreachable, TimeoutError if it does not respond in time."""

    def __init__(self, host: str, port: int, timeout: float = 30.0) -> None:
        self._host: str = host
        self._port: int = port
        self._timeout: float = timeout

    def create_topic(self, name: str, partitions: int, config: Mapping[str, object]) -> None:
        configs = {key: config_text(value) for key, value in config.items()}
        with self._cluster(f"create topic {name!r}") as cluster:
            from barnabas.client.admin.topics import create_topic

            create_topic(cluster, name, partitions=partitions, configs=configs)

    def delete_topics(self, names: list[str]) -> None:
        with self._cluster("delete topics") as cluster:
            from barnabas.client.admin.topics import delete_topics

            refused = delete_topics(cluster, names)
        for name, error in refused.items():
            raise AdminError(f"delete topic {name!r}", error.name, error.message)

    def list_topics(self) -> set[str]:
        """Every topic, also the internal ones."""
        with self._cluster("list topics") as cluster:
            from barnabas.client.admin.topics import list_topics

            return {topic.name for topic in list_topics(cluster)}

    @contextmanager
    def _cluster(self, action: str) -> "Iterator[Cluster]":
        """An open cluster. Translates errors of the block into those of this module."""
        from barnabas.client.address import Address
        from barnabas.client.cluster import Cluster
        from barnabas.client.errors import BrokerError, TimedOut, Unreachable
        from barnabas.client.settings import ClientSettings

        settings = ClientSettings(
            (Address(self._host, self._port),),
            client_id=_CLIENT_ID,
            request_timeout=self._timeout,
            api_timeout=self._timeout,
            connect_timeout=self._timeout,
            patience=0.0,
        )
        try:
            with Cluster(settings) as cluster:
                yield cluster
        except BrokerError as error:
            raise AdminError(action, error.name, error.message) from error
        except Unreachable as error:
            raise ConnectionError(str(error)) from error
        except TimedOut as error:
            raise TimeoutError(str(error)) from error


def config_text(value: object) -> str:
    """A value of a configuration as Kafka reads it: `True` is written `true`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
