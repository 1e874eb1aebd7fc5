from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes.node import Node

StartNode = Callable[..., Node]


@pytest.fixture
def start_node(tmp_path: Path) -> Iterator[StartNode]:
    """Start a node with these properties; it is closed with the test."""
    nodes: list[Node] = []

    def start(properties: dict[str, str] | None = None) -> Node:
        nodes.append(Node(tmp_path, properties or {}))
        return nodes[-1]

    yield start
    for node in nodes:
        node.close()


@pytest.fixture
def node(start_node: StartNode) -> Node:
    return start_node()
