import pytest
from tests.fakes.node import Node

SOFTWARE = {"client_software_name": "test", "client_software_version": "1"}


@pytest.mark.parametrize("version", [3, 4])
def test_the_consumer_protocol_is_a_finalized_feature(node: Node, version: int) -> None:
    answer = node.ask("ApiVersions", version, **SOFTWARE)
    (finalized,) = answer.finalized_features
    assert (finalized.name, finalized.max_version_level) == ("group.version", 1)
    # KAFKA-17492: older clients cannot read a feature whose lowest level is 0.
    assert [feature.name for feature in answer.supported_features] == ["group.version"] * (version - 3)
