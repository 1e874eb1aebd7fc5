from barnabas.controller.elections import elect_on_start
from barnabas.controller.requests import NewTopic
from barnabas.controller.topics import TopicAdmin
from barnabas.metadata import nodes, paths
from barnabas.metadata.cluster import ClusterMetadata
from barnabas.metadata.image import NO_LEADER
from barnabas.metadata.nodes import StateNode
from barnabas.metadata.store import Create, Set


def test_unclean_start_raises_the_epoch_of_what_this_broker_leads(
    admin: TopicAdmin, three_brokers: ClusterMetadata
) -> None:
    admin.create_topics([NewTopic("t", assignments=((0, (0, 1)), (1, (1, 0)), (2, (0, 2))))])
    assert elect_on_start(three_brokers, 0, unclean=True) == 2
    partitions = three_brokers.image.topics["t"].partitions
    assert [(p.leader, p.leader_epoch) for p in partitions.values()] == [(0, 1), (1, 0), (0, 1)]
    assert partitions[0].isr == (0, 1)
    assert partitions[0].state_version == 1


def test_clean_start_changes_nothing(admin: TopicAdmin, cluster: ClusterMetadata) -> None:
    admin.create_topics([NewTopic("t")])
    before = cluster.image
    assert elect_on_start(cluster, 0, unclean=False) == 0
    assert cluster.image is before


def test_leaderless_partition_is_taken_by_an_in_sync_replica_only(
    admin: TopicAdmin, three_brokers: ClusterMetadata
) -> None:
    admin.create_topics([NewTopic("t", assignments=((0, (0, 1)), (1, (0, 1))))])
    three_brokers.transaction(
        [
            Set(paths.partition_state("t", 0), nodes.encode_state(StateNode(NO_LEADER, 4, (0,), 1))),
            Set(paths.partition_state("t", 1), nodes.encode_state(StateNode(NO_LEADER, 4, (1,), 1))),
        ]
    )
    assert elect_on_start(three_brokers, 0, unclean=False) == 1
    first, second = three_brokers.image.topics["t"].partitions.values()
    assert (first.leader, first.leader_epoch, first.isr) == (0, 5, (0,))
    assert (second.leader, second.leader_epoch) == (NO_LEADER, 4)


def test_topic_without_states_gets_them(cluster: ClusterMetadata) -> None:
    cluster.transaction([Create(paths.topic("old"), b'{"version":1,"partitions":{"0":[1,0],"1":[1]}}')])
    assert elect_on_start(cluster, 0, unclean=False) == 1
    first, second = cluster.image.topics["old"].partitions.values()
    assert (first.leader, first.leader_epoch, first.isr) == (0, 0, (0,))
    assert second.leader == NO_LEADER
    assert elect_on_start(cluster, 0, unclean=False) == 0
