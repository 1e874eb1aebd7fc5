"""Offsets in transactions over bare sockets: commit them, see what others see, end the transaction."""

import time
from collections.abc import Mapping
from typing import Any

from kio.schema.errors import ErrorCode
from tests.integration.clients.group_requests import fetch_offsets
from tests.integration.clients.raw import RawClient
from tests.integration.clients.transaction_requests import END, Producer, add_offsets, end, patiently
from tests.patience import PATIENCE

NEWEST = 5
NONE = ErrorCode.none
UNSTABLE = ErrorCode.unstable_offset_commit
TRANSIENT = (ErrorCode.concurrent_transactions, ErrorCode.coordinator_load_in_progress)


def commit_in(
    client: RawClient,
    producer: Producer,
    group: str,
    offsets: Mapping[tuple[str, int], int],
    *,
    version: int = NEWEST,
    metadata: str | None = "",
    **member: Any,
) -> dict[tuple[str, int], ErrorCode]:
    """One TxnOffsetCommit: the code of each partition."""
    topics: dict[str, list[dict[str, object]]] = {}
    for (topic, number), offset in offsets.items():
        topics.setdefault(topic, []).append(
            {
                "partition_index": number,
                "committed_offset": offset,
                "committed_leader_epoch": 0,
                "committed_metadata": metadata,
            }
        )
    answer = client.call(
        "txn_offset_commit",
        version,
        transactional_id=producer.name,
        group_id=group,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        generation_id=member.get("generation", -1),
        member_id=member.get("member", ""),
        group_instance_id=member.get("instance"),
        topics=[{"name": topic, "partitions": each} for topic, each in topics.items()],
    )
    return {
        (topic.name, each.partition_index): each.error_code
        for topic in answer.topics
        for each in topic.partitions
    }


def announce(client: RawClient, producer: Producer, group: str) -> None:
    """AddOffsetsToTxn, again while the transaction before is being completed."""
    deadline = time.monotonic() + PATIENCE
    while (code := add_offsets(client, producer, group)) != NONE:
        assert code in TRANSIENT, code
        assert time.monotonic() < deadline, code
        time.sleep(0.01)


def commit_one(
    client: RawClient, producer: Producer, group: str, topic: str, offset: int, **options: Any
) -> ErrorCode:
    """For partition 0; asks again while the transaction before is being completed."""
    deadline = time.monotonic() + PATIENCE
    while True:
        (code,) = commit_in(client, producer, group, {(topic, 0): offset}, **options).values()
        if code not in TRANSIENT or time.monotonic() > deadline:
            return code
        time.sleep(0.01)


def seen(client: RawClient, group: str, topic: str, *, stable: bool) -> tuple[int, int]:
    """Offset and error of partition 0."""
    answer = fetch_offsets(client, group, {topic: [0]}, stable=stable)
    ((found,),) = (each.partitions for each in answer.topics)
    return found.committed_offset, found.error_code


def wait_until_stable(client: RawClient, group: str, topic: str) -> int:
    """The offset, once no transaction is about to change it: a marker may come after the answer."""
    deadline = time.monotonic() + PATIENCE
    while (found := seen(client, group, topic, stable=True))[1] == UNSTABLE:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert found[1] == 0
    return found[0]


def finish(client: RawClient, producer: Producer, *, committed: bool = True, version: int = END) -> Producer:
    """End the transaction: the producer to go on with."""
    answer = patiently(lambda: end(client, producer, commit=committed, version=version))
    assert answer.error_code == 0, answer
    if version < END:
        return producer
    return Producer(producer.name, answer.producer_id, answer.producer_epoch)
