"""A leader with two followers: which frontier each request waits for."""

import pytest
from tests.unit.replication.support import Bench, batch, run

from barnabas.base.config.log_config import LogConfig
from barnabas.base.errors import (
    KafkaError,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)
from barnabas.replication.partition import ALL
from barnabas.replication.partition_environment import FetchIsolation
from barnabas.replication.roles import Follower, Leader

REPLICAS = (1, 2, 3)


class Cluster(Bench):
    """Broker 1 leads, brokers 2 and 3 follow."""

    def __init__(self, config: LogConfig | None = None) -> None:
        super().__init__(config)
        self.follow(isr=REPLICAS, replicas=REPLICAS, version=1)

    def produce(self, acks: int) -> list[KafkaError | None]:
        answered: list[KafkaError | None] = []
        info = self.partition.append(batch(), acks)
        if self.partition.must_wait(info, acks):
            acknowledged = self.partition.when_acknowledged(info, acks)
            acknowledged.when_done(lambda done: answered.append(done.error))
        else:
            answered.append(None)
        return answered

    def fetch(self, replica: int, offset: int) -> None:
        self.partition.on_follower_fetch(replica, offset, 0, 1)


def test_acks_1_waits_for_the_leader_and_acks_all_for_every_in_sync_replica() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        assert cluster.produce(1) == [None]
        answered = cluster.produce(ALL)
        assert answered == []
        cluster.fetch(2, 2)
        assert answered == []
        cluster.fetch(3, 1)
        assert cluster.partition.log.high_watermark == 1
        assert answered == []
        cluster.fetch(3, 2)
        assert answered == [None]
        assert cluster.partition.log.high_watermark == 2

    run(scenario)


def test_acks_1_waits_for_the_flush_and_not_for_followers() -> None:
    async def scenario() -> None:
        cluster = Cluster(LogConfig(flush_messages=1))
        answered = cluster.produce(1)
        assert answered == []
        await cluster.step()
        assert answered == [None]
        assert cluster.partition.log.high_watermark == 0

    run(scenario)


def test_unflushed_leader_holds_the_high_watermark() -> None:
    async def scenario() -> None:
        cluster = Cluster(LogConfig(flush_messages=1))
        answered = cluster.produce(ALL)
        cluster.fetch(2, 1)
        cluster.fetch(3, 1)
        assert (answered, cluster.partition.log.high_watermark) == ([], 0)
        await cluster.step()
        assert (answered, cluster.partition.log.high_watermark) == ([None], 1)

    run(scenario)


class Waiting:
    def __init__(self) -> None:
        self.added: list[int] = []

    def on_readable(self, added: int) -> None:
        self.added.append(added)

    def give_up(self) -> None:
        raise AssertionError("the partition is not closed")


def test_followers_are_woken_by_appends_and_consumers_by_the_high_watermark() -> None:
    async def scenario() -> None:
        cluster = Cluster(LogConfig(flush_messages=1))
        follower, consumer, committed = Waiting(), Waiting(), Waiting()
        cluster.partition.watch(follower, FetchIsolation.LOG_END)
        cluster.partition.watch(consumer, FetchIsolation.HIGH_WATERMARK)
        cluster.partition.watch(committed, FetchIsolation.COMMITTED)
        cluster.produce(1)
        assert (follower.added, consumer.added) == ([len(batch())], [])
        await cluster.step()
        cluster.fetch(2, 1)
        assert (consumer.added, committed.added) == ([], [])
        cluster.fetch(3, 1)
        assert (consumer.added, committed.added) == ([len(batch())], [len(batch())])

    run(scenario)


def test_followers_read_to_the_log_end_and_consumers_to_the_high_watermark() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.produce(1)

        def read(isolation: FetchIsolation) -> object:
            return cluster.partition.read(0, 1000, isolation=isolation, min_one_batch=True).records

        assert read(FetchIsolation.HIGH_WATERMARK) is None
        assert read(FetchIsolation.LOG_END) is not None

    run(scenario)


def test_high_watermark_never_falls_when_a_replica_joins_with_less() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.follow(isr=(1, 2), replicas=REPLICAS, version=2)
        cluster.produce(1)
        cluster.fetch(2, 1)
        assert cluster.partition.log.high_watermark == 1
        cluster.follow(isr=REPLICAS, replicas=REPLICAS, version=3)
        cluster.fetch(3, 0)
        assert cluster.partition.log.high_watermark == 1

    run(scenario)


def test_shrunken_in_sync_set_moves_the_high_watermark() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        answered = cluster.produce(ALL)
        cluster.fetch(2, 1)
        cluster.follow(isr=(1, 2), replicas=REPLICAS, version=2)
        cluster.clock.advance(cluster.lag_ms + 1)
        cluster.fetch(2, 1)
        assert (answered, cluster.partition.log.high_watermark) == ([None], 1)

    run(scenario)


