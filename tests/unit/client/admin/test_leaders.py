from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from tests.fakes.scripted_broker import ScriptedBroker

from barnabas.client.address import parse_addresses
from barnabas.client.admin.leaders import send_to_leaders
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError, Unreachable
from barnabas.client.settings import ClientSettings

UNKNOWN, NO_LEADER, NOT_LEADER, INVALID_TOPIC, OUT_OF_RANGE = 3, 5, 6, 17, 1
Topics = list[dict[str, object]]


def _cluster(broker: ScriptedBroker, api_timeout: float = 5.0) -> Cluster:
    return Cluster(
        ClientSettings(tuple(parse_addresses(broker.address)), patience=0.0, api_timeout=api_timeout)
    )


def _topic(name: str, *leaders: int, error: int = 0) -> dict[str, object]:
    partitions = [
        {"partition_index": number, "leader_id": leader, "error_code": NO_LEADER if leader < 0 else 0}
        for number, leader in enumerate(leaders)
    ]
    return {"name": name, "error_code": error, "topic_id": None, "partitions": partitions}


class _Script:
    """Metadata responses in turn (the last one repeatedly) of brokers 1 (live) and 2 (unreachable)."""

    def __init__(self, *answers: Topics) -> None:
        self._answers: Iterator[Topics] = iter(answers)
        self._last: Topics = []
        self.broker: ScriptedBroker

    def __call__(self, request: Any) -> Mapping[str, object]:
        self._last = next(self._answers, self._last)
        itself = self.broker.itself()
        unreachable = {"node_id": 2, "host": "127.0.0.1", "port": 1, "rack": None}
        return {**itself, "brokers": [*itself["brokers"], unreachable], "topics": self._last}  # type: ignore[misc]


@pytest.fixture
def scripted() -> Iterator[Callable[..., ScriptedBroker]]:
    brokers = []

    def start(*answers: Topics) -> ScriptedBroker:
        script = _Script(*answers)
        script.broker = ScriptedBroker({"metadata": script})
        brokers.append(script.broker)
        return script.broker

    yield start
    for broker in brokers:
        broker.__exit__(None, None, None)


def test_every_leader_gets_one_request_for_all_its_partitions(
    scripted: Callable[..., ScriptedBroker],
) -> None:
    requested: list[tuple[int, list[tuple[str, int]]]] = []

    def send(
        leader: int, topic_partitions: list[tuple[str, int]]
    ) -> dict[tuple[str, int], str | BrokerError]:
        requested.append((leader, topic_partitions))
        return dict.fromkeys(topic_partitions, f"{leader}")

    broker = scripted([_topic("a", 1, 2), _topic("b", 1)])
    with _cluster(broker) as cluster:
        found = send_to_leaders(cluster, [("b", 0), ("a", 0), ("a", 1)], send)
    assert requested == [(1, [("b", 0), ("a", 0)]), (2, [("a", 1)])]
    assert list(found.items()) == [(("b", 0), "1"), (("a", 0), "1"), (("a", 1), "2")]


def test_only_moved_partitions_are_requested_again_from_the_new_leader(
    scripted: Callable[..., ScriptedBroker],
) -> None:
    requested: list[tuple[int, list[tuple[str, int]]]] = []

    def send(
        leader: int, topic_partitions: list[tuple[str, int]]
    ) -> dict[tuple[str, int], int | BrokerError]:
        requested.append((leader, topic_partitions))
        is_first = len(requested) == 1
        return {
            topic_partition: BrokerError(NOT_LEADER) if is_first and topic_partition[1] else leader
            for topic_partition in topic_partitions
        }

    broker = scripted([_topic("a", 1, 1)], [_topic("a", 1, 2)])
    with _cluster(broker) as cluster:
        found = send_to_leaders(cluster, [("a", 0), ("a", 1)], send)
    assert requested == [(1, [("a", 0), ("a", 1)]), (2, [("a", 1)])]
    assert found == {("a", 0): 1, ("a", 1): 2}


def test_topic_or_partition_that_is_missing_fails_alone_and_at_once(
    scripted: Callable[..., ScriptedBroker],
) -> None:
    broker = scripted([_topic("a", 1), _topic("no", error=UNKNOWN), _topic("bad!", error=INVALID_TOPIC)])
    wanted = [("a", 0), ("a", 7), ("no", 0), ("bad!", 0)]
    with _cluster(broker) as cluster:
        found = send_to_leaders(
            cluster, wanted, lambda leader, topic_partitions: dict.fromkeys(topic_partitions, "fine")
        )
    assert found["a", 0] == "fine"
    errors = {
        topic_partition: each for topic_partition, each in found.items() if isinstance(each, BrokerError)
    }
    assert {topic_partition: each.code for topic_partition, each in errors.items()} == {
        ("a", 7): UNKNOWN,
        ("no", 0): UNKNOWN,
        ("bad!", 0): INVALID_TOPIC,
    }
    assert str(errors["no", 0]) == (
        "Failed to fetch metadata for partition no-0 because metadata for topic `no` could not be found"
    )
    assert len(broker.requests) == 1


def test_partition_without_a_leader_is_an_error_after_the_timeout(
    scripted: Callable[..., ScriptedBroker],
) -> None:
    broker = scripted([_topic("a", 1, -1)])
    with _cluster(broker, api_timeout=0.25) as cluster:
        found = send_to_leaders(
            cluster,
            [("a", 0), ("a", 1)],
            lambda leader, topic_partitions: dict.fromkeys(topic_partitions, leader),
        )
    error = found["a", 1]
    assert found["a", 0] == 1
    assert isinstance(error, BrokerError)
    assert error.code == NO_LEADER


def test_leader_that_is_away_takes_only_its_own_partitions_with_it(
    scripted: Callable[..., ScriptedBroker],
) -> None:
    def send(
        leader: int, topic_partitions: list[tuple[str, int]]
    ) -> dict[tuple[str, int], int | BrokerError]:
        if leader == 2:
            raise Unreachable("127.0.0.1:1: connection refused")
        return dict.fromkeys(topic_partitions, leader)

    broker = scripted([_topic("a", 1, 2)])
    with _cluster(broker, api_timeout=0.05) as cluster:
        found = send_to_leaders(cluster, [("a", 0), ("a", 1)], send)
        assert found["a", 0] == 1
        assert str(found["a", 1]) == "127.0.0.1:1: connection refused"
        with pytest.raises(Unreachable):
            send_to_leaders(cluster, [("a", 1)], send)


def test_partition_that_the_answer_leaves_out_is_an_error(scripted: Callable[..., ScriptedBroker]) -> None:
    broker = scripted([_topic("a", 1)])
    with _cluster(broker) as cluster:
        found: dict[tuple[str, int], int | BrokerError] = send_to_leaders(
            cluster, [("a", 0)], lambda leader, topic_partitions: {}
        )
    assert str(found["a", 0]) == "The response from broker 1 did not contain a result for topic partition a-0"


def test_final_error_is_not_retried(scripted: Callable[..., ScriptedBroker]) -> None:
    calls = []

    def send(
        leader: int, topic_partitions: list[tuple[str, int]]
    ) -> dict[tuple[str, int], int | BrokerError]:
        calls.append(topic_partitions)
        return {topic_partition: BrokerError(OUT_OF_RANGE) for topic_partition in topic_partitions}

    broker = scripted([_topic("a", 1)])
    with _cluster(broker) as cluster:
        found = send_to_leaders(cluster, [("a", 0)], send)
    assert isinstance(found["a", 0], BrokerError)
    assert len(calls) == 1
