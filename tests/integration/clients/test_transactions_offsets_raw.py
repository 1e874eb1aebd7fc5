"""Offsets in transactions over bare sockets: every version, what is seen meanwhile, and what is refused."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.integration.clients.group_requests import (
    commit,
    committed_offset,
    fetch_offsets,
    join_alone,
    join_as_new,
    new_heartbeat,
    wait_for_coordinator,
)
from tests.integration.clients.raw import RawClient
from tests.integration.clients.transaction_offsets import (
    NEWEST,
    NONE,
    UNSTABLE,
    announce,
    commit_in,
    commit_one,
    finish,
    seen,
    wait_until_stable,
)
from tests.integration.clients.transaction_requests import (
    END,
    END_WITHOUT_BUMP,
    init,
    produce_in,
    start,
    wait_for_transaction_coordinator,
)
from tests.patience import PATIENCE

from barnabas.testing import Broker

FIRST_THAT_ADDS = 5
VERSIONS = range(NEWEST + 1)


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


@pytest.fixture
def name(transactional_id: str, kafka_broker: Broker) -> str:
    wait_for_transaction_coordinator(kafka_broker.port, transactional_id)
    return transactional_id


# --- every version -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("committed", [True, False])
def test_offsets_count_with_their_transaction(
    client: RawClient, kafka_topic: str, group: str, name: str, version: int, committed: bool
) -> None:
    producer = start(client, name)
    last = -1
    for offset in (5, 9):
        if version < FIRST_THAT_ADDS:
            announce(client, producer, group)
        assert commit_one(client, producer, group, kafka_topic, offset, version=version) == NONE
        assert seen(client, group, kafka_topic, stable=False) == (last, NONE)
        assert seen(client, group, kafka_topic, stable=True) == (-1, UNSTABLE)
        ending = END if version >= FIRST_THAT_ADDS else END_WITHOUT_BUMP
        producer = finish(client, producer, committed=committed, version=ending)
        last = offset if committed else -1
        assert wait_until_stable(client, group, kafka_topic) == last


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_kept_is_the_whole_commit(
    client: RawClient, kafka_topic: str, group: str, name: str, version: int
) -> None:
    producer = start(client, name)
    if version < FIRST_THAT_ADDS:
        announce(client, producer, group)
    options: dict[str, Any] = {"version": version, "metadata": "words"}
    assert commit_one(client, producer, group, kafka_topic, 17, **options) == NONE
    finish(client, producer, version=END if version >= FIRST_THAT_ADDS else END_WITHOUT_BUMP)
    wait_until_stable(client, group, kafka_topic)
    ((found,),) = (each.partitions for each in fetch_offsets(client, group, {kafka_topic: [0]}).topics)
    leader_epoch = 0 if version >= 2 else -1
    assert (found.committed_offset, found.metadata) == (17, "words")
    assert found.committed_leader_epoch == leader_epoch


def test_records_and_offsets_are_one_transaction(
    client: RawClient, kafka_topic: str, group: str, name: str
) -> None:
    producer = start(client, name)
    assert produce_in(client, producer, kafka_topic, b"one").error_code == 0
    assert commit_one(client, producer, group, kafka_topic, 1) == NONE
    producer = finish(client, producer, committed=False)
    assert wait_until_stable(client, group, kafka_topic) == -1
    assert commit_one(client, producer, group, kafka_topic, 1) == NONE
    finish(client, producer)
    assert wait_until_stable(client, group, kafka_topic) == 1


# --- beside other commits ----------------------------------------------------------------------------------


def test_a_later_commit_outside_overtakes(client: RawClient, kafka_topic: str, group: str, name: str) -> None:
    producer = start(client, name)
    assert commit_one(client, producer, group, kafka_topic, 5) == NONE
    assert commit(client, group, kafka_topic, {0: 8}) == [0]
    assert seen(client, group, kafka_topic, stable=False) == (8, NONE)
    assert seen(client, group, kafka_topic, stable=True) == (-1, UNSTABLE)
    finish(client, producer)
    assert wait_until_stable(client, group, kafka_topic) == 8


def test_of_two_transactions_the_later_commit_counts(
    client: RawClient, kafka_topic: str, group: str, name: str
) -> None:
    first, second = start(client, name), start(client, f"{name}-other")
    assert commit_one(client, first, group, kafka_topic, 5) == NONE
    assert commit_one(client, second, group, kafka_topic, 6) == NONE
    finish(client, second)
    deadline = time.monotonic() + PATIENCE
    while committed_offset(client, group, kafka_topic) != 6:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert seen(client, group, kafka_topic, stable=True) == (-1, UNSTABLE)
    finish(client, first)
    assert wait_until_stable(client, group, kafka_topic) == 6


def test_all_offsets_of_a_group_are_unstable_one_by_one(
    client: RawClient, kafka_topic: str, group: str, name: str
) -> None:
    assert commit(client, group, kafka_topic, {0: 3}) == [0]
    producer = start(client, name)
    assert commit_one(client, producer, group, kafka_topic, 5) == NONE
    answer = fetch_offsets(client, group, None, stable=True)
    ((found,),) = (each.partitions for each in answer.topics)
    assert (found.committed_offset, found.error_code) == (-1, UNSTABLE)
    finish(client, producer)
    assert wait_until_stable(client, group, kafka_topic) == 5


def test_a_group_that_is_deleted_meanwhile_stays_deleted(
    client: RawClient, kafka_topic: str, group: str, name: str
) -> None:
    producer = start(client, name)
    assert commit_one(client, producer, group, kafka_topic, 5) == NONE
    (deleted,) = client.call("delete_groups", 2, groups_names=[group]).results
    assert deleted.error_code == 0
    assert seen(client, group, kafka_topic, stable=True) == (-1, NONE)
    finish(client, producer)
    start(client, name)  # waits until the markers are written
    assert seen(client, group, kafka_topic, stable=True) == (-1, NONE)


def test_offsets_that_are_deleted_meanwhile_stay_deleted(
    client: RawClient, kafka_topic: str, group: str, name: str
) -> None:
    producer = start(client, name)
    assert commit_one(client, producer, group, kafka_topic, 5) == NONE
    topics = [{"name": kafka_topic, "partitions": [{"partition_index": 0}]}]
    answer = client.call("offset_delete", 0, group_id=group, topics=topics)
    assert answer.error_code == 0
    finish(client, producer)
    start(client, name)  # waits until the markers are written
    assert seen(client, group, kafka_topic, stable=True) == (-1, NONE)


# --- who may commit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_member_of_a_classic_group_commits_in_its_generation(
    client: RawClient, kafka_topic: str, group: str, name: str, version: int
) -> None:
    generation, member = join_alone(client, group, topics=[kafka_topic])
    producer = start(client, name)
    if version < FIRST_THAT_ADDS:
        announce(client, producer, group)

    def ask(**who: Any) -> ErrorCode:
        return commit_one(client, producer, group, kafka_topic, 5, version=version, **who)

    assert ask(generation=generation, member=member) == NONE
    assert ask(generation=generation + 1, member=member) == ErrorCode.illegal_generation
    assert ask(generation=generation, member="somebody") == ErrorCode.unknown_member_id
    assert ask(generation=-1, member=member) == ErrorCode.illegal_generation
    assert ask(generation=generation, member=member, instance="i") == ErrorCode.unknown_member_id
    assert ask() == NONE, "a client that does not name a member is not checked"


@pytest.mark.parametrize("version", [0, 2])
def test_versions_without_members_commit_for_a_group_that_has_some(
    client: RawClient, kafka_topic: str, group: str, name: str, version: int
) -> None:
    join_alone(client, group, topics=[kafka_topic])
    producer = start(client, name)
    announce(client, producer, group)
    assert commit_one(client, producer, group, kafka_topic, 5, version=version) == NONE


def test_a_static_member_that_was_replaced_is_fenced(
    client: RawClient, kafka_topic: str, group: str, name: str
) -> None:
    generation, old = join_alone(client, group, topics=[kafka_topic], group_instance_id="i")
    new = join_as_new(client, group, topics=[kafka_topic], group_instance_id="i").member_id
    assert new != old
    producer = start(client, name)
    options: dict[str, Any] = {"generation": generation, "instance": "i"}
    fenced = commit_one(client, producer, group, kafka_topic, 5, member=old, **options)
    assert fenced == ErrorCode.fenced_instance_id


def test_a_rebalance_under_way_is_no_obstacle(
    client: RawClient, kafka_topic: str, group: str, name: str
) -> None:
    joined = join_as_new(client, group, topics=[kafka_topic])
    producer = start(client, name)
    options: dict[str, Any] = {"generation": joined.generation_id, "member": joined.member_id}
    assert commit_one(client, producer, group, kafka_topic, 5, **options) == NONE


def test_a_member_of_a_consumer_group_commits_at_its_epoch(
    client: RawClient, kafka_topic: str, group: str, name: str
) -> None:
    joined = new_heartbeat(client, group, "member-1", 0, subscribed_topic_names=[kafka_topic])
    assert joined.error_code == 0
    producer = start(client, name)

    def ask(**who: Any) -> ErrorCode:
        return commit_one(client, producer, group, kafka_topic, 5, **who)

    epoch = joined.member_epoch
    assert ask(generation=epoch, member="member-1") == NONE
    assert ask(generation=epoch + 1, member="member-1") == ErrorCode.illegal_generation
    assert ask(generation=epoch, member="somebody") == ErrorCode.unknown_member_id
    assert ask(generation=-1, member="member-1") == ErrorCode.illegal_generation
    assert ask() == NONE


@pytest.mark.parametrize("version", [3, 5])
def test_a_generation_of_no_group_is_illegal(
    client: RawClient, kafka_topic: str, group: str, name: str, version: int
) -> None:
    producer = start(client, name)
    if version < FIRST_THAT_ADDS:
        announce(client, producer, group)
    code = commit_one(client, producer, group, kafka_topic, 5, version=version, generation=1, member="m")
    assert code == ErrorCode.illegal_generation
    assert seen(client, group, kafka_topic, stable=True) == (-1, NONE)


# --- the transaction ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(FIRST_THAT_ADDS))
def test_a_group_that_was_not_announced_is_not_part_of_the_transaction(
    client: RawClient, kafka_topic: str, group: str, name: str, version: int
) -> None:
    producer = start(client, name)
    code = commit_one(client, producer, group, kafka_topic, 5, version=version)
    assert code == (ErrorCode.transaction_abortable if version == 4 else ErrorCode.invalid_txn_state)
    assert seen(client, group, kafka_topic, stable=True) == (-1, NONE)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fenced_producer_commits_nothing(
    client: RawClient, kafka_topic: str, group: str, name: str, version: int
) -> None:
    old = start(client, name)
    if version < FIRST_THAT_ADDS:
        announce(client, old, group)
    assert commit_one(client, old, group, kafka_topic, 5, version=version) == NONE
    assert init(client, name).error_code == ErrorCode.concurrent_transactions
    new = start(client, name)
    assert wait_until_stable(client, group, kafka_topic) == -1
    fenced = commit_one(client, old, group, kafka_topic, 6, version=version)
    assert fenced == ErrorCode.invalid_producer_epoch
    assert commit_one(client, new, group, kafka_topic, 7) == NONE
    finish(client, new)
    assert wait_until_stable(client, group, kafka_topic) == 7


@pytest.mark.parametrize("version", [0, 4, 5])
def test_a_producer_of_another_id_is_refused(
    client: RawClient, kafka_topic: str, group: str, name: str, version: int
) -> None:
    producer = start(client, name)
    for stranger in (
        producer._replace(id=producer.id + 1_000_000),
        producer._replace(name=f"{name}-nobody"),
    ):
        code = commit_one(client, stranger, group, kafka_topic, 5, version=version)
        assert code == ErrorCode.invalid_producer_id_mapping


# --- partitions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 3, 5])
def test_unknown_partitions_and_long_metadata_spoil_no_others(
    client: RawClient, kafka_topic: str, group: str, name: str, version: int
) -> None:
    producer = start(client, name)
    if version < FIRST_THAT_ADDS:
        announce(client, producer, group)
    unknown = ErrorCode.unknown_topic_or_partition
    offsets = {("no-such-topic", 0): 1, (kafka_topic, 0): 5, (kafka_topic, 7): 6}
    codes = commit_in(client, producer, group, offsets, version=version)
    assert codes == {("no-such-topic", 0): unknown, (kafka_topic, 7): unknown, (kafka_topic, 0): NONE}
    long = commit_one(client, producer, group, kafka_topic, 6, version=version, metadata="x" * 4097)
    assert long == ErrorCode.offset_metadata_too_large
    assert commit_one(client, producer, "", kafka_topic, 6, version=version) == ErrorCode.invalid_group_id


# --- restarts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("committed", [True, False])
def test_pending_offsets_survive_the_broker(version: int, committed: bool) -> None:
    with Broker(process=True, config={"transaction.state.log.num.partitions": 1}) as broker:
        broker.create_topic("topic")
        _wait_for_coordinators(broker)
        with RawClient(broker.port) as client:
            assert commit(client, "g", "topic", {0: 3}) == [0]
            producer = start(client, "t")
            if version < FIRST_THAT_ADDS:
                announce(client, producer, "g")
            assert commit_one(client, producer, "g", "topic", 5, version=version) == NONE
        broker.kill()
        broker.start()
        _wait_for_coordinators(broker)
        with RawClient(broker.port) as client:
            assert seen(client, "g", "topic", stable=False) == (3, NONE)
            assert seen(client, "g", "topic", stable=True) == (-1, UNSTABLE)
            assert commit_one(client, producer, "g", "topic", 6, version=version) == NONE
            finish(client, producer, committed=committed, version=END if version >= 5 else END_WITHOUT_BUMP)
            expected = 6 if committed else 3
            assert wait_until_stable(client, "g", "topic") == expected
        broker.kill()
        broker.start()
        _wait_for_coordinators(broker)
        with RawClient(broker.port) as client:
            assert seen(client, "g", "topic", stable=True) == (expected, NONE)


def _wait_for_coordinators(broker: Broker) -> None:
    wait_for_coordinator(broker.port, "g")
    # Not of the id itself: the wait ends a transaction of producer 0, and here that may be ours.
    wait_for_transaction_coordinator(broker.port, "nobody")
