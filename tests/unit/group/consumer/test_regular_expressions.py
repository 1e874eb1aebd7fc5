"""Subscriptions by regular expression: resolved at once, refreshed for new topics, shared by the group."""

import pytest
from tests.unit.group.consumer.consumer_shard import (
    GROUP,
    Client,
    ConsumerShard,
    durable,
    partitions_of,
    settle,
)

from barnabas.base.clock import ManualClock
from barnabas.base.errors import CoordinatorNotAvailable, InvalidRegularExpression
from barnabas.group.consumer import regular_expressions
from barnabas.group.records import ConsumerGroupRegularExpression, RegularExpressionValue
from barnabas.group.subscription_metadata import metadata_hash


def _resolutions(shard: ConsumerShard) -> list[ConsumerGroupRegularExpression]:
    return [each for each in shard.driver.records if isinstance(each, ConsumerGroupRegularExpression)]


def test_a_new_expression_is_resolved_with_the_join() -> None:
    shard = ConsumerShard({"foo-1": 2, "foo-2": 1, "bar": 1, "a-foo-1": 1})
    reply = shard.join("a", None, subscribed_topic_regex="foo-.*")
    assert shard.partitions(reply) == partitions_of("foo-1", 0, 1) | partitions_of("foo-2", 0)
    now_ms = shard.driver.clock.now_ms()
    assert _resolutions(shard) == [
        ConsumerGroupRegularExpression(
            GROUP, "foo-.*", RegularExpressionValue(frozenset({"foo-1", "foo-2"}), 0, now_ms)
        )
    ]
    assert shard.group.epoch == 2
    assert shard.groups.subscribed_to("foo-1") == {GROUP}


def test_an_expression_and_names_are_one_subscription() -> None:
    shard = ConsumerShard({"foo": 1, "bar": 1, "baz": 1})
    reply = shard.join("a", ["bar"], subscribed_topic_regex="foo")
    assert shard.partitions(reply) == partitions_of("foo", 0) | partitions_of("bar", 0)


def test_an_expression_that_others_have_is_not_resolved_again() -> None:
    shard = ConsumerShard({"foo": 4})
    clients = [Client(shard, name, None, regex="fo+") for name in "ab"]
    settle(clients)
    assert len(_resolutions(shard)) == 1
    assert shard.group.is_homogeneous
    assert [len(client.holds) for client in clients] == [2, 2]


@pytest.mark.parametrize("regex", ["[", "(?=x)", "a{2000}"])
def test_an_expression_that_is_none_is_refused(regex: str) -> None:
    shard = ConsumerShard()
    answer = shard.try_join("a", None, subscribed_topic_regex=regex)
    assert isinstance(answer.error, InvalidRegularExpression)
    assert f"SubscribedTopicRegex `{regex}` is not a valid regular expression" in answer.error.message
    assert shard.driver.records == []


def test_an_expression_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shard = ConsumerShard({f"t{number}": 1 for number in range(100)})

    class SlowClock(ManualClock):
        def monotonic(self) -> float:
            self.advance(1_000)
            return super().monotonic()

    monkeypatch.setattr(shard.environment, "clock", SlowClock())
    answer = shard.try_join("a", None, subscribed_topic_regex="t.*")
    assert isinstance(answer.error, InvalidRegularExpression)
    assert "takes too long" in answer.error.message


def test_new_topics_are_found_ten_seconds_after_the_last_look() -> None:
    shard = ConsumerShard({"foo-1": 1})
    client = Client(shard, "a", None, regex="foo-.*")
    client.settle()
    shard.driver.advance(5_000)
    shard.set_topics({"foo-1": 1, "foo-2": 1})
    client.settle()
    assert client.holds == {("foo-1", 0)}
    shard.driver.advance(5_001)
    client.settle()
    assert client.holds == {("foo-1", 0), ("foo-2", 0)}
    assert shard.group.epoch == 3


def test_an_expression_that_comes_meanwhile_does_not_hide_new_topics_from_the_others() -> None:
    shard = ConsumerShard({"foo-1": 1, "bar": 1})
    first = Client(shard, "a", None, regex="foo-.*")
    first.settle()
    shard.driver.advance(5_000)
    shard.set_topics({"foo-1": 1, "foo-2": 1, "bar": 1})
    second = Client(shard, "b", None, regex="ba.")
    settle([second, first])
    assert second.holds == {("bar", 0)}
    shard.driver.advance(5_001)
    settle([first, second])
    assert first.holds == {("foo-1", 0), ("foo-2", 0)}


