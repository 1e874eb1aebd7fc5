"""A leader proposes in-sync sets: what it proposes when, and what counts until the controller answers."""

import pytest
from tests.unit.replication.support import run
from tests.unit.replication.test_replicated_partition import REPLICAS, Cluster

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import ErrorCode
from barnabas.metadata.image import PartitionImage
from barnabas.metadata.isr_proposal import IsrProposal, IsrResult
from barnabas.replication.partition import ALL
from barnabas.replication.roles import Leader


def members(proposal: IsrProposal) -> tuple[int, ...]:
    return tuple(number for number, _ in proposal.isr)


def committed(isr: tuple[int, ...], version: int, **changes: int) -> PartitionImage:
    return PartitionImage(0, 1, changes.get("epoch", 0), isr, (), (), (), version)


def leader(cluster: Cluster) -> Leader:
    role = cluster.partition.role
    assert isinstance(role, Leader)
    return role


def test_member_that_does_not_catch_up_is_proposed_to_leave_and_counts_until_then() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.follow(epoch=1, isr=REPLICAS, replicas=REPLICAS, version=2)
        answered = cluster.produce(ALL)
        cluster.fetch(2, 1)
        cluster.clock.advance(cluster.lag_ms)
        cluster.partition.check_isr()
        assert cluster.proposals == []
        cluster.clock.advance(cluster.lag_ms + 1)
        cluster.fetch(2, 1)
        cluster.partition.check_isr()
        (proposal,) = cluster.proposals
        assert members(proposal) == (1, 2)
        assert (proposal.leader_epoch, proposal.partition_epoch) == (1, 2)
        assert cluster.partition.log.high_watermark == 0
        assert answered == []
        cluster.partition.check_isr()
        assert len(cluster.proposals) == 1
        cluster.partition.on_isr_answer(IsrResult(proposal, state=committed((1, 2), 3, epoch=1)))
        assert cluster.partition.log.high_watermark == 1
        assert answered == [None]

    run(scenario)


def test_member_with_the_leaders_end_is_in_sync_however_long_it_is_silent() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.produce(1)
        for replica in (2, 3):
            cluster.fetch(replica, 1)
        cluster.clock.advance(cluster.lag_ms + 1)
        cluster.partition.check_isr()
        assert cluster.proposals == []

    run(scenario)


def test_follower_that_caught_up_is_proposed_and_counts_at_once() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.follow(isr=(1, 2), replicas=REPLICAS, version=2)
        cluster.produce(1)
        cluster.fetch(2, 1)
        cluster.clock.advance(cluster.lag_ms + 1)
        cluster.fetch(2, 1)
        assert cluster.partition.log.high_watermark == 1
        cluster.fetch(3, 0)
        assert cluster.proposals == []
        cluster.fetch(3, 1)
        (proposal,) = cluster.proposals
        assert proposal.isr == ((1, -1), (2, 1), (3, 1))
        answered = cluster.produce(ALL)
        cluster.clock.advance(cluster.lag_ms + 1)
        cluster.fetch(2, 2)
        assert answered == []  # Broker 3 may be a member already.
        cluster.fetch(3, 2)
        assert answered == [None]

    run(scenario)


@pytest.mark.parametrize("epoch", [0, 2])
def test_follower_with_another_broker_epoch_than_registered_is_not_proposed(epoch: int) -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.follow(isr=(1, 2), replicas=REPLICAS, version=2)
        cluster.partition.on_follower_fetch(3, 0, 0, epoch)
        assert cluster.proposals == []

    run(scenario)


def test_follower_below_the_start_of_the_leaders_epoch_is_not_proposed() -> None:
    async def scenario() -> None:
        cluster = Cluster(LogConfig(min_insync_replicas=3))
        for _ in range(3):
            cluster.produce(1)
        cluster.follow(epoch=1, isr=(1, 2), replicas=REPLICAS, version=2)
        cluster.fetch(3, 2)
        assert cluster.partition.log.high_watermark == 0
        assert cluster.proposals == []
        cluster.fetch(3, 3)
        assert [members(each) for each in cluster.proposals] == [(1, 2, 3)]

    run(scenario)


def test_refused_proposal_is_withdrawn_and_an_obsolete_one_still_counts() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.follow(isr=(1, 2), replicas=REPLICAS, version=2)
        cluster.fetch(3, 0)
        (proposal,) = cluster.proposals
        cluster.partition.on_isr_answer(IsrResult(proposal, ErrorCode.invalid_update_version))
        assert leader(cluster).isr.maximal == {1, 2, 3}
        cluster.partition.on_isr_answer(IsrResult(proposal, ErrorCode.ineligible_replica))
        assert leader(cluster).isr.maximal == {1, 2}

    run(scenario)


def test_answer_to_a_proposal_of_an_older_epoch_changes_nothing() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.follow(isr=(1, 2), replicas=REPLICAS, version=2)
        cluster.fetch(3, 0)
        (proposal,) = cluster.proposals
        cluster.follow(epoch=1, isr=(1,), replicas=REPLICAS, version=4)
        cluster.partition.on_isr_answer(IsrResult(proposal, state=committed((1, 2, 3), 3)))
        assert leader(cluster).isr.committed == (1,)

    run(scenario)


def test_same_state_from_the_feed_keeps_a_newer_proposal() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.follow(isr=(1, 2), replicas=(1, 2, 3, 4), version=2)
        cluster.fetch(3, 0)
        assert leader(cluster).isr.is_pending
        cluster.follow(isr=(1, 2), replicas=REPLICAS, version=2)
        assert leader(cluster).isr.maximal == {1, 2, 3}

    run(scenario)


def test_leader_that_was_elected_outside_of_the_isr_says_that_it_has_recovered() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        image = PartitionImage(0, 1, 1, (1,), REPLICAS, (), (), 5, is_recovering=True)
        cluster.partition.follow(image)
        (proposal,) = cluster.proposals
        assert (members(proposal), proposal.is_recovering, proposal.partition_epoch) == ((1,), False, 5)

    run(scenario)


@pytest.mark.parametrize("hours", [1, -1])
def test_wall_clock_that_is_off_changes_no_in_sync_set(hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.follow(epoch=1, isr=REPLICAS, replicas=REPLICAS, version=2)
        cluster.produce(1)
        monkeypatch.setattr(cluster.clock, "now_ms", lambda: 1_600_000_000_000 + hours * 3_600_000)
        for replica in (2, 3):
            cluster.fetch(replica, 0)
        cluster.partition.check_isr()
        assert cluster.proposals == []
        for replica in (2, 3):
            cluster.fetch(replica, 1)
        assert cluster.partition.log.high_watermark == 1

    run(scenario)
