from collections.abc import Sequence

import pytest

from barnabas.controller.partition_change import Election, PartitionChange
from barnabas.metadata.image import NO_LEADER, PartitionImage


def partition(
    leader: int = 0,
    isr: Sequence[int] = (0, 1, 2),
    elr: Sequence[int] = (),
    last_known: Sequence[int] = (),
    replicas: Sequence[int] = (0, 1, 2),
    adding: Sequence[int] = (),
    removing: Sequence[int] = (),
) -> PartitionImage:
    return PartitionImage(
        0,
        leader,
        5,
        tuple(isr),
        tuple(replicas),
        tuple(adding),
        tuple(removing),
        3,
        tuple(elr),
        tuple(last_known),
    )


def changed(
    before: PartitionImage,
    isr: Sequence[int] | None = None,
    live: Sequence[int] = (0, 1, 2, 3, 4),
    min_isr: int = 2,
    election: Election = Election.ONLINE,
    unclean: Sequence[int] = (),
) -> PartitionImage:
    change = PartitionChange(before, set(live).__contains__, min_isr)
    if isr is not None:
        change.isr = tuple(isr)
    change.election, change.unclean_replicas = election, unclean
    return change.apply()


def test_nothing_to_change_is_the_same_object() -> None:
    before = partition()
    assert changed(before) is before


def test_leader_stays_and_keeps_its_epoch_when_the_isr_shrinks() -> None:
    after = changed(partition(), isr=(0, 1))
    assert (after.leader, after.leader_epoch, after.isr, after.elr) == (0, 5, (0, 1), ())


def test_next_replica_in_sync_leads_with_a_new_epoch() -> None:
    after = changed(partition(), isr=(2, 1), live=(1, 2))
    assert (after.leader, after.leader_epoch, after.isr) == (1, 6, (2, 1))


def test_replicas_that_leave_below_min_isr_stay_eligible() -> None:
    after = changed(partition(isr=(0, 1)), isr=(0,))
    assert (after.isr, after.elr) == ((0,), (1,))
    assert changed(after, isr=(0, 2)).elr == ()


def test_last_of_the_isr_is_eligible_and_the_last_known_leader() -> None:
    after = changed(partition(isr=(0,), elr=(1,)), isr=(), live=())
    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (NO_LEADER, (), (0, 1), (0,))


def test_eligible_replica_leads_alone() -> None:
    after = changed(partition(NO_LEADER, isr=(), elr=(0, 1), last_known=(0,)), live=(1,))
    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (1, (1,), (0,), ())
    assert not after.is_recovering


def test_replica_that_lost_its_end_is_not_eligible() -> None:
    after = changed(partition(isr=(0, 1)), isr=(0,), unclean=(1,))
    assert (after.isr, after.elr) == ((0,), ())


def test_last_known_leader_leads_if_nothing_is_in_sync_or_eligible() -> None:
    nothing = partition(NO_LEADER, isr=(), last_known=(2,))
    assert changed(nothing, live=(0, 1)) is nothing
    after = changed(nothing, live=(2,))
    assert (after.leader, after.isr, after.last_known_elr, after.is_recovering) == (2, (2,), (), True)


def test_sole_replica_has_nothing_to_recover() -> None:
    after = changed(partition(NO_LEADER, isr=(), last_known=(2,), replicas=(2,)), min_isr=1)
    assert (after.leader, after.is_recovering) == (2, False)


def test_unclean_election_only_where_it_is_allowed() -> None:
    nothing = partition(NO_LEADER, isr=(), elr=(0,), last_known=(0,))
    assert changed(nothing, live=(1, 2)) is nothing
    after = changed(nothing, live=(1, 2), election=Election.UNCLEAN)
    assert (after.leader, after.isr, after.elr, after.is_recovering) == (1, (1,), (), True)


@pytest.mark.parametrize(("live", "leader"), [((0, 1, 2), 0), ((1, 2), 1)])
def test_preferred_election_keeps_the_leader_if_the_first_replica_is_not_there(
    live: Sequence[int], leader: int
) -> None:
    isr = [each for each in (0, 1, 2) if each in live]
    assert changed(partition(1), isr=isr, live=live, election=Election.PREFERRED).leader == leader


def test_reassignment_waits_for_every_new_replica() -> None:
    moving = partition(isr=(0, 1), replicas=(3, 4, 0, 1), adding=(3, 4), removing=(0, 1))
    waiting = changed(moving, isr=(0, 1, 3))
    assert (waiting.replicas, waiting.adding) == ((3, 4, 0, 1), (3, 4))
    done = changed(waiting, isr=(0, 1, 3, 4))
    assert (done.replicas, done.isr, done.adding, done.removing) == ((3, 4), (3, 4), (), ())
    assert (done.leader, done.leader_epoch) == (3, 6)


def test_smaller_replication_factor_waits_for_all_that_remain() -> None:
    shrinking = partition(isr=(0,), replicas=(1, 2, 0), removing=(0,))
    assert changed(shrinking, isr=(0, 1)).replicas == (1, 2, 0)
    done = changed(shrinking, isr=(0, 1, 2))
    assert (done.replicas, done.isr, done.leader) == ((1, 2), (1, 2), 1)


def test_removed_replica_raises_the_epoch_though_the_leader_stays() -> None:
    done = changed(partition(isr=(0, 1, 2), replicas=(0, 1, 2), removing=(2,)), isr=(0, 1, 2))
    assert (done.leader, done.leader_epoch, done.replicas) == (0, 6, (0, 1))
