import pytest
from kio.schema.errors import ErrorCode
from tests.fakes.node import Node


@pytest.mark.parametrize("version", range(3))
def test_cluster_controller_and_brokers(node: Node, version: int) -> None:
    response = node.ask("DescribeCluster", version)

    (broker,) = response.brokers
    assert response.error_code is ErrorCode.none
    assert (response.cluster_id, response.controller_id) == ("the-cluster", 0)
    assert (broker.broker_id, broker.host, broker.port, broker.rack) == (0, "localhost", 9092, None)
    assert response.cluster_authorized_operations == -2147483648


def test_authorized_operations_if_requested(node: Node) -> None:
    response = node.ask("DescribeCluster", include_cluster_authorized_operations=True)

    assert response.cluster_authorized_operations == 0b1_1111_1010_0000


def test_no_broker_is_fenced(node: Node) -> None:
    response = node.ask("DescribeCluster", 2, include_fenced_brokers=True)

    assert [broker.is_fenced for broker in response.brokers] == [False]


@pytest.mark.parametrize(
    ("endpoint_type", "error"),
    [(2, ErrorCode.mismatched_endpoint_type), (9, ErrorCode.unsupported_endpoint_type)],
)
def test_only_brokers_answer_here(node: Node, endpoint_type: int, error: ErrorCode) -> None:
    response = node.ask("DescribeCluster", 1, endpoint_type=endpoint_type)

    assert response.error_code is error
    assert response.error_message
    assert response.brokers == ()


def test_controller_that_cannot_be_reached_is_not_named(node: Node) -> None:
    node.listener = "ELSEWHERE"

    response = node.ask("DescribeCluster")

    assert (response.controller_id, response.brokers) == (-1, ())
