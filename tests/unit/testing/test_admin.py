from collections.abc import Mapping

import pytest
from tests.fakes.scripted_broker import Answer, ScriptedBroker
from tests.patience import PATIENCE

from barnabas.testing.admin import Admin, AdminError

TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC = 36, 3


def _broker(answers: Mapping[str, Answer] | None = None, raw: bytes | None = None) -> ScriptedBroker:
    return ScriptedBroker(answers, raw=raw)


def _admin(broker: ScriptedBroker) -> Admin:
    return Admin("127.0.0.1", broker.port, timeout=PATIENCE)


def test_create_topic_asks_for_partitions_and_configuration() -> None:
    with _broker({"create_topics": {"topics": [{"name": "t"}]}}) as broker:
        _admin(broker).create_topic("t", 3, {"retention.ms": 1000, "preallocate": True})
        (topic,) = broker.requests[-1].topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", 3, -1)
    assert {config.name: config.value for config in topic.configs} == {
        "retention.ms": "1000",
        "preallocate": "true",
    }


def test_refused_topic_raises_with_the_name_of_kafkas_error() -> None:
    refused = {"name": "t", "error_code": TOPIC_ALREADY_EXISTS, "error_message": "Topic 't' already exists."}
    with (
        _broker({"create_topics": {"topics": [refused]}}) as broker,
        pytest.raises(AdminError, match=r"create topic 't': Topic 't' already exists\.") as error,
    ):
        _admin(broker).create_topic("t", 1, {})
    assert error.value.code == "topic_already_exists"


def test_delete_topics_in_one_request() -> None:
    with _broker({"delete_topics": {"responses": [{"name": "a"}, {"name": "b"}]}}) as broker:
        _admin(broker).delete_topics(["a", "b"])
        assert [topic.name for topic in broker.requests[-1].topics] == ["a", "b"]


def test_failed_deletion_names_the_topic() -> None:
    results = [{"name": "a"}, {"name": "b", "error_code": UNKNOWN_TOPIC}]
    with (
        _broker({"delete_topics": {"responses": results}}) as broker,
        pytest.raises(AdminError, match=r"delete topic 'b': .* \(unknown_topic_or_partition\)"),
    ):
        _admin(broker).delete_topics(["a", "b"])


def test_list_topics_gives_every_name() -> None:
    topics = [{"name": "a"}, {"name": "__consumer_offsets", "is_internal": True}]
    with _broker({"metadata": {"topics": topics}}) as broker:
        assert _admin(broker).list_topics() == {"a", "__consumer_offsets"}


def test_broker_that_hangs_up_is_an_error() -> None:
    with _broker(raw=b"") as broker, pytest.raises(ConnectionError, match="closed before the response"):
        _admin(broker).list_topics()


def test_broker_that_is_not_there_is_an_error_at_once() -> None:
    with _broker() as broker:
        admin = _admin(broker)
    with pytest.raises(ConnectionError, match="connection refused"):
        admin.list_topics()
