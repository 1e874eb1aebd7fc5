"""What an operator of the cluster does: moves the controller, leaders and replicas."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from tests.simulation.faults import CONTROLLER, FOLLOWER, LEADER, OUTSIDER, SECOND_FOLLOWER
from tests.simulation.hosting import HostedBroker
from tests.simulation.machine import Machine
from tests.simulation.store import SimulatedStore

from barnabas.base.errors import KafkaError
from barnabas.base.ids import TopicPartition
from barnabas.controller.controller import Controller
from barnabas.controller.leader_elections import elect_leaders
from barnabas.controller.partition_change import Election
from barnabas.controller.reassignments import Reassignment, reassign
from barnabas.metadata import nodes, paths
from barnabas.metadata.store import Delete, StoreError


class Operator:
    def __init__(
        self, store: SimulatedStore, machines: Sequence[Machine], partitions: Sequence[TopicPartition]
    ) -> None:
        self._store: SimulatedStore = store
        self._machines: Sequence[Machine] = machines
        self._partitions: Sequence[TopicPartition] = partitions

    def roles(self) -> Mapping[int, int]:
        """The brokers that have a role now."""
        replicas = self._replicas(self._partitions[0])
        state = self._store.tree.nodes[paths.partition_state(*self._partitions[0])]
        leader = nodes.decode_state(state.data).leader
        followers = [each for each in replicas if each != leader]
        outsiders = [
            each.number for each in self._machines if each.number not in (*replicas, self.controller())
        ]
        names = {LEADER: [leader], FOLLOWER: followers, SECOND_FOLLOWER: followers[1:], OUTSIDER: outsiders}
        found = {name: numbers[0] for name, numbers in names.items() if numbers}
        return {CONTROLLER: self.controller(), **found}

    def controller(self) -> int:
        holder = self._store.tree.nodes.get(paths.CONTROLLER)
        return 0 if holder is None else nodes.decode_controller(holder.data)

    def move_controller(self) -> bool:
        """Delete its node, as with ZooKeeper's shell."""
        if paths.CONTROLLER not in self._store.tree.nodes:
            return False
        self._store.write([Delete(paths.CONTROLLER)], None)
        return True

    def elect(self, broker_id: int) -> bool:
        """Make a broker the preferred leader of all partitions, and elect preferred leaders."""

        def work(controller: Controller) -> None:
            wanted = []
            for each in self._partitions:
                replicas = self._replicas(each)
                if broker_id in replicas:
                    first = (broker_id, *(other for other in replicas if other != broker_id))
                    wanted.append(Reassignment(each, first))
            reassign(controller, wanted)
            elect_leaders(controller, Election.PREFERRED, [each.topic_partition for each in wanted])

        return self._with_controller(work)

    def reassign(self, seed: int) -> bool:
        """Give a partition other replicas, as many as before. Seed 0: those that the first one lacks."""
        rng = random.Random(seed)
        partition = rng.choice(self._partitions) if seed else self._partitions[0]
        replicas = self._replicas(partition)
        numbers = [each.number for each in self._machines if seed or each.number not in replicas]
        factor = len(replicas) - len(self._removing(partition))
        if factor > len(numbers):
            return False
        wanted = [Reassignment(partition, tuple(rng.sample(numbers, factor)))]
        return self._with_controller(lambda controller: reassign(controller, wanted))

    def _replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        node = self._store.tree.nodes[paths.topic(partition.topic)]
        return nodes.decode_topic(node.data).assignment[partition.partition]

    def _removing(self, partition: TopicPartition) -> tuple[int, ...]:
        node = self._store.tree.nodes[paths.topic(partition.topic)]
        return nodes.decode_topic(node.data).removing.get(partition.partition, ())

    def _with_controller(self, work: Callable[[Controller], object]) -> bool:
        """On the thread of the store of the broker that takes itself for the controller."""
        for machine in self._machines:
            broker = machine.broker
            if not machine.is_running or broker is None or not broker.is_serving:
                continue
            if broker.controller.is_active:
                machine.loop.threads.later(partial(_try, broker, work))
                return True
        return False


def _try(broker: HostedBroker, work: Callable[[Controller], object]) -> None:
    """An operator whose command fails does nothing about it."""
    with suppress(KafkaError, StoreError):
        work(broker.controller)
