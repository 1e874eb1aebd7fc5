from pathlib import Path

import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.properties import load_properties
from barnabas.cli.local_cluster.layout import Layout
from barnabas.cli.tool_errors import ToolError


def test_new_cluster_has_a_file_for_each_broker_that_a_broker_can_read(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "c")
    assert layout.is_empty()
    layout.create(3, ["a", "b", "c"], 9092)
    assert not layout.is_empty()
    assert [(each.id, each.port, each.rack) for each in layout.members()] == [
        (0, 9092, "a"),
        (1, 9093, "b"),
        (2, 9094, "c"),
    ]
    configs = [BrokerConfig.from_properties(load_properties(each.properties)) for each in layout.members()]
    assert [each.broker_id for each in configs] == [0, 1, 2]
    assert len({each.metadata_store_path for each in configs}) == 1
    assert len({each.log_dirs for each in configs}) == 3
    assert all(each.warnings == [] for each in configs)
    assert configs[0].get("offsets.topic.replication.factor") == 3


def test_added_broker_has_the_next_id_and_port(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create(2, [], 7000)
    added = layout.add("z")
    assert (added.id, added.address, added.rack) == (2, "127.0.0.1:7002", "z")
    assert layout.member(2) == added


def test_bad_input_is_one_clear_line(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    with pytest.raises(ToolError, match="holds no cluster"):
        layout.members()
    with pytest.raises(ToolError, match="3 brokers need 3 racks, not 2"):
        layout.create(3, ["a", "b"], 9092)
    with pytest.raises(ToolError, match="too high"):
        layout.create(3, [], 65534)
    assert layout.is_empty()
    layout.create(1, [], 65535)
    with pytest.raises(ToolError, match=r"has no broker 7 \(it has 0\)"):
        layout.member(7)
    with pytest.raises(ToolError, match="no port is left"):
        layout.add(None)
    (tmp_path / "server-0.properties").write_text("node.id=0\n")
    with pytest.raises(ToolError, match="has no port"):
        layout.members()


def test_two_commands_do_not_start_brokers_at_once(tmp_path: Path) -> None:
    first, second = Layout(tmp_path).locked(), Layout(tmp_path).locked()
    with first, pytest.raises(ToolError, match="another command"), second:
        pass
    with Layout(tmp_path).locked():
        pass