def test_high_watermark_stands_still_below_min_insync_replicas() -> None:
    async def scenario() -> None:
        cluster = Cluster(LogConfig(min_insync_replicas=2))
        cluster.produce(1)
        cluster.follow(isr=(1,), replicas=REPLICAS, version=2)
        cluster.clock.advance(cluster.lag_ms + 1)
        cluster.fetch(2, 0)
        assert cluster.partition.log.high_watermark == 0
        with pytest.raises(NotEnoughReplicas):
            cluster.produce(ALL)
        assert cluster.produce(1) == [None]

    run(scenario)


def test_records_that_become_committed_below_min_insync_replicas_are_not_acknowledged() -> None:
    """min.insync.replicas was raised after the append."""

    async def scenario() -> None:
        cluster = Cluster()
        answered = cluster.produce(ALL)
        cluster.follow(isr=(1, 2), replicas=REPLICAS, version=2)
        leader = cluster.partition.role
        assert isinstance(leader, Leader)
        cluster.partition.log.config = LogConfig(min_insync_replicas=3)
        cluster.partition._move_high_watermark(leader, cluster.partition.log, 1)
        assert [type(error) for error in answered] == [NotEnoughReplicasAfterAppend]

    run(scenario)


def test_leader_epoch_is_recorded_before_anything_is_appended() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.produce(1)
        cluster.follow(epoch=4, isr=REPLICAS, replicas=REPLICAS, version=2)
        epochs = cluster.partition.log.leader_epochs
        assert [tuple(entry) for entry in epochs.entries] == [(0, 0), (4, 1)]

    run(scenario)


def test_new_leader_keeps_the_high_watermark_until_followers_fetch() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.produce(1)
        cluster.follow(leader=2, epoch=1, isr=REPLICAS, replicas=REPLICAS, version=2)
        assert isinstance(cluster.partition.role, Follower)
        cluster.follow(leader=1, epoch=2, isr=REPLICAS, replicas=REPLICAS, version=3)
        assert cluster.partition.log.high_watermark == 0
        cluster.fetch(2, 1)
        assert cluster.partition.log.high_watermark == 0
        cluster.fetch(3, 1)
        assert cluster.partition.log.high_watermark == 1

    run(scenario)


def test_follower_s_log_is_opened_without_touching_the_high_watermark() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.append(3)
        bench.partition.log.maybe_update_high_watermark(2)
        bench.logs.clean_shutdown()
        again = Bench(fs=bench.fs, leader=2)
        assert (again.partition.log.high_watermark, again.partition.log.log_end_offset) == (2, 3)

    run(scenario)


def test_older_decision_about_a_partition_changes_nothing() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.follow(epoch=3, isr=(1,), replicas=REPLICAS, version=5)
        cluster.follow(leader=2, epoch=2, isr=REPLICAS, replicas=REPLICAS, version=4)
        assert cluster.partition.is_leader
        assert cluster.partition.leader_epoch == 3

    run(scenario)


def test_producers_that_wait_are_answered_when_leadership_moves() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        answered = cluster.produce(ALL)
        cluster.follow(leader=2, epoch=1, isr=REPLICAS, replicas=REPLICAS, version=2)
        assert [type(error) for error in answered] == [NotLeaderOrFollower]
        cluster.fetch(2, 1)

    run(scenario)


@pytest.mark.parametrize(("epoch", "error"), [(-1, NotLeaderOrFollower), (0, UnknownLeaderEpoch)])
def test_fetch_of_a_broker_that_has_no_replica_is_refused(epoch: int, error: type[KafkaError]) -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.partition.check_replica(2, epoch)
        with pytest.raises(error):
            cluster.partition.check_replica(4, epoch)
        with pytest.raises(error):
            cluster.partition.check_replica(1, epoch)

    run(scenario)


def test_fetch_of_an_earlier_registration_says_nothing_about_the_follower() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.produce(1)
        cluster.partition.on_follower_fetch(2, 0, 0, 5)
        with pytest.raises(NotLeaderOrFollower):
            cluster.partition.on_follower_fetch(2, 1, 0, 4)
        role = cluster.partition.role
        assert isinstance(role, Leader)
        assert (role.followers[2].log_end_offset, role.followers[2].broker_epoch) == (0, 5)

    run(scenario)


def test_replicas_that_a_reassignment_adds_are_not_required_to_be_in_sync() -> None:
    async def scenario() -> None:
        cluster = Cluster(LogConfig(min_insync_replicas=2))
        cluster.follow(isr=(1,), replicas=(1,), version=2)
        assert cluster.produce(ALL) == [None]
        cluster.follow(isr=(1,), replicas=(1, 2), version=3, adding=(2,))
        answered = cluster.produce(ALL)
        cluster.fetch(2, 0)
        assert cluster.partition.log.high_watermark == 2
        assert answered == [None]

    run(scenario)


def test_end_is_known_once_the_high_watermark_has_reached_the_start_of_the_epoch() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.produce(1)
        cluster.follow(epoch=1, isr=REPLICAS, replicas=REPLICAS, version=2)
        assert not cluster.partition.is_end_known
        cluster.fetch(2, 1)
        cluster.fetch(3, 1)
        assert cluster.partition.is_end_known

    run(scenario)
