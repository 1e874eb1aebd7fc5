"""Transactional requests over bare sockets, with everything but the point of the test filled in."""

import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, end_offset, fetch, list_offset, values_in
from tests.patience import PATIENCE

INIT, ADD_PARTITIONS, ADD_OFFSETS, END, WRITE_MARKERS = 5, 3, 4, 5, 2
INIT_TWO_PHASE = 6
_UNKNOWN_PRODUCER = 1 << 40
"""A producer id that no broker of a test has given out yet."""
END_WITHOUT_BUMP = 4
COMMITTED = 1
"""An isolation level."""
TRANSIENT = (
    ErrorCode.concurrent_transactions,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.not_coordinator,
)


class Producer(NamedTuple):
    """A transactional id with the producer id and epoch it has."""

    name: str
    id: int
    epoch: int


def new_transactional_id(test: str, port: int) -> str:
    """An id that no other test uses; its coordinator is there."""
    words = re.sub(r"[^a-zA-Z0-9]+", "-", test).strip("-")
    transactional_id = f"{words[:60]}-{os.urandom(4).hex()}"
    wait_for_transaction_coordinator(port, transactional_id)
    return transactional_id


def wait_for_transaction_coordinator(port: int, transactional_id: str) -> None:
    """The first who asks gets `__transaction_state` created, and must ask again."""
    with RawClient(port) as client:
        deadline = time.monotonic() + PATIENCE
        while (code := _state_of_coordinator(client, transactional_id)) != 0:
            assert time.monotonic() < deadline, code
            time.sleep(0.01)


def _state_of_coordinator(client: RawClient, transactional_id: str) -> int:
    found = client.call("find_coordinator", 3, key=transactional_id, key_type=1)
    if found.error_code != 0:
        return int(found.error_code)
    # Only a coordinator that has loaded can tell that the id is not there, or not of this producer.
    code = end(client, Producer(transactional_id, _UNKNOWN_PRODUCER, 0)).error_code
    return 0 if code == ErrorCode.invalid_producer_id_mapping else int(code)


def init(client: RawClient, transactional_id: str | None, **options: Any) -> Any:
    """One InitProducerId; nothing is done about an error."""
    version: int = options.pop("version", INIT)
    fields: dict[str, object] = {
        "transactional_id": transactional_id,
        "transaction_timeout": options.pop("timeout", 60_000),
        "producer_id": options.pop("producer_id", -1),
        "producer_epoch": options.pop("producer_epoch", -1),
        "enable2_pc": options.pop("two_phase", False),
        "keep_prepared_txn": options.pop("keep", False),
    }
    assert not options, options
    return client.call("init_producer_id", version, **fields)


def start(client: RawClient, transactional_id: str, **options: Any) -> Producer:
    """The producer of a transactional id, once what it had open is aborted."""
    answer = patiently(lambda: init(client, transactional_id, **options))
    assert answer.error_code == 0, answer
    return Producer(transactional_id, answer.producer_id, answer.producer_epoch)


def start_two_phase(client: RawClient, transactional_id: str, **options: Any) -> Producer:
    """The same for a producer whose transactions an outside coordinator ends (KIP-939)."""
    return start(client, transactional_id, version=INIT_TWO_PHASE, two_phase=True, **options)


def keep(client: RawClient, transactional_id: str) -> Any:
    """InitProducerId of a producer that finishes what the last one has left prepared: the answer."""
    return patiently(
        lambda: init(client, transactional_id, version=INIT_TWO_PHASE, two_phase=True, keep=True)
    )


def patiently(ask: Any) -> Any:
    """The first answer that does not say: not just now."""
    deadline = time.monotonic() + PATIENCE
    while (answer := ask()).error_code in TRANSIENT:
        assert time.monotonic() < deadline, answer
        time.sleep(0.01)
    return answer


def topics_of(partitions: Mapping[str, Sequence[int]], key: str = "partitions") -> list[dict[str, object]]:
    return [{"name": name, key: list(numbers)} for name, numbers in partitions.items()]


def add(
    client: RawClient,
    producer: Producer,
    partitions: Mapping[str, Sequence[int]],
    version: int = ADD_PARTITIONS,
) -> dict[tuple[str, int], ErrorCode]:
    """AddPartitionsToTxn for one transaction, as clients send it: the code of each partition."""
    answer = client.call(
        "add_partitions_to_txn",
        version,
        v3_and_below_transactional_id=producer.name,
        v3_and_below_producer_id=producer.id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=topics_of(partitions),
    )
    return codes_of(answer.results_by_topic_v3_and_below)


