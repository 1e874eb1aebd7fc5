import pytest
from tests.unit.controller.members import TP, Members, propose

from barnabas.base.errors import ErrorCode, NotController
from barnabas.base.ids import TopicPartition
from barnabas.controller.reassignments import Reassignment, ReassignmentResult, reassign
from barnabas.metadata.image import PartitionImage


def shape(partition: PartitionImage) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    return partition.replicas, partition.adding, partition.removing


def moved(
    members: Members, replicas: tuple[int, ...] | None, *, may_change_factor: bool = True
) -> ReassignmentResult:
    controller = members.all[0].controller
    (result,) = reassign(controller, [Reassignment(TP, replicas)], may_change_factor=may_change_factor)
    return result


def test_reassignment_goes_on_by_the_isr_and_can_be_cancelled(members: Members) -> None:
    members.create(1)
    controller = members.all[0].controller
    (begun,) = reassign(controller, [Reassignment(TP, (2,))])
    assert begun.error is ErrorCode.none
    moving = members.all[0].partition
    assert (moving.replicas, moving.adding, moving.removing, moving.leader) == ((2, 1), (2,), (1,), 1)
    reassign(controller, [Reassignment(TP, None)])
    assert members.all[0].partition.replicas == (1,)
    (nothing,) = reassign(controller, [Reassignment(TP, None)])
    assert nothing.error is ErrorCode.no_reassignment_in_progress
    reassign(controller, [Reassignment(TP, (2,))])
    error, _ = propose(members, 1, 2)
    assert error is ErrorCode.new_leader_elected
    done = members.all[0].partition
    assert (done.replicas, done.isr, done.leader, done.adding, done.removing) == ((2,), (2,), 2, (), ())


def test_reassignment_waits_for_every_added_replica(members: Members) -> None:
    """KAFKA-15665."""
    members.create(1)
    moved(members, (0, 2))
    propose(members, 1, 2)
    assert shape(members.all[0].partition) == ((0, 2, 1), (0, 2), (1,))
    propose(members, 1, 2, 0)
    assert shape(members.all[0].partition) == ((0, 2), (), ())


def test_new_controller_goes_on_with_a_reassignment(members: Members) -> None:
    members.create(1)
    moved(members, (2,))
    members.stop(0)
    members.all[1].react()
    members.all[0] = members.all[1]
    error, _ = propose(members, 1, 2)
    assert error is ErrorCode.new_leader_elected
    assert shape(members.all[1].partition) == ((2,), (), ())


def test_new_reassignment_replaces_one_in_progress(members: Members) -> None:
    members.create(1)
    moved(members, (2,))
    moved(members, (0,))
    assert shape(members.all[0].partition) == ((0, 1, 2), (0,), (1, 2))
    moved(members, (0, 2))
    assert shape(members.all[0].partition) == ((0, 2, 1), (0,), (1,))
    moved(members, (1,))
    assert shape(members.all[0].partition) == ((1,), (), ())


def test_order_of_replicas_changes_at_once(members: Members) -> None:
    members.create(1, 2)
    moved(members, (2, 1))
    partition = members.all[0].partition
    assert shape(partition) == ((2, 1), (), ())
    assert partition.leader == 1
    before = partition.state_version
    assert moved(members, (2, 1)).error is ErrorCode.none
    assert members.all[0].partition.state_version == before


def test_replication_factor_changes_only_if_the_request_allows_it(members: Members) -> None:
    members.create(1, 2)
    refused = moved(members, (1,), may_change_factor=False)
    assert refused.error is ErrorCode.invalid_replication_factor
    assert refused.message == "The replication factor is changed from 2 to 1"
    moved(members, (1,))
    assert shape(members.all[0].partition) == ((1,), (), ())
    moved(members, (1, 0))
    # In progress: the target has two replicas, so another target of two is no change.
    assert moved(members, (1, 2), may_change_factor=False).error is ErrorCode.none


def test_cancelling_that_would_need_an_unclean_election_is_refused(members: Members) -> None:
    members.create(1)
    moved(members, (2, 0))
    propose(members, 1, 2)
    members.stop(1)
    members.all[0].react()
    assert members.all[0].partition.isr == (2,)
    refused = moved(members, None)
    assert refused.error is ErrorCode.invalid_replica_assignment
    assert refused.message is not None
    assert "unclean leader election" in refused.message


@pytest.mark.parametrize(
    ("topic_partition", "replicas", "error"),
    [
        (TopicPartition("u", 0), (1,), ErrorCode.unknown_topic_or_partition),
        (TopicPartition("t", 3), (1,), ErrorCode.unknown_topic_or_partition),
        (TP, (), ErrorCode.invalid_replica_assignment),
        (TP, (1, 1), ErrorCode.invalid_replica_assignment),
        (TP, (1, 9), ErrorCode.invalid_replica_assignment),
        (TP, (-1,), ErrorCode.invalid_replica_assignment),
        (TP, None, ErrorCode.no_reassignment_in_progress),
    ],
)
def test_invalid_requests_change_nothing_and_keep_no_other_broker(
    members: Members, topic_partition: TopicPartition, replicas: tuple[int, ...] | None, error: ErrorCode
) -> None:
    members.create(1)
    requests = [Reassignment(topic_partition, replicas), Reassignment(TP, (1, 2))]
    refused, begun = reassign(members.all[0].controller, requests)
    assert (refused.error, begun.error) == (error, ErrorCode.none)
    assert shape(members.all[0].partition) == ((1, 2), (2,), ())


def test_only_the_controller_reassigns(members: Members) -> None:
    members.create(1)
    members.all[1].react()
    with pytest.raises(NotController):
        reassign(members.all[1].controller, [Reassignment(TP, (1,))])
