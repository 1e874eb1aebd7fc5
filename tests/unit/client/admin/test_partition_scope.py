import pytest
from tests.fakes.scripted_broker import ScriptedBroker
from tests.patience import PATIENCE

from barnabas.client.address import Address
from barnabas.client.admin.partition_scope import BadScope, check_partitions, parse_scope, resolve_scopes
from barnabas.client.cluster import Cluster
from barnabas.client.errors import BrokerError
from barnabas.client.settings import ClientSettings


@pytest.mark.parametrize(
    ("text", "expected"), [("a", ("a", None)), ("a:0", ("a", [0])), ("a:2,0,1", ("a", [2, 0, 1]))]
)
def test_scope_is_a_topic_and_perhaps_partitions(text: str, expected: object) -> None:
    assert parse_scope(text) == expected


@pytest.mark.parametrize("text", ["a:1:2", "a:"])
def test_scope_with_too_much_or_too_little_is_refused(text: str) -> None:
    with pytest.raises(BadScope, match=f"Invalid topic arg '{text}', expected topic name and partitions"):
        parse_scope(text)


@pytest.mark.parametrize("word", ["x", "-1", "", "1.5"])
def test_partition_that_is_no_number_is_refused(word: str) -> None:
    with pytest.raises(BadScope, match=f"Invalid partition '{word}' specified in topic arg 'a:0,{word}''"):
        parse_scope(f"a:0,{word}")


def _cluster(broker: ScriptedBroker) -> Cluster:
    return Cluster(
        ClientSettings((Address("127.0.0.1", broker.port),), request_timeout=PATIENCE, patience=0.0)
    )


def _broker(*leaders: int, code: int = 0) -> ScriptedBroker:
    partitions = [{"partition_index": number, "leader_id": leader} for number, leader in enumerate(leaders)]
    topic = {"name": "t", "error_code": code, "partitions": partitions}
    return ScriptedBroker({"metadata": {"brokers": [], "controller_id": -1, "topics": [topic]}})


def test_partitions_named_one_by_one_are_taken_as_they_are_and_whole_topics_are_looked_up() -> None:
    with _broker(1, 1) as broker, _cluster(broker) as cluster:
        assert resolve_scopes(cluster, ["u:7", "t", "t:1"]) == [("u", 7), ("t", 1), ("t", 0)]


def test_partition_that_does_not_exist_is_named() -> None:
    with (
        _broker(1) as broker,
        _cluster(broker) as cluster,
        pytest.raises(BrokerError, match='The partitions "t-7,t-9" do not exist'),
    ):
        check_partitions(cluster, [("t", 0), ("t", 7), ("t", 9)])


def test_partition_without_a_leader_is_named() -> None:
    with (
        _broker(1, -1) as broker,
        _cluster(broker) as cluster,
        pytest.raises(BrokerError, match='The partitions "t-1" have no leader'),
    ):
        check_partitions(cluster, [("t", 0), ("t", 1)])


def test_unknown_topic_is_the_brokers_error() -> None:
    with (
        _broker(code=3) as broker,
        _cluster(broker) as cluster,
        pytest.raises(BrokerError, match="This server does not host this topic-partition"),
    ):
        resolve_scopes(cluster, ["t"])
