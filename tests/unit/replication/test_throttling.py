import pytest

from barnabas.base.clock import ManualClock
from barnabas.base.config.broker_config import BrokerConfig
from barnabas.replication.throttling import (
    UNLIMITED,
    MeasuredRate,
    ReplicationQuota,
    ReplicationQuotas,
)


def test_rate_of_the_first_window_is_over_a_whole_window() -> None:
    rate = MeasuredRate(11, 1.0)
    assert rate.measure(0.0) == 0
    rate.record(500, 0.0)
    assert rate.measure(0.0) == 500
    assert rate.measure(0.9) == 500
    assert rate.measure(2.0) == 250


def test_rate_is_over_the_time_since_the_oldest_sample_that_counts() -> None:
    rate = MeasuredRate(3, 1.0)
    for second in range(4):
        rate.record(100, float(second))
    assert rate.measure(3.5) == 300 / 2.5  # The first was written three windows ago: it counts no more.
    rate.record(100, 4.0)
    assert rate.measure(4.0) == 300 / 2
    assert rate.measure(100.0) == 0


def test_quota_keeps_a_rate_over_time() -> None:
    """A sender that sends a megabyte whenever it may comes out at the limit."""
    clock = ManualClock()
    quota = ReplicationQuota(1, clock.monotonic)
    quota.limit = 4_000_000
    sent = 0
    for _ in range(6000):  # A minute.
        if not quota.is_exceeded:
            quota.record(1_000_000)
            sent += 1_000_000
        clock.advance(10)
    assert sent == pytest.approx(60 * quota.limit, rel=0.1)


def test_pause_ends_when_the_quota_is_not_exceeded_any_more() -> None:
    clock = ManualClock()
    quota = ReplicationQuota(1, clock.monotonic)
    quota.limit = 1000
    quota.record(4500)
    found = [(quota.is_exceeded, round(quota.pause, 1))]
    clock.advance(4400)
    found.append((quota.is_exceeded, round(quota.pause, 1)))
    clock.advance(200)
    found.append((quota.is_exceeded, round(quota.pause, 1)))
    quota.limit = 0  # Nothing is allowed while a sample counts.
    found.append((quota.is_exceeded, round(quota.pause, 1)))
    assert found == [(True, 4.5), (True, 0.1), (False, 0.0), (True, 6.4)]


def test_limit_may_be_set_and_removed() -> None:
    quota = ReplicationQuota(1, ManualClock().monotonic)
    quota.record(2**62)
    found = [quota.is_exceeded]
    for limit in (1, UNLIMITED):
        quota.limit = limit
        found.append(quota.is_exceeded)
    assert found == [False, True, False]


@pytest.mark.parametrize(
    ("replicas", "listed"),
    [
        ((), []),
        (("*",), [0, 1, 2]),
        (("",), []),
        (("0:7", "2:7", "1:8"), [0, 2]),
        (("0:77",), []),
    ],
)
def test_replicas_of_this_broker_are_found_in_the_list(replicas: tuple[str, ...], listed: list[int]) -> None:
    quota = ReplicationQuota(7, ManualClock().monotonic)
    assert [number for number in range(3) if quota.is_listed("t", number, replicas)] == listed


def test_list_of_a_topic_may_change() -> None:
    quota = ReplicationQuota(7, ManualClock().monotonic)
    assert quota.is_listed("t", 0, ("0:7", "1:7"))
    assert not quota.is_listed("t", 0, ("1:7", "2:7"))
    assert not quota.is_listed("t", 0, ())


def test_limits_are_those_of_the_dynamic_configuration() -> None:
    config = BrokerConfig.from_properties({"broker.id": "1", "log.dirs": "/nowhere"})
    quotas = ReplicationQuotas(config, ManualClock().monotonic)
    assert (quotas.leader.limit, quotas.follower.limit) == (UNLIMITED, UNLIMITED)
    own = {"leader.replication.throttled.rate": "5", "follower.replication.throttled.rate": "6"}
    quotas.configure(config.with_dynamic(own, {}))
    assert (quotas.leader.limit, quotas.follower.limit) == (5, 6)
    quotas.configure(config.with_dynamic({}, {}))
    assert (quotas.leader.limit, quotas.follower.limit) == (UNLIMITED, UNLIMITED)
