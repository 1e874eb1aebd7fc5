import pytest
from tests.fakes.node import Node

SOFTWARE = {"client_software_name": "test", "client_software_version": "1"}


@pytest.mark.parametrize("version", [3, 4])
def test_the_consumer_protocol_and_transactions_are_finalized_features(node: Node, version: int) -> None:
    answer = node.ask("ApiVersions", version, **SOFTWARE)
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    assert finalized == {"group.version": 1, "transaction.version": 2}
    supported = {each.name: (each.min_version, each.max_version) for each in answer.supported_features}
    # KAFKA-17492: older clients cannot read a feature whose lowest level is 0.
    assert supported == ({"group.version": (0, 1), "transaction.version": (0, 2)} if version >= 4 else {})
