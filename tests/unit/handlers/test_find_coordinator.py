import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode

from barnabas.runtime.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE


@pytest.mark.parametrize("version", range(7))
def test_the_coordinator_of_a_group_is_found_at_every_version(node: Node, version: int) -> None:
    if version >= 4:
        (found,) = node.ask("FindCoordinator", version, coordinator_keys=["g"]).coordinators
        assert found.key == "g"
    else:
        found = node.ask("FindCoordinator", version, key="g")
    assert (found.error_code, found.node_id) == (ErrorCode.none, node.config.broker_id)
    assert (found.host, found.port) == ("localhost", 9092)


def test_first_request_creates_the_internal_topic(node: Node) -> None:
    node.ask("FindCoordinator", coordinator_keys=["a", "b"])
    topic = node.image.topics[CONSUMER_OFFSETS]
    assert len(topic.partitions) == 50
    assert len(topic.partitions[0].replicas) == 1
    assert node.image.topic_configs[CONSUMER_OFFSETS]["cleanup.policy"] == "compact"
    assert node.image.topic_configs[CONSUMER_OFFSETS]["segment.bytes"] == "104857600"


def test_a_transactional_id_has_a_coordinator_too(node: Node) -> None:
    (found,) = node.ask("FindCoordinator", key_type=1, coordinator_keys=["id"]).coordinators
    assert found.error_code is ErrorCode.none
    assert node.image.topic_configs[TRANSACTION_STATE]["cleanup.policy"] == "compact"


def test_unknown_key_type_is_invalid_request(node: Node) -> None:
    (found,) = node.ask("FindCoordinator", key_type=2, coordinator_keys=["x"]).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.invalid_request, -1)
    assert node.ask("FindCoordinator", 1, key_type=7, key="x").error_code is ErrorCode.invalid_request


def test_more_replicas_than_brokers_are_refused_only_if_configured(start_node: StartNode) -> None:
    node = start_node({"offsets.topic.replication.factor": "2"})
    (found,) = node.ask("FindCoordinator", coordinator_keys=["g"]).coordinators
    assert found.error_code is ErrorCode.coordinator_not_available
    assert CONSUMER_OFFSETS not in node.image.topics


def test_a_listener_without_an_endpoint_has_no_coordinator(node: Node) -> None:
    node.listener = "ELSEWHERE"
    (found,) = node.ask("FindCoordinator", coordinator_keys=["g"]).coordinators
    assert found.error_code is ErrorCode.coordinator_not_available
