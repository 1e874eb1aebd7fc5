"""Apache Kafka's reassignment test: partitions move between four brokers while records are written and read.

Replication factor and `min.insync.replicas` are 3, as in Kafka's `ReassignPartitionsTest`: nothing is
acknowledged before all three replicas have it. The soak moves its 20 partitions, the test command four.
"""

import random
from collections.abc import Mapping

import pytest
from tests.faults.replicated_topic import assert_no_traceback
from tests.faults.served import until
from tests.faults.system.verified_load import VerifiedLoad

from barnabas.client.admin.elections import ElectionType, elect_leaders
from barnabas.client.admin.reassignments import alter_reassignments, list_reassignments
from barnabas.client.cluster import Cluster as Client
from barnabas.client.settings import ClientSettings
from barnabas.testing import Cluster

pytestmark = [
    pytest.mark.needs("confluent_kafka"),
    pytest.mark.kafka_cluster(brokers=4, config={"min.insync.replicas": 3}),
]

_TOPIC = "moved"
_BROKERS = range(4)
_Plan = dict[tuple[str, int], tuple[int, ...]]


def _client(cluster: Cluster) -> Client:
    return Client(ClientSettings.of(cluster.bootstrap_servers))


def _shuffled(partitions: int, rng: random.Random) -> _Plan:
    return {(_TOPIC, number): tuple(rng.sample(_BROKERS, 3)) for number in range(partitions)}


def _move(cluster: Cluster, plan: _Plan) -> None:
    with _client(cluster) as client:
        assert alter_reassignments(client, plan) == {}


def _is_done(cluster: Cluster) -> bool:
    with _client(cluster) as client:
        return list_reassignments(client) == {}


def _bounce(cluster: Cluster) -> None:
    for broker in _BROKERS:
        cluster.stop(broker)
        cluster.start(broker)


def _placed(cluster: Cluster, plan: Mapping[tuple[str, int], tuple[int, ...]]) -> None:
    """The replicas are those of the plan, in sync, equal, and nowhere else."""
    for (topic, number), replicas in plan.items():
        assert tuple(cluster.replicas(topic, number)) == replicas
        cluster.wait_for_isr(topic, number, replicas)
        for broker in _BROKERS:
            directory = cluster.brokers[broker].log_dir / f"{topic}-{number}"
            until(lambda path=directory, here=broker in replicas: path.exists() is here, pause=0.05)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("partitions", "is_bouncing"),
    [
        (4, False),
        pytest.param(4, True, marks=pytest.mark.soak),
        pytest.param(20, False, marks=pytest.mark.soak),
        pytest.param(20, True, marks=pytest.mark.soak),
    ],
)
def test_nothing_is_lost_while_partitions_move(
    kafka_cluster: Cluster, partitions: int, is_bouncing: bool
) -> None:
    cluster, rng = kafka_cluster, random.Random(partitions)
    plan = _shuffled(partitions, rng)
    cluster.create_topic(_TOPIC, assignment=[plan[_TOPIC, number] for number in range(partitions)])
    with VerifiedLoad(cluster, _TOPIC, {"acks": "all"}) as load:
        load.wait_for_more()
        plan = _shuffled(partitions, rng)
        _move(cluster, plan)
        if is_bouncing:
            _bounce(cluster)
        until(lambda: _is_done(cluster), pause=0.1)
        load.wait_for_more()
        load.verify()
    _placed(cluster, plan)
    with _client(cluster) as client:
        elect_leaders(client, ElectionType.PREFERRED, None)
    for (topic, number), replicas in plan.items():
        cluster.wait_for_leader(topic, number, [replicas[0]])
    assert_no_traceback(cluster)


def test_new_controller_finishes_a_reassignment(kafka_cluster: Cluster) -> None:
    """The target is down, so that the reassignment is in progress while the controller is killed."""
    cluster = kafka_cluster
    controller = cluster.controller()
    first, second, third = (each for each in _BROKERS if each != controller)
    cluster.create_topic(_TOPIC, assignment=[(first, second)], config={"min.insync.replicas": 1})
    cluster.stop(third)
    _move(cluster, {(_TOPIC, 0): (first, third)})
    cluster.kill(controller)
    cluster.wait_for_controller(each for each in _BROKERS if each != controller)
    assert set(cluster.replicas(_TOPIC)) == {first, second, third}
    cluster.start(third)
    until(lambda: cluster.replicas(_TOPIC) == [first, third], pause=0.05)
    assert _is_done(cluster)
