"""One step of a member towards its target, state by state."""

from collections.abc import Mapping

import pytest
from tests.unit.group.consumer.consumer_shard import image_of, topic_id

from barnabas.base.errors import FencedMemberEpoch
from barnabas.group.consumer.member import ConsumerMember, MemberState
from barnabas.group.consumer.partition_epochs import PartitionEpochs
from barnabas.group.consumer.reconciliation import Goal, next_member
from barnabas.group.consumer.subscription import Subscription
from barnabas.group.records import ConsumerMemberValue, CurrentAssignmentValue

X, Y = topic_id("x"), topic_id("y")
IMAGE = image_of({"x": 6, "y": 6})
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)


def _member(
    epoch: int,
    state: int,
    assigned: dict[int, int],
    pending: dict[int, int] | None = None,
    topics: tuple[str, ...] = ("x",),
    member_id: str = "a",
) -> ConsumerMember:
    value = ConsumerMemberValue(None, None, "", "", topics, None, 1, None)
    current = CurrentAssignmentValue(
        epoch, epoch - 1, state, {X: assigned} if assigned else {}, {X: pending} if pending else {}
    )
    return ConsumerMember(member_id, value, current)


def _step(
    member: ConsumerMember,
    target_epoch: int,
    target: set[int],
    *,
    owned: set[int] | None = None,
    others: Mapping[str, set[int]] | None = None,
    has_subscription_changed: bool = False,
) -> tuple[int, int, dict[int, int], dict[int, int]]:
    """Epoch, state, assigned and pending partitions of x after one step."""
    epochs = PartitionEpochs()
    epochs.replace(None, member)
    for name, partitions in (others or {}).items():
        epochs.replace(None, _member(1, STABLE, dict.fromkeys(partitions, 1), member_id=name))
    goal = Goal(
        target_epoch,
        {X: frozenset(target)} if target else {},
        Subscription(member, {}, IMAGE),
        epochs,
        None if owned is None else {X: owned},
        has_subscription_changed,
    )
    after = next_member(member, goal)
    assert after.previous_epoch == (member.previous_epoch if after is member else member.epoch)
    return (
        after.epoch,
        after.state,
        dict(after.assigned.get(X, {})),
        dict(after.pending_revocation.get(X, {})),
    )


def test_nothing_to_do() -> None:
    assert _step(_member(3, STABLE, {0: 2}), 3, {0}) == (3, STABLE, {0: 2}, {})


def test_free_partitions_are_taken_at_the_epoch_of_the_target() -> None:
    assert _step(_member(3, STABLE, {0: 2}), 4, {0, 1}) == (4, STABLE, {0: 2, 1: 4}, {})


def test_what_others_own_is_waited_for() -> None:
    step = _step(_member(3, STABLE, {0: 2}), 4, {0, 1, 2}, others={"b": {1}})
    assert step == (4, UNRELEASED, {0: 2, 2: 4}, {})


def test_partitions_are_given_up_before_the_epoch_moves() -> None:
    step = _step(_member(3, STABLE, {0: 2, 1: 3}), 4, {0, 2}, owned={0, 1})
    assert step == (3, UNREVOKED, {0: 2}, {1: 3})


def test_a_member_that_does_not_say_what_it_owns_has_not_given_up() -> None:
    member = _member(3, UNREVOKED, {0: 2}, {1: 3})
    assert _step(member, 4, {0, 2}, owned=None) == (3, UNREVOKED, {0: 2}, {1: 3})
    assert _step(member, 4, {0, 2}, owned={0, 1}) == (3, UNREVOKED, {0: 2}, {1: 3})


def test_member_without_revocations_advances_to_the_newest_target() -> None:
    member = _member(3, UNREVOKED, {0: 2}, {1: 3})
    assert _step(member, 7, {0, 2}, owned={0}) == (7, STABLE, {0: 2, 2: 7}, {})


def test_member_that_has_revoked_may_have_to_revoke_more() -> None:
    member = _member(3, UNREVOKED, {0: 2, 2: 2}, {1: 3})
    assert _step(member, 7, {0}, owned={0, 2}) == (3, UNREVOKED, {0: 2}, {2: 2})


def test_what_was_given_up_may_come_back_as_something_new() -> None:
    member = _member(3, UNREVOKED, {0: 2}, {1: 3})
    assert _step(member, 5, {0, 1}, owned={0}) == (5, STABLE, {0: 2, 1: 5}, {})


def test_waiting_ends_when_the_partition_is_free() -> None:
    member = _member(4, UNRELEASED, {0: 2})
    assert _step(member, 4, {0, 1}, others={"b": {1}}) == (4, UNRELEASED, {0: 2}, {})
    assert _step(member, 4, {0, 1}) == (4, STABLE, {0: 2, 1: 4}, {})


def test_waiting_member_follows_a_newer_target() -> None:
    member = _member(4, UNRELEASED, {0: 2})
    assert _step(member, 5, {1}, others={"b": {1}}, owned={0}) == (4, UNREVOKED, {}, {0: 2})


def test_a_target_of_a_topic_that_is_not_wanted_any_more_is_no_target() -> None:
    member = _member(3, STABLE, {0: 2}, topics=("y",))
    assert _step(member, 4, {0, 1}, owned={0}) == (3, UNREVOKED, {}, {0: 2})
    assert _step(member, 3, {0}, owned={0}, has_subscription_changed=True) == (3, UNREVOKED, {}, {0: 2})


def test_a_state_of_the_future_is_fenced_unless_nothing_is_owned() -> None:
    member = _member(3, MemberState.UNKNOWN, {0: 2})
    for owned in (None, {0}):
        with pytest.raises(FencedMemberEpoch):
            _step(member, 4, {0}, owned=owned)
    goal = Goal(4, {X: frozenset({0})}, Subscription(member, {}, IMAGE), PartitionEpochs(), {})
    after = next_member(member, goal)
    assert (after.epoch, after.state) == (4, STABLE)


def test_a_newer_owner_that_is_known_already_stays_one() -> None:
    """In a compacted log the revocation of a partition may come after its new owner."""
    epochs = PartitionEpochs()
    old, new = _member(2, STABLE, {0: 2}), _member(5, STABLE, {0: 5}, member_id="b")
    epochs.replace(None, old)
    epochs.replace(None, new)
    epochs.replace(old, _member(6, STABLE, {}))
    assert epochs.get(X, 0) == 5
    epochs.replace(new, None)
    assert epochs.get(X, 0) is None
    assert epochs == PartitionEpochs()
