"""Expiration of offsets after their retention, and of empty groups."""

import pytest
from tests.unit.group.offsets.offsets_shard import RETENTION_MS, OffsetsShard, SaidGroup

from barnabas.base.errors import CoordinatorNotAvailable
from barnabas.group.classic.group import ClassicGroup
from barnabas.group.group import CONSUMER
from barnabas.group.offsets import offset_expiry
from barnabas.group.records import ClassicGroupMetadata, OffsetCommit


def _expire(shard: OffsetsShard) -> None:
    shard.driver.call(shard.offsets.expire).result()
    shard.driver.advance(0)


def _group(shard: OffsetsShard, group_id: str) -> SaidGroup:
    group = shard.groups.get(group_id)
    assert isinstance(group, SaidGroup)
    return group


def test_an_offset_expires_when_its_retention_is_over_and_its_group_goes_with_it() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.clock.advance(RETENTION_MS - 1)
    _expire(shard)
    assert shard.driver.records == []
    shard.clock.advance(1)
    _expire(shard)
    assert shard.driver.records == [OffsetCommit("g", "orders", 0, None), ClassicGroupMetadata("g", None)]
    assert shard.groups.find("g") is None
    assert not shard.offsets.has_offsets("g")


def test_a_group_stays_while_one_of_its_offsets_does() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.clock.advance(RETENTION_MS)
    shard.put("g", "orders", 1, 6)
    _expire(shard)
    assert shard.all_offsets() == {("g", "orders", 1): 6}
    assert shard.groups.find("g") is not None


def test_the_group_says_from_when_the_retention_counts() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.clock.advance(RETENTION_MS)
    _group(shard, "g").emptied_ms = shard.clock.now_ms()
    _expire(shard)
    assert shard.offset("g", "orders", 0) == 5
    shard.clock.advance(RETENTION_MS)
    _expire(shard)
    assert shard.offset("g", "orders", 0) == -1


def test_a_group_may_say_that_nothing_expires_now() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    _group(shard, "g").expires = False
    shard.clock.advance(RETENTION_MS)
    _expire(shard)
    assert shard.driver.records == []


def test_offsets_of_subscribed_topics_do_not_expire() -> None:
    shard = OffsetsShard()
    group = shard.group("g", CONSUMER, "Stable")
    group.subscribed = {"orders"}
    shard.put("g", "orders", 0, 5)
    shard.put("g", "payments", 0, 5)
    shard.clock.advance(RETENTION_MS)
    _expire(shard)
    assert shard.driver.records == [OffsetCommit("g", "payments", 0, None)]


def test_an_empty_group_stays_while_a_topic_counts_as_subscribed() -> None:
    shard = OffsetsShard()
    shard.group("g").subscribed = {"orders"}
    shard.put("g", "orders", 0, 5)
    shard.clock.advance(RETENTION_MS)
    _expire(shard)
    assert shard.driver.records == []


def test_a_group_with_members_stays_when_all_its_offsets_expire() -> None:
    shard = OffsetsShard()
    shard.group("g", CONSUMER, "Stable")
    shard.put("g", "orders", 0, 5)
    shard.clock.advance(RETENTION_MS)
    _expire(shard)
    assert shard.driver.records == [OffsetCommit("g", "orders", 0, None)]
    assert shard.groups.find("g") is not None


def test_an_expire_timestamp_of_the_clients_own_counts_and_nothing_else() -> None:
    shard = OffsetsShard()
    now_ms = shard.clock.now_ms()
    shard.put("g", "orders", 0, 5, expire_timestamp_ms=now_ms + 10)
    shard.put("g", "orders", 1, 6, expire_timestamp_ms=now_ms + 10 * RETENTION_MS)
    shard.clock.advance(9)
    _expire(shard)
    assert shard.driver.records == []
    shard.clock.advance(1)
    _expire(shard)
    assert shard.driver.records == [OffsetCommit("g", "orders", 0, None)]
    shard.clock.advance(2 * RETENTION_MS)
    _expire(shard)
    assert shard.offset("g", "orders", 1) == 6


def test_an_offset_with_a_transaction_pending_does_not_expire() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 5)
    shard.put("g", "orders", 0, 6, producer_id=40)
    shard.clock.advance(RETENTION_MS)
    _expire(shard)
    assert shard.driver.records == []
    shard.offsets.replay_end_marker(40, commit=False)
    _expire(shard)
    assert shard.groups.find("g") is None


def test_a_group_whose_only_offset_is_pending_stays() -> None:
    shard = OffsetsShard()
    shard.put("g", "orders", 0, 6, producer_id=40)
    shard.clock.advance(RETENTION_MS)
    _expire(shard)
    assert shard.driver.records == []
    shard.offsets.replay_end_marker(40, commit=False)
    _expire(shard)
    assert shard.driver.records == [ClassicGroupMetadata("g", None)]


def test_an_empty_group_without_offsets_is_deleted_and_one_with_members_is_not() -> None:
    shard = OffsetsShard()
    shard.group("empty")
    shard.group("stable", state_name="Stable")
    _expire(shard)
    assert shard.driver.records == [ClassicGroupMetadata("empty", None)]


def test_a_sweep_goes_on_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_expiry, "STEP", 10)
    shard = OffsetsShard()
    for number in range(30):
        shard.put(f"g{number}", "orders", 0, 5)
    shard.clock.advance(RETENTION_MS)
    shard.driver.call(shard.offsets.expire).result()
    assert len(shard.groups) == 25
    shard.driver.advance(1)
    assert len(shard.groups) == 0
    assert len(shard.environment.timers) == 0


def test_a_step_that_could_not_be_written_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_expiry, "STEP", 10)
    shard = OffsetsShard()
    for number in range(10):
        shard.put(f"g{number}", "orders", 0, 5)
    shard.clock.advance(RETENTION_MS)
    shard.driver.call(shard.offsets.expire).result()
    shard.driver.fail_next(CoordinatorNotAvailable())
    shard.driver.advance(0)
    assert len(shard.groups) == 5
    shard.driver.advance(1_000)
    assert len(shard.groups) == 0


def test_a_sweep_that_could_not_be_written_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_expiry, "STEP", 10)
    shard = OffsetsShard()
    for number in range(10):
        shard.put(f"g{number}", "orders", 0, 5)
    shard.clock.advance(RETENTION_MS)
    shard.driver.fail_next(CoordinatorNotAvailable())
    assert shard.driver.call(shard.offsets.expire).error is not None
    shard.driver.advance(1_000)
    assert len(shard.groups) == 10


def test_a_real_group_without_members_expires_by_its_commits() -> None:
    shard = OffsetsShard()
    shard.groups.put(ClassicGroup("g", shard.clock))
    shard.put("g", "orders", 0, 5)
    shard.clock.advance(RETENTION_MS)
    _expire(shard)
    assert shard.groups.find("g") is None