def test_nothing_is_looked_at_again_while_no_topics_come(monkeypatch: pytest.MonkeyPatch) -> None:
    shard = ConsumerShard({"foo": 1}, consumer_regex_refresh_interval_ms=60_000)
    client = Client(shard, "a", None, regex="foo")
    client.settle()
    for _ in range(2):
        shard.driver.advance(25_000)
        client.settle()
    assert len(_resolutions(shard)) == 1
    shard.driver.advance(10_001)
    client.settle()
    assert len(_resolutions(shard)) == 2, "the refresh interval is over"
    assert shard.group.epoch == 2


def test_a_refresh_that_could_not_be_written_is_done_again() -> None:
    shard = ConsumerShard({"foo-1": 1})
    client = Client(shard, "a", None, regex="foo-.*")
    client.settle()
    shard.driver.advance(10_001)
    shard.set_topics({"foo-1": 1, "foo-2": 1})
    shard.driver.fail_next(CoordinatorNotAvailable())
    client.try_beat()
    client.settle()
    assert client.holds == {("foo-1", 0), ("foo-2", 0)}


def test_topics_that_came_during_a_reload_are_found() -> None:
    shard = ConsumerShard({"foo-1": 1})
    client = Client(shard, "a", None, regex="foo-.*")
    client.settle()
    shard.driver.advance(10_001)
    other = shard.reloaded()
    other.environment.image = ConsumerShard({"foo-1": 1, "foo-2": 1}).environment.image
    client.shard = other
    client.settle()
    assert client.holds == {("foo-1", 0), ("foo-2", 0)}


def test_the_last_subscriber_takes_the_expression_with_it() -> None:
    shard = ConsumerShard({"foo": 2, "bar": 2})
    first = Client(shard, "a", None, regex="foo")
    second = Client(shard, "b", None, regex="foo")
    third = Client(shard, "c", None, regex="bar")
    settle([first, second, third])
    first.leave()
    assert set(shard.group.resolved_regexes) == {"foo", "bar"}
    second.leave()
    assert set(shard.group.resolved_regexes) == {"bar"}
    assert shard.group.metadata_hash == metadata_hash(shard.environment.image, ["bar"])
    assert shard.groups.subscribed_to("foo") == frozenset()
    assert durable(shard.reloaded().group) == durable(shard.group)


def test_another_expression_replaces_the_old_one() -> None:
    shard = ConsumerShard({"foo": 2, "bar": 2})
    client = Client(shard, "a", None, regex="foo")
    client.settle()
    client.subscribe(None, "bar")
    settle([client], rounds=3)
    assert client.holds == partitions_of("bar", 0, 1)
    assert set(shard.group.resolved_regexes) == {"bar"}
    client.subscribe(["foo"])
    settle([client], rounds=3)
    assert client.holds == partitions_of("foo", 0, 1)
    assert shard.group.resolved_regexes == {}
    assert shard.group.subscribed_regexes == {}


def test_an_expression_that_the_log_has_unresolved_is_resolved_by_any_heartbeat() -> None:
    shard = ConsumerShard({"foo": 1})
    client = Client(shard, "a", None, regex="foo")
    client.settle()
    shard.consumer_groups.replay(ConsumerGroupRegularExpression(GROUP, "foo", None))
    settle([client], rounds=2)
    assert set(shard.group.resolved_regexes) == {"foo"}
    assert client.holds == {("foo", 0)}


def test_an_expression_of_the_log_that_is_not_valid_here_matches_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = ConsumerShard({"foo": 1})
    client = Client(shard, "a", None, regex="foo")
    client.settle()
    shard.driver.advance(10_001)
    shard.set_topics({"foo": 1, "bar": 1})

    def refuse(pattern: str) -> None:
        raise InvalidRegularExpression("not here")

    monkeypatch.setattr(regular_expressions, "compile_topic_regex", refuse)
    client.settle()
    assert "can no longer be resolved: not here" in caplog.text
    assert client.holds == {("foo", 0)}, "what it matched before stays"
