from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node
from tests.unit.handlers.conftest import StartNode


def topic(name: str, partitions: int = -1, replicas: int = -1, **more: Any) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": replicas} | more


def configs(**values: str | None) -> list[dict[str, str | None]]:
    return [{"name": key.replace("_", "."), "value": value} for key, value in values.items()]


def ask(node: Node, *topics: dict[str, Any], version: int = 7, **body: Any) -> list[Any]:
    return list(node.ask("CreateTopics", version, topics=topics, **body).topics)


@pytest.mark.parametrize("version", range(2, 8))
def test_topic_is_there_when_the_answer_leaves(node: Node, version: int) -> None:
    (result,) = ask(node, topic("t", 3, 1), version=version)

    assert (result.name, result.error_code, result.error_message) == ("t", ErrorCode.none, None)
    assert len(node.image.topics["t"].partitions) == 3
    assert node.partitions.get("t", 2).log.log_end_offset == 0


def test_answer_tells_what_was_made(start_node: StartNode) -> None:
    node = start_node({"num.partitions": "4", "log.retention.hours": "2"})

    (result,) = ask(node, topic("t", configs=configs(cleanup_policy="compact")))

    described = {each.name: (each.value, each.config_source) for each in result.configs}
    assert (result.num_partitions, result.replication_factor) == (4, 1)
    assert result.topic_id == node.image.topics["t"].topic_id
    assert result.topic_config_error_code == 0
    assert described["cleanup.policy"] == ("compact", 1)
    assert described["retention.ms"][0] == "7200000"
    assert described["segment.bytes"] == ("1073741824", 5)


def test_validate_only_makes_nothing(node: Node) -> None:
    (good, bad) = ask(node, topic("t", 2), topic("bad name"), validate_only=True)

    assert (good.error_code, good.num_partitions) == (ErrorCode.none, 2)
    assert bad.error_code is ErrorCode.invalid_topic_exception
    assert not node.image.topics


def test_replicas_can_be_chosen(node: Node) -> None:
    assignments = [{"partition_index": number, "broker_ids": [0]} for number in (1, 0)]

    (result,) = ask(node, topic("t", assignments=assignments))

    assert (result.error_code, result.num_partitions) == (ErrorCode.none, 2)


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (topic("bad name"), ErrorCode.invalid_topic_exception),
        (topic("known"), ErrorCode.topic_already_exists),
        (topic("t", 0), ErrorCode.invalid_partitions),
        (topic("t", 1, 2), ErrorCode.invalid_replication_factor),
        (topic("t", configs=configs(retention_ms="soon")), ErrorCode.invalid_config),
        (topic("t", configs=configs(colour="red")), ErrorCode.invalid_config),
        (topic("t", configs=configs(retention_ms=None)), ErrorCode.invalid_config),
        (
            topic("t", assignments=[{"partition_index": 0, "broker_ids": [5]}]),
            ErrorCode.invalid_replica_assignment,
        ),
    ],
)
def test_bad_topic_is_refused_and_the_others_are_made(
    node: Node, wanted: dict[str, Any], error: ErrorCode
) -> None:
    node.create_topic("known")

    bad, good = ask(node, wanted, topic("good"))

    assert bad.error_code is error
    assert bad.error_message
    assert (bad.num_partitions, bad.replication_factor, bad.configs) == (-1, -1, ())
    assert good.error_code is ErrorCode.none


def test_name_given_twice_is_refused(node: Node) -> None:
    results = ask(node, topic("t"), topic("t", 2))

    assert [(each.name, each.error_code) for each in results] == [("t", ErrorCode.invalid_request)]
    assert not node.image.topics
