import pytest
from tests.fakes.scripted_broker import ScriptedBroker

from barnabas.client.address import parse_addresses
from barnabas.client.admin.log_dirs import LogPartition, describe_log_dirs
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.client.settings import ClientSettings

STORAGE_ERROR, CLUSTER_AUTHORIZATION_FAILED = 56, 31


def _partition(number: int, size: int) -> dict[str, object]:
    return {"partition_index": number, "partition_size": size, "offset_lag": 0, "is_future_key": False}


_RESULTS = [
    {"error_code": STORAGE_ERROR, "log_dir": "/b", "topics": [], "total_bytes": -1, "usable_bytes": -1},
    {
        "error_code": 0,
        "log_dir": "/a",
        "topics": [
            {"name": "t", "partitions": [_partition(10, 5), _partition(2, 7)]},
            {"name": "s", "partitions": [_partition(0, 1)]},
        ],
        "total_bytes": 100,
        "usable_bytes": 40,
    },
]


def _cluster(broker: ScriptedBroker) -> Cluster:
    return Cluster(ClientSettings(tuple(parse_addresses(broker.address)), patience=0.0))


@pytest.mark.parametrize("version", [1, 3, 4, 5])
def test_directories_are_by_path_and_partitions_by_number(version: int) -> None:
    scripted = ScriptedBroker(
        {"describe_log_dirs": {"results": _RESULTS}}, versions={"describe_log_dirs": version}
    )
    with scripted as broker, _cluster(broker) as cluster:
        ((good, bad),) = describe_log_dirs(cluster, [1]).values()
        assert broker.requests[-1].topics is None
    assert (good.path, good.error, good.size) == ("/a", None, 13)
    assert good.partitions == (
        LogPartition("s", 0, 1, 0, False),
        LogPartition("t", 2, 7, 0, False),
        LogPartition("t", 10, 5, 0, False),
    )
    # KIP-827 brought the room on the volume, with version 4.
    assert (good.total_bytes, good.usable_bytes) == ((100, 40) if version >= 4 else (None, None))
    assert bad.error is not None
    assert bad.error.code == STORAGE_ERROR
    assert (bad.partitions, bad.total_bytes) == ((), None)


def test_empty_answer_is_a_refusal() -> None:
    with (
        ScriptedBroker({"describe_log_dirs": {"error_code": 0, "results": []}}) as broker,
        _cluster(broker) as cluster,
        pytest.raises(BrokerError) as failure,
    ):
        describe_log_dirs(cluster, [1])
    assert failure.value.code == CLUSTER_AUTHORIZATION_FAILED
