from pathlib import Path

import pytest
from tests.fakes.lost_responses import LostResponses
from tests.unit.controller.members import Member, Members, propose

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.errors import ErrorCode, NotController, StaleBrokerEpoch
from barnabas.controller.brokers import begin_controlled_shutdown
from barnabas.metadata import paths
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import NO_LEADER
from barnabas.metadata.membership import LogHistory
from barnabas.metadata.store import StoreError


def test_brokers_are_activated_in_the_order_they_are_noticed(members: Members) -> None:
    first = members.all[0]
    assert first.controller.is_active
    first.react()
    assert sorted(first.cluster.image.brokers) == [0, 1, 2]
    assert all(not each.is_unclean for each in first.cluster.image.registrations.values())


def test_log_says_how_an_activated_broker_had_ended(
    members: Members, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    members.all[0].react()
    for was_clean in (True, False):
        members.stop(1)
        members.all[0].react()
        members.start(1, LogHistory(was_clean))
        members.all[0].react()
    lines = [line for line in caplog.messages if line.startswith("Activated broker 1")]
    assert [line.rpartition(", ")[2] for line in lines] == [
        "for the first time",
        "with intact logs",
        "after an unclean stop",
    ]


def test_leader_that_has_died_is_replaced_from_the_isr(members: Members) -> None:
    members.create(1, 2, 0)
    members.stop(1)
    members.all[0].react()
    partition = members.all[2].partition
    assert (partition.leader, partition.leader_epoch, partition.isr) == (2, 1, (2, 0))
    members.start(1)
    members.all[0].react()
    assert members.all[0].partition == partition
    assert 1 in members.all[0].cluster.image.brokers


def test_other_broker_becomes_controller_and_decides(members: Members) -> None:
    members.create(0, 1, 2)
    members.stop(0)
    members.all[1].react()
    assert members.all[1].controller.is_active
    assert (members.all[1].partition.leader, members.all[1].partition.isr) == (1, (1, 2))


def test_deposed_controller_writes_nothing(members: Members) -> None:
    members.create(1, 2, 0)
    first = members.all[0]
    other = members.all[1]
    other.cluster.store.delete(paths.CONTROLLER)
    other.react()
    assert other.controller.is_active
    before = other.partition
    with pytest.raises(NotController):
        first.controller.transaction([])
    assert not first.controller.is_active
    assert other.partition == before


def test_last_replica_in_sync_waits_for_its_broker(members: Members) -> None:
    members.create(1, 2)
    members.stop(2)
    members.all[0].react()
    members.stop(1)
    members.all[0].react()
    lost = members.all[0].partition
    assert (lost.leader, lost.isr, lost.elr, lost.last_known_elr) == (NO_LEADER, (), (1,), (1,))
    members.start(2)
    members.all[0].react()
    assert members.all[0].partition.leader == NO_LEADER
    members.start(1)
    members.all[0].react()
    back = members.all[0].partition
    assert (back.leader, back.isr, back.is_recovering) == (1, (1,), False)


def test_broker_that_lost_its_end_leaves_the_isr_before_it_leads(members: Members) -> None:
    members.create(1, 2, configs={"min.insync.replicas": "2"})
    members.stop(1)  # No broker notices before it is back.
    members.start(1, LogHistory(was_clean=False))
    members.all[0].react()
    partition = members.all[0].partition
    assert (partition.leader, partition.isr, partition.elr) == (2, (2,), ())


@pytest.mark.parametrize(("restarted", "leader_epoch"), [(1, 1), (2, 0)])
def test_leader_that_restarted_unnoticed_is_elected_again_in_a_new_epoch(
    members: Members, restarted: int, leader_epoch: int
) -> None:
    """Its high watermark may be lower than before. A follower that restarted changes nothing."""
    members.create(1, 2)
    members.stop(restarted)
    members.start(restarted)
    for _ in range(2):
        members.all[0].react()
        partition = members.all[0].partition
        assert (partition.leader, partition.leader_epoch, partition.isr) == (1, leader_epoch, (1, 2))
    assert restarted in members.all[0].cluster.image.brokers


def test_clean_restart_of_a_single_replica_changes_nothing(members: Members) -> None:
    members.create(1)
    before = members.all[0].partition
    members.stop(1)
    members.start(1)
    members.all[0].react()
    assert members.all[0].partition == before
    assert 1 in members.all[0].cluster.image.brokers


@pytest.mark.parametrize("has_old_term", [False, True])
def test_term_whose_response_was_lost_is_taken_up(
    tmp_path: Path, settings: BrokerConfig, has_old_term: bool
) -> None:
    store = LostResponses(tmp_path / "metadata.db")
    cluster = ClusterMetadata(store)
    cluster.load()
    member = Member(0, lambda: cluster, settings)
    if has_old_term:
        member.start()
        store.delete(paths.CONTROLLER)
        cluster.refresh([paths.CONTROLLER])
    else:
        member.membership.register(LogHistory())
    store.is_losing = True
    with pytest.raises(StoreError, match="lost"):
        member.controller.react()
    store.is_losing = False
    member.react()
    assert member.controller.is_active
    assert member.membership.term is not None
    assert member.membership.term.epoch == cluster.image.controller_epoch == 1 + has_old_term
    assert list(cluster.image.brokers) == [0]
    member.stop()


def test_unclean_sole_replica_leads_again_with_one_new_epoch(members: Members) -> None:
    members.create(1)
    members.stop(1)
    members.start(1, LogHistory(was_clean=False))
    members.all[0].react()
    partition = members.all[0].partition
    assert (partition.leader, partition.leader_epoch, partition.isr) == (1, 1, (1,))
    assert not partition.is_recovering


def test_controlled_shutdown_hands_leadership_over(members: Members) -> None:
    members.create(1, 2)
    controller = members.all[0].controller
    epoch = members.all[1].membership.epoch
    assert begin_controlled_shutdown(controller, 1, epoch) is True
    partition = members.all[0].partition
    assert (partition.leader, partition.isr) == (2, (2,))
    assert members.all[0].cluster.image.brokers[1].is_shutting_down
    with pytest.raises(StaleBrokerEpoch):
        begin_controlled_shutdown(controller, 1, epoch + 1)


def test_leader_shrinks_and_expands_the_isr(members: Members) -> None:
    members.create(1, 2, 0)
    error, state = propose(members, 1, 2)
    assert error is ErrorCode.none
    assert state is not None
    assert (state.isr, state.state_version, state.leader_epoch) == ((1, 2), 1, 0)
    error, state = propose(members, 1, 2, 0)
    assert state is not None
    assert (error, state.isr, state.state_version) == (ErrorCode.none, (1, 2, 0), 2)


def test_repeated_proposal_succeeds_though_its_epoch_is_old(members: Members) -> None:
    members.create(1, 2, 0)
    propose(members, 1, 2)
    error, state = propose(members, 1, 2, partition_epoch=0)
    assert state is not None
    assert (error, state.state_version) == (ErrorCode.none, 1)


@pytest.mark.parametrize(
    ("isr", "changes", "error"),
    [
        ((1, 2), {"leader_epoch": 7}, ErrorCode.not_controller),
        ((1, 2), {"partition_epoch": 7}, ErrorCode.not_controller),
        ((1, 2), {"leader_epoch": -1}, ErrorCode.fenced_leader_epoch),
        ((2, 0), {"leader": 2}, ErrorCode.invalid_request),
        ((1, 2), {"partition_epoch": -1}, ErrorCode.invalid_update_version),
        ((1, 5), {}, ErrorCode.invalid_request),
        ((2, 0), {}, ErrorCode.invalid_request),
        ((1, 2), {"epoch_of_2": 1}, ErrorCode.ineligible_replica),
    ],
)
def test_proposal_is_refused(
    members: Members, isr: tuple[int, ...], changes: dict[str, int], error: ErrorCode
) -> None:
    members.create(1, 2, 0)
    before = members.all[0].partition
    assert propose(members, *isr, **changes) == (error, None)
    assert members.all[0].partition == before


def test_replica_that_shuts_down_cannot_join_the_isr(members: Members) -> None:
    members.create(1, 2, 0)
    begin_controlled_shutdown(members.all[0].controller, 2, members.all[2].membership.epoch)
    assert members.all[0].partition.isr == (1, 0)
    assert propose(members, 1, 2, 0)[0] is ErrorCode.ineligible_replica


def _fail_directory(members: Members, broker_id: int) -> None:
    member = members.all[broker_id]
    member.cluster.refresh(["/"])
    topic = member.cluster.image.topics["t"]
    member.membership.report_offline(frozenset({(topic.topic_id, 0)}))


def test_replica_whose_log_directory_failed_neither_leads_nor_is_in_sync(members: Members) -> None:
    members.create(1, 2, 0)
    _fail_directory(members, 1)
    members.all[0].react()
    partition = members.all[0].partition
    assert (partition.leader, partition.isr) == (2, (2, 0))
    assert 1 in members.all[0].cluster.image.brokers
    assert propose(members, 2, 0, 1, leader=2)[0] is ErrorCode.ineligible_replica
    members.stop(0)
    members.all[2].react()
    members.all[0] = members.all[2]
    assert members.all[2].partition.leader == 2
    members.stop(1)
    members.start(1)  # After the repair.
    members.all[2].react()
    assert propose(members, 2, 1, leader=2)[0] is ErrorCode.none


def test_broker_with_a_failed_log_directory_registers_with_its_replicas_offline(members: Members) -> None:
    members.create(1, 2)
    topic_id = members.all[0].cluster.image.topics["t"].topic_id
    members.stop(1)
    restarted = Member(1, members.connect, members.config)
    restarted.membership.offline_replicas = frozenset({(topic_id, 0)})
    restarted.start()
    members.all[1] = restarted
    members.all[0].react()
    image = members.all[0].cluster.image
    assert image.registrations[1].offline_replicas == {(topic_id, 0)}
    partition = members.all[0].partition
    assert (partition.leader, partition.isr) == (2, (2,))
    assert 1 in image.brokers
