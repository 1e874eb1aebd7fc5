import pytest
from tests.unit.controller.members import TP, Members, propose

from barnabas.base.errors import ErrorCode, NotController
from barnabas.base.ids import TopicPartition
from barnabas.controller.leader_elections import balance_leaders, elect_leaders, imbalanced
from barnabas.controller.partition_change import Election
from barnabas.metadata.image import NO_LEADER


def test_preferred_leader_is_elected_on_request_and_when_leaders_are_imbalanced(members: Members) -> None:
    members.create(1, 2)
    members.stop(1)
    members.all[0].react()
    members.start(1)
    members.all[0].react()
    controller = members.all[0].controller
    (missing,) = elect_leaders(controller, Election.PREFERRED, [TP])
    assert missing.error is ErrorCode.preferred_leader_not_available
    assert imbalanced(controller.image, 10) == []
    error, _ = propose(members, 2, 1, leader=2)
    assert error is ErrorCode.none
    assert imbalanced(controller.image, 10) == [TP]
    assert imbalanced(controller.image, 100) == []
    (elected,) = elect_leaders(controller, Election.PREFERRED, [TP])
    assert elected.error is ErrorCode.none
    assert members.all[0].partition.leader == 1
    (again,) = elect_leaders(controller, Election.PREFERRED, [TP])
    assert again.error is ErrorCode.election_not_needed


def test_automatic_election_returns_leadership_to_the_preferred_replica(members: Members) -> None:
    members.create(1, 2)
    members.stop(1)
    members.all[0].react()
    members.start(1)
    members.all[0].react()
    propose(members, 2, 1, leader=2)
    assert balance_leaders(members.all[1].controller, 10) == 0  # It is not the controller.
    assert members.all[0].partition.leader == 2
    assert balance_leaders(members.all[0].controller, 10) == 1
    assert members.all[0].partition.leader == 1
    assert balance_leaders(members.all[0].controller, 10) == 0


def test_unclean_election_on_request_leads_with_a_replica_out_of_sync(members: Members) -> None:
    members.create(1, 2)
    members.stop(2)
    members.all[0].react()
    members.stop(1)
    members.start(2)
    members.all[0].react()
    controller = members.all[0].controller
    assert members.all[0].partition.leader == NO_LEADER
    (elected,) = elect_leaders(controller, Election.UNCLEAN, [TP])
    assert elected.error is ErrorCode.none
    partition = members.all[0].partition
    assert (partition.leader, partition.isr, partition.elr) == (2, (2,), ())
    assert partition.is_recovering
    (again,) = elect_leaders(controller, Election.UNCLEAN, [TP])
    assert again.error is ErrorCode.election_not_needed


def test_unclean_election_without_a_live_replica_is_impossible(members: Members) -> None:
    members.create(1, 2)
    members.stop(2)
    members.stop(1)
    members.all[0].react()
    (failed,) = elect_leaders(members.all[0].controller, Election.UNCLEAN, [TP])
    assert failed.error is ErrorCode.eligible_leaders_not_available


@pytest.mark.parametrize(
    ("wanted", "message"),
    [(TopicPartition("u", 0), "No such topic as u"), (TopicPartition("t", 7), "No such partition as t-7")],
)
def test_unknown_partitions_are_named(members: Members, wanted: TopicPartition, message: str) -> None:
    members.create(1, 2)
    (result,) = elect_leaders(members.all[0].controller, Election.PREFERRED, [wanted])
    assert (result.error, result.message) == (ErrorCode.unknown_topic_or_partition, message)


def test_election_of_all_partitions_and_of_one_that_is_named_twice(members: Members) -> None:
    members.create(1, 2)
    members.stop(1)
    members.all[0].react()
    members.start(1)
    members.all[0].react()
    propose(members, 2, 1, leader=2)
    controller = members.all[0].controller
    results = elect_leaders(controller, Election.PREFERRED, [TP, TP])
    assert [result.error for result in results] == [ErrorCode.none, ErrorCode.none]
    assert members.all[0].partition.leader == 1
    (all_of_them,) = elect_leaders(controller, Election.PREFERRED, None)
    assert (all_of_them.topic_partition, all_of_them.error) == (TP, ErrorCode.election_not_needed)


def test_decision_is_made_again_if_the_partition_was_changed_meanwhile(members: Members) -> None:
    members.create(1, 2)
    members.stop(1)
    members.all[0].react()
    members.start(1)
    members.all[0].react()
    propose(members, 2, 1, leader=2)
    stale = members.all[0].cluster.image
    members.all[2].cluster.refresh(["/"])
    store = members.all[2].cluster.store
    path = "/brokers/topics/t/partitions/0/state"
    store.set(path, store.get(path)[0])
    members.all[0].cluster.image = stale
    (elected,) = elect_leaders(members.all[0].controller, Election.PREFERRED, [TP])
    assert elected.error is ErrorCode.none
    assert members.all[0].partition.leader == 1


def test_only_the_controller_elects(members: Members) -> None:
    members.create(1, 2)
    members.all[1].react()
    with pytest.raises(NotController):
        elect_leaders(members.all[1].controller, Election.PREFERRED, [TP])
