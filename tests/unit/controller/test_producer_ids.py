import threading

import pytest
from tests.unit.controller.members import Connect

from barnabas.base.errors import UnknownServerError
from barnabas.controller.producer_ids import ProducerIds, take_block
from barnabas.metadata import nodes
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.nodes import ProducerIdBlock


def test_ids_start_at_zero_and_blocks_are_written_as_kafka_does_it(cluster: ClusterMetadata) -> None:
    ids = ProducerIds(cluster.store, 0)
    assert [ids.next_producer_id() for _ in range(1001)] == list(range(1001))
    data = cluster.store.get("/latest_producer_id_block")[0]
    assert data == b'{"version":1,"broker":0,"block_start":"1000","block_end":"1999"}'


def test_brokers_never_share_an_id(connect: Connect) -> None:
    first, second = ProducerIds(connect().store, 0), ProducerIds(connect().store, 1)
    seen = [source.next_producer_id() for _ in range(1500) for source in (first, second)]
    assert len(set(seen)) == 3000


def test_threads_never_share_an_id(cluster: ClusterMetadata) -> None:
    ids = ProducerIds(cluster.store, 0)
    seen: list[int] = []
    threads = [
        threading.Thread(target=lambda: seen.extend(ids.next_producer_id() for _ in range(700)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(2800))


def test_restart_never_reuses_an_id(connect: Connect) -> None:
    first = ProducerIds(connect().store, 0).next_producer_id()
    assert ProducerIds(connect().store, 0).next_producer_id() == first + 1000


def test_id_without_waiting(cluster: ClusterMetadata) -> None:
    ids = ProducerIds(cluster.store, 0)
    assert ids.next_if_ready() is None
    ids.next_producer_id()
    assert ids.next_if_ready() == 1


def test_ids_found_in_adopted_logs_are_skipped(cluster: ClusterMetadata) -> None:
    assert take_block(cluster.store, 0, beyond=4321) == ProducerIdBlock(0, 4322, 5321)
    assert take_block(cluster.store, 0, beyond=7) == ProducerIdBlock(0, 5322, 6321)


def test_empty_node_counts_as_none(cluster: ClusterMetadata) -> None:
    cluster.store.create("/latest_producer_id_block")
    assert ProducerIds(cluster.store, 0).next_producer_id() == 0


def test_ids_run_out(cluster: ClusterMetadata) -> None:
    last = nodes.encode_producer_id_block(ProducerIdBlock(0, 2**63 - 1001, 2**63 - 2))
    cluster.store.create("/latest_producer_id_block", last)
    with pytest.raises(UnknownServerError):
        ProducerIds(cluster.store, 0).next_producer_id()
