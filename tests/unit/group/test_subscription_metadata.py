from dataclasses import replace
from itertools import combinations
from uuid import UUID

from barnabas.group.subscription_metadata import metadata_hash
from barnabas.metadata.image import BrokerImage, ClusterImage, PartitionImage, TopicImage


def partition(number: int, replicas: tuple[int, ...] = (1,)) -> PartitionImage:
    return PartitionImage(number, replicas[0], 0, replicas, replicas, (), (), 0)


def topic(name: str, number: int, partitions: int = 2, replicas: tuple[int, ...] = (1,)) -> TopicImage:
    return TopicImage(name, UUID(int=number), {p: partition(p, replicas) for p in range(partitions)})


def cluster(*topics: TopicImage, racks: dict[int, str | None] | None = None) -> ClusterImage:
    return ClusterImage(
        brokers={
            broker: BrokerImage(broker, {}, rack, 0) for broker, rack in (racks or {1: None, 2: None}).items()
        },
        topics={topic.name: topic for topic in topics},
        topic_by_id={topic.topic_id: topic for topic in topics},
    )


ORDERS = topic("orders", 1)
PAYMENTS = topic("payments", 2)


def test_zero_without_topics() -> None:
    assert metadata_hash(cluster(ORDERS), []) == 0
    assert metadata_hash(cluster(ORDERS), ["missing"]) == 0


def test_number_is_the_same_in_every_process() -> None:
    racks: dict[int, str | None] = {1: "a", 2: "b"}
    image = cluster(ORDERS, topic("payments", 2, 3, (2, 1)), racks=racks)
    assert metadata_hash(image, ["orders", "payments"]) == -6652049839785889693
    assert metadata_hash(cluster(ORDERS), ["orders"]) == 3783949242238890461


def test_fits_a_signed_long() -> None:
    numbers = [metadata_hash(cluster(topic("t", n)), ["t"]) for n in range(100)]
    assert all(-(2**63) <= number < 2**63 for number in numbers)
    assert min(numbers) < 0 < max(numbers)


def test_order_and_repetition_of_names_and_topics_outside_the_subscription_do_not_matter() -> None:
    expected = metadata_hash(cluster(ORDERS, PAYMENTS), ["orders", "payments"])
    image = cluster(topic("other", 9), PAYMENTS, ORDERS)
    assert metadata_hash(image, ["payments", "missing", "orders", "payments"]) == expected


def test_every_change_of_the_subscribed_topics_is_seen() -> None:
    names = ["orders", "payments"]
    racks: dict[int, str | None] = {1: "a", 2: "b"}
    images = [
        cluster(ORDERS),
        cluster(ORDERS, PAYMENTS),
        cluster(topic("orders", 3), PAYMENTS),
        cluster(topic("orders", 1, 3), PAYMENTS),
        cluster(ORDERS, topic("payments", 2, 3)),
        cluster(topic("orders", 2), topic("payments", 1)),
        cluster(ORDERS, PAYMENTS, racks=racks),
        cluster(topic("orders", 1, 2, (2,)), PAYMENTS, racks=racks),
        cluster(topic("orders", 1, 2, (1, 2)), PAYMENTS, racks=racks),
        cluster(ORDERS, topic("payments", 2, 2, (2,)), racks=racks),
        cluster(ORDERS, PAYMENTS, racks={1: "ab", 2: "b"}),
    ]
    for one, other in combinations(images, 2):
        assert metadata_hash(one, names) != metadata_hash(other, names)


def test_racks_of_single_partitions_are_distinguished() -> None:
    racks: dict[int, str | None] = {1: "a", 2: "b"}
    one = TopicImage("t", UUID(int=1), {0: partition(0, (1,)), 1: partition(1, (2,))})
    other = TopicImage("t", UUID(int=1), {0: partition(0, (2,)), 1: partition(1, (1,))})
    both_then_none = TopicImage("t", UUID(int=1), {0: partition(0, (1, 2)), 1: partition(1, (3,))})
    numbers = {metadata_hash(cluster(t, racks=racks), ["t"]) for t in (one, other, both_then_none)}
    assert len(numbers) == 3


def test_what_does_not_concern_an_assignment_is_not_seen() -> None:
    racks: dict[int, str | None] = {1: "a", 2: "b"}
    expected = metadata_hash(cluster(topic("orders", 1, 2, (1, 2)), racks=racks), ["orders"])
    moved_leader = topic("orders", 1, 2, (2, 1))
    assert metadata_hash(cluster(moved_leader, racks=racks), ["orders"]) == expected
    newer = replace(topic("orders", 1, 2, (1, 2)), node_version=7)
    assert metadata_hash(cluster(newer, racks={**racks, 3: "c"}), ["orders"]) == expected
    assert metadata_hash(cluster(ORDERS, racks={1: None, 2: "b"}), ["orders"]) == metadata_hash(
        cluster(ORDERS), ["orders"]
    )
