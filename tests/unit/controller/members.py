"""Brokers as the metadata store sees them: sessions, memberships and controllers, without logs."""

import random
from collections.abc import Callable

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.listeners import Listener
from barnabas.base.errors import ErrorCode
from barnabas.base.ids import TopicPartition
from barnabas.controller.controller import Controller
from barnabas.controller.isr_changes import alter_partitions
from barnabas.controller.policy import TopicPolicy
from barnabas.controller.requests import NewTopic
from barnabas.controller.topics import TopicAdmin
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import PartitionImage
from barnabas.metadata.isr_proposal import IsrProposal
from barnabas.metadata.membership import LogHistory, Membership

Connect = Callable[[], ClusterMetadata]
TP = TopicPartition("t", 0)


class Member:
    """A broker as the store sees it: a session, a membership, a controller's role."""

    def __init__(self, broker_id: int, connect: Connect, config: BrokerConfig) -> None:
        self.cluster: ClusterMetadata = connect()
        listener = Listener("PLAINTEXT", "PLAINTEXT", "localhost", 9092 + broker_id)
        self.membership: Membership = Membership(self.cluster, broker_id, [listener])
        self.controller: Controller = Controller(
            self.cluster, self.membership, TopicPolicy(self.cluster, config)
        )

    def start(self, history: LogHistory | None = None) -> None:
        self.membership.join(history or LogHistory())

    def stop(self) -> None:
        self.cluster.close()
        self.cluster.store.close()

    def react(self) -> None:
        self.cluster.refresh(["/"])
        self.controller.react()

    @property
    def partition(self) -> PartitionImage:
        self.cluster.refresh(["/"])
        return self.cluster.image.topics["t"].partitions[0]


class Members:
    def __init__(self, connect: Connect, config: BrokerConfig) -> None:
        self.connect: Connect = connect
        self.config: BrokerConfig = config
        self.all: dict[int, Member] = {}

    def start(self, broker_id: int, history: LogHistory | None = None) -> Member:
        member = self.all[broker_id] = Member(broker_id, self.connect, self.config)
        member.start(history)
        return member

    def create(self, *replicas: int, configs: dict[str, str | None] | None = None) -> None:
        first = self.all[min(self.all)]
        first.react()
        topics = TopicAdmin(first.cluster, self.config, random.Random(1))
        (created,) = topics.create_topics(
            [NewTopic("t", assignments=((0, replicas),), configs=configs or {})]
        )
        assert created.error is ErrorCode.none, created

    def stop(self, broker_id: int) -> None:
        self.all.pop(broker_id).stop()


def propose(members: Members, *isr: int, **changes: int) -> tuple[ErrorCode, PartitionImage | None]:
    """The leader, broker 1, proposes an ISR. `changes` replace what it knows."""
    first = members.all[0]
    topic = first.cluster.image.topics["t"]
    partition = topic.partitions[0]
    epochs = {number: each.epoch for number, each in first.cluster.image.brokers.items()}
    epochs.update({2: changes["epoch_of_2"]} if "epoch_of_2" in changes else {})
    proposal = IsrProposal(
        topic.topic_id,
        0,
        changes.get("leader_epoch", partition.leader_epoch),
        changes.get("partition_epoch", partition.state_version),
        tuple((each, epochs.get(each, 0)) for each in isr),
    )
    leader = changes.get("leader", 1)
    (result,) = alter_partitions(first.controller, leader, epochs[leader], [proposal])
    return result.error, result.state
