"""A client's cluster of one scripted broker: for unit tests of `client.admin`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.fakes.scripted_broker import Answer, ScriptedBroker
from tests.patience import PATIENCE

from barnabas.client.address import Address
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings


@contextmanager
def scripted_cluster(
    answers: Mapping[str, Answer], versions: Mapping[str, int] | None = None
) -> Iterator[tuple[Cluster, ScriptedBroker]]:
    """The cluster, and the broker with the requests it has seen."""
    with ScriptedBroker(answers, versions=versions) as broker:
        settings = ClientSettings(
            (Address("127.0.0.1", broker.port),), request_timeout=PATIENCE, patience=0.0
        )
        with Cluster(settings) as cluster:
            yield cluster, broker
