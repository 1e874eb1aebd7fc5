"""A client's cluster of several brokers without sockets. It records and answers requests.

`answers` gives an API's response, as plain fields, for the broker that gets the request (None: any) and the
request's fields. Responses are built with kio's classes, so that a field of a wrong name fails.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.fakes.scripted_broker import _with_errors

from barnabas.client.address import Address
from barnabas.client.cluster import Cluster
from barnabas.client.errors import Unsupported
from barnabas.client.settings import ClientSettings
from barnabas.wire import message_codec as codec

Fields = Mapping[str, Any]
Answer = Callable[[int | None, Fields], Fields]


class SentRequest(NamedTuple):
    api: str
    to: int | None
    fields: Fields


class FakeCluster(Cluster):
    """`brokers` are ids with their racks; the first is the controller."""

    def __init__(self, brokers: Mapping[int, str | None], answers: Mapping[str, Answer]) -> None:
        super().__init__(
            ClientSettings((Address("127.0.0.1", 1),), request_timeout=5.0, api_timeout=0.0, patience=0.0)
        )
        self.requests: list[SentRequest] = []
        """Every request but Metadata."""
        self._brokers = brokers
        self._answers = answers

    def request(
        self, api: str, *, to: int | None = None, max_version: int | None = None, **fields: object
    ) -> Any:
        shape = self.version_of(api, to=to, max_version=max_version)
        answer = self._answers[api](to, fields) if api in self._answers else {}
        if api == "metadata":
            answer = {**self._cluster(), **answer}
        else:
            self.requests.append(SentRequest(api, to, fields))
        return codec._build(codec._class(api, shape, "response"), _with_errors(answer))

    def version_of(self, api: str, *, to: int | None = None, max_version: int | None = None) -> int:
        if api not in self._answers and api != "metadata":
            raise Unsupported(f"The broker does not support {api.upper()}")
        highest = codec.known_versions(api).highest
        return highest if max_version is None else min(highest, max_version)

    def apis(self) -> list[str]:
        return [each.api for each in self.requests]

    def _cluster(self) -> Fields:
        nodes = [
            {"node_id": id_, "host": "127.0.0.1", "port": id_ + 1, "rack": rack}
            for id_, rack in self._brokers.items()
        ]
        return {"brokers": nodes, "controller_id": next(iter(self._brokers)), "cluster_id": "fake"}


def topics_of(replicas: Mapping[tuple[str, int], tuple[int, ...]]) -> Answer:
    """Metadata of topics with these replicas; others do not exist. The first replica leads."""

    def answer(to: int | None, fields: Fields) -> Fields:
        names = {topic for topic, _ in replicas}
        wanted = sorted(names) if fields["topics"] is None else [each["name"] for each in fields["topics"]]
        topics = []
        for name in wanted:
            partitions = [
                {"partition_index": index, "leader_id": brokers[0], "replica_nodes": list(brokers)}
                for (topic, index), brokers in replicas.items()
                if topic == name
            ]
            topics.append({"name": name, "error_code": 0 if partitions else 3, "partitions": partitions})
        return {"topics": topics}

    return answer
