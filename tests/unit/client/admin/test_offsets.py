from collections.abc import Mapping
from typing import Any

import pytest
from tests.fakes.scripted_broker import ScriptedBroker

from barnabas.client.address import parse_addresses
from barnabas.client.admin.offsets import (
    EARLIEST,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    MAX_TIMESTAMP,
    ListedOffset,
    end_offsets,
    list_offsets,
)
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.client.settings import ClientSettings

UNSUPPORTED_VERSION, TOPIC_AUTHORIZATION_FAILED = 35, 29


class _Broker(ScriptedBroker):
    """Leads partitions 0 to 2 of `t`. Offsets are the timestamp plus 100; partition 2 is an error."""

    def __init__(self, version: int = 11) -> None:
        super().__init__(
            {"metadata": self._metadata, "list_offsets": self._offsets}, versions={"list_offsets": version}
        )

    def _metadata(self, request: Any) -> Mapping[str, object]:
        partitions = [{"partition_index": number, "leader_id": 1} for number in range(3)]
        return {**self.itself(), "topics": [{"name": "t", "partitions": partitions}]}

    def _offsets(self, request: Any) -> Mapping[str, object]:
        partitions = [
            {
                "partition_index": each.partition_index,
                "error_code": TOPIC_AUTHORIZATION_FAILED if each.partition_index == 2 else 0,
                "timestamp": 7,
                "offset": each.timestamp + 100,
                "leader_epoch": 4,
            }
            for topic in request.topics
            for each in topic.partitions
        ]
        return {"topics": [{"name": "t", "partitions": partitions}]}


def _cluster(broker: ScriptedBroker) -> Cluster:
    return Cluster(ClientSettings(tuple(parse_addresses(broker.address)), patience=0.0, api_timeout=2.0))


def test_each_partition_has_its_own_time_and_error() -> None:
    with _Broker() as broker, _cluster(broker) as cluster:
        found = list_offsets(cluster, {("t", 0): LATEST, ("t", 1): 5, ("t", 2): EARLIEST})
    assert found["t", 0] == ListedOffset(99, 7, 4)
    assert found["t", 1] == ListedOffset(105, 7, 4)
    error = found["t", 2]
    assert isinstance(error, BrokerError)
    assert error.code == TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("version", [1, 6, 7, 10])
def test_offset_kind_newer_than_the_broker_is_not_sent_as_a_timestamp(version: int) -> None:
    with _Broker(version) as broker, _cluster(broker) as cluster:
        found = list_offsets(
            cluster, {("t", 0): LATEST, ("t", 1): MAX_TIMESTAMP if version < 7 else EARLIEST_PENDING_UPLOAD}
        )
        sent = [each.timestamp for each in broker.requests[-1].topics[0].partitions]
    assert isinstance(found["t", 0], ListedOffset)
    error = found["t", 1]
    assert isinstance(error, BrokerError)
    assert error.code == UNSUPPORTED_VERSION
    assert f"serves up to {version}" in str(error)
    assert sent == [LATEST]


def test_ends_raise_the_first_error() -> None:
    with _Broker() as broker, _cluster(broker) as cluster:
        assert end_offsets(cluster, [("t", 0), ("t", 1)]) == {("t", 0): 99, ("t", 1): 99}
        with pytest.raises(BrokerError):
            end_offsets(cluster, [("t", 0), ("t", 2)])