def add_several(client: RawClient, *transactions: Mapping[str, object], version: int = 5) -> Any:
    """AddPartitionsToTxn as brokers send it: several transactions, some only to be verified."""
    return client.call("add_partitions_to_txn", version, transactions=list(transactions))


def transaction_of(
    producer: Producer, partitions: Mapping[str, Sequence[int]], *, verify_only: bool = False
) -> dict[str, object]:
    return {
        "transactional_id": producer.name,
        "producer_id": producer.id,
        "producer_epoch": producer.epoch,
        "verify_only": verify_only,
        "topics": topics_of(partitions),
    }


def codes_of(topics: Any) -> dict[tuple[str, int], ErrorCode]:
    return {
        (topic.name, each.partition_index): each.partition_error_code
        for topic in topics
        for each in topic.results_by_partition
    }


def add_offsets(client: RawClient, producer: Producer, group: str, version: int = ADD_OFFSETS) -> ErrorCode:
    code: ErrorCode = client.call(
        "add_offsets_to_txn",
        version,
        transactional_id=producer.name,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        group_id=group,
    ).error_code
    return code


def end(client: RawClient, producer: Producer, *, commit: bool = True, version: int = END) -> Any:
    """One EndTxn; nothing is done about an error."""
    return client.call(
        "end_txn",
        version,
        transactional_id=producer.name,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        committed=commit,
    )


def transactional_batch(producer: Producer, *values: bytes, sequence: int = 0) -> bytes:
    return batch(
        *values,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        transactional=True,
    )


def produce_in(
    client: RawClient, producer: Producer, topic: str, *values: bytes, sequence: int = 0, version: int = 12
) -> Any:
    """Produce a transactional batch to partition 0; version 12 adds the partition by itself."""
    partitions = [{"index": 0, "records": transactional_batch(producer, *values, sequence=sequence)}]
    answer = client.call(
        "produce",
        version,
        transactional_id=producer.name,
        acks=-1,
        timeout=10_000,
        topic_data=[{"name": topic, "partition_data": partitions}],
    )
    return answer.responses[0].partition_responses[0]


def write_markers(
    client: RawClient,
    producer: Producer,
    partitions: Mapping[str, Sequence[int]],
    *,
    commit: bool = False,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
    version: int = WRITE_MARKERS,
) -> dict[tuple[str, int], ErrorCode]:
    """WriteTxnMarkers with one marker: the code of each partition."""
    marker: dict[str, object] = {
        "producer_id": producer.id,
        "producer_epoch": producer.epoch,
        "transaction_result": commit,
        "topics": topics_of(partitions, "partition_indexes"),
        "coordinator_epoch": coordinator_epoch,
        "transaction_version": transaction_version,
    }
    (answer,) = client.call("write_txn_markers", version, markers=[marker]).markers
    assert answer.producer_id == producer.id
    return {
        (topic.name, each.partition_index): each.error_code
        for topic in answer.topics
        for each in topic.partitions
    }


def listed(client: RawClient, *, version: int = 2, **filters: Any) -> Any:
    fields: dict[str, object] = {
        "state_filters": filters.pop("states", []),
        "producer_id_filters": filters.pop("producer_ids", []),
        "duration_filter": filters.pop("longer_than_ms", -1),
        "transactional_id_pattern": filters.pop("pattern", None),
    }
    assert not filters, filters
    return client.call("list_transactions", version, **fields)


def described(client: RawClient, transactional_id: str) -> Any:
    (state,) = client.call(
        "describe_transactions", 0, transactional_ids=[transactional_id]
    ).transaction_states
    return state


def wait_for_state(client: RawClient, producer: Producer, wanted: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while (state := described(client, producer.name)).transaction_state != wanted:
        assert time.monotonic() < deadline, state
        time.sleep(0.01)
    return state


def wait_for_values(client: RawClient, topic: str, expected: list[bytes], *, offset: int = 0) -> None:
    """What a consumer that reads committed records from there gets, once the markers are written."""
    deadline = time.monotonic() + PATIENCE
    while list_offset(client, topic, isolation=COMMITTED).offset != end_offset(client, topic):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    answer = fetch(client, topic, offset, isolation=COMMITTED)
    aborted = {each.producer_id for each in answer.aborted_transactions or ()}
    found = [] if aborted else [value for value in values_in(answer.records) if value in expected]
    assert found == expected
