"""Topics and partitions for tests: create, delete, list and describe them, over the wire.

It uses the Kafka protocol only (`barnabas.client`), so it works with Apache Kafka as well. Each call opens
its own connections: tests create few topics, and no connection has to survive a restart of the broker.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.client.admin.cluster import ClusterDescription
    from barnabas.client.admin.topics import TopicDescription
    from barnabas.client.cluster import Cluster
    from barnabas.testing.broker import Broker

CLIENT_ID = "barnabas-testing"
DEFAULT = -1
"""The number of replicas that the broker is configured with."""


class AdminError(Exception):
    """The broker responded with an error. `code` is its name, for example `topic_already_exists`."""

    def __init__(self, action: str, code: str, message: str | None) -> None:
        super().__init__(f"{action}: {message or code.replace('_', ' ')} ({code})")
        self.code: str = code


class Admin:
    """Raises ConnectionError if the broker is unreachable, TimeoutError if it does not respond in time."""

    def __init__(self, host: str, port: int, timeout: float = 30.0) -> None:
        self._bootstrap_servers: str = f"{host}:{port}"
        self._timeout: float = timeout

    @classmethod
    def of_cluster(cls, brokers: "Iterable[Broker]") -> "Admin":
        """Uses the first of these brokers that answers."""
        admin = cls("", 0)
        admin._bootstrap_servers = ",".join(each.bootstrap_servers for each in brokers)
        return admin

    def create_topic(
        self,
        name: str,
        partitions: int,
        config: Mapping[str, object],
        replicas: int = DEFAULT,
        assignment: Sequence[Sequence[int]] = (),
    ) -> None:
        configs = {key: config_text(value) for key, value in config.items()}
        with self._cluster(f"create topic {name!r}") as cluster:
            from barnabas.client.admin.topics import create_topic

            create_topic(
                cluster,
                name,
                partitions=partitions,
                replicas=replicas,
                assignment=assignment,
                configs=configs,
            )

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

    def describe_topics(self, names: Iterable[str]) -> "list[TopicDescription]":
        """Raises AdminError if one of them does not exist."""
        with self._cluster("describe topics") as cluster:
            from barnabas.client.admin.topics import describe_topics

            return describe_topics(cluster, names)

    def layouts(self, names: Iterable[str]) -> "list[TopicDescription]":
        """The same without the settings of the topics: one request."""
        with self._cluster("describe topics") as cluster:
            from barnabas.client.admin.topics import layouts

            return layouts(cluster, names)

    def describe_cluster(self) -> "ClusterDescription":
        with self._cluster("describe the cluster") as cluster:
            from barnabas.client.admin.cluster import describe_cluster

            return describe_cluster(cluster)

    @contextmanager
    def _cluster(self, action: str) -> "Iterator[Cluster]":
        """An open cluster. Translates errors of the block into those of this module."""
        from barnabas.client.address import parse_addresses
        from barnabas.client.cluster import Cluster
        from barnabas.client.errors import BrokerError, TimedOut, Unreachable
        from barnabas.client.settings import ClientSettings

        settings = ClientSettings(
            tuple(parse_addresses(self._bootstrap_servers)),
            client_id=CLIENT_ID,
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
