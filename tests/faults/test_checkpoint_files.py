"""Checkpoints that outlive their log, or are lost: nothing that was acknowledged depends on them."""

from pathlib import Path

import pytest
from tests.faults.conftest import Serve
from tests.faults.reader import bounds, read_all
from tests.faults.served import Served
from tests.faults.test_crash import create_topic
from tests.integration.clients.group_requests import commit_offset, committed_offset, wait_for_coordinator
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce

from barnabas.testing.admin import Admin

GROUPS = [f"group-{number}" for number in range(8)]
CHECKPOINT = "recovery-point-offset-checkpoint"


def _delete_records(client: RawClient, topic: str, offset: int) -> None:
    partitions = [{"partition_index": 0, "offset": offset}]
    answer = client.call(
        "delete_records", 2, topics=[{"name": topic, "partitions": partitions}], timeout=10_000
    )
    assert answer.topics[0].partitions[0].error_code == 0


def test_topic_created_anew_keeps_its_records_through_a_kill(serve: Serve) -> None:
    broker = serve().start()
    create_topic(broker, "t", {})
    with RawClient(broker.port) as client:
        assert produce(client, "t", batch(*[b"old"] * 1000)).error_code == 0
        _delete_records(client, "t", 900)
    broker.stop()
    broker.start()
    Admin("127.0.0.1", broker.port).delete_topics(["t"])
    create_topic(broker, "t", {})
    with RawClient(broker.port) as client:
        for _ in range(50):
            assert produce(client, "t", batch(b"new")).error_code == 0
    broker.kill()
    broker.start()
    with RawClient(broker.port) as client:
        assert bounds(client, "t") == (0, 50)
        assert [record.value for record in read_all(client, "t")] == [b"new"] * 50


def _with_committed_offsets(broker: Served) -> None:
    create_topic(broker, "t", {})
    for group in GROUPS:
        wait_for_coordinator(broker.port, group)
    with RawClient(broker.port) as client:
        assert [commit_offset(client, group, "t", 77) for group in GROUPS] == [0] * len(GROUPS)
    broker.stop()


def _assert_committed(broker: Served) -> None:
    for group in GROUPS:
        wait_for_coordinator(broker.port, group)
    with RawClient(broker.port) as client:
        assert [committed_offset(client, group, "t") for group in GROUPS] == [77] * len(GROUPS)


@pytest.mark.parametrize("content", [None, "0\n0\n"])
def test_committed_offsets_do_not_depend_on_a_checkpoint(serve: Serve, content: str | None) -> None:
    broker = serve({"offsets.topic.num.partitions": 4}).start()
    _with_committed_offsets(broker)
    path = broker.log_dir / CHECKPOINT
    path.unlink() if content is None else path.write_text(content)
    broker.start()
    _assert_committed(broker)


def test_committed_offsets_outlive_a_partition_that_fails_to_open_once(serve: Serve) -> None:
    broker = serve({"offsets.topic.num.partitions": 4}).start()
    _with_committed_offsets(broker)
    strays: list[Path] = [path / "notes.log" for path in broker.log_dir.glob("__consumer_offsets-*")]
    assert len(strays) == 4
    for path in strays:
        path.write_text("a file that is not of the log")
    broker.start()
    broker.stop()
    for path in strays:
        path.unlink()
    broker.start()
    _assert_committed(broker)
