import json
from uuid import UUID

import pytest

from barnabas.base.config.listeners import Listener
from barnabas.base.ids import ZERO_UUID, encode_uuid
from barnabas.metadata import nodes, paths
from barnabas.metadata.nodes import BrokerNode, NodeError, ProducerIdBlock, StateNode, TopicNode

TOPIC_ID = UUID("c05f0e3c-9c2f-4e0e-9d43-4b6d8fd1b2a7")


def test_broker_is_written_as_version_five() -> None:
    listeners = (
        Listener("INTERNAL", "SASL_SSL", "::1", 9093),
        Listener("PLAINTEXT", "PLAINTEXT", "kafka.local", 9092),
    )
    data = nodes.encode_broker(BrokerNode(listeners, "rack-a", 1631184186428))
    assert json.loads(data) == {
        "listener_security_protocol_map": {"INTERNAL": "SASL_SSL", "PLAINTEXT": "PLAINTEXT"},
        "endpoints": ["INTERNAL://[::1]:9093", "PLAINTEXT://kafka.local:9092"],
        "jmx_port": -1,
        "features": {},
        "host": "kafka.local",
        "timestamp": "1631184186428",
        "port": 9092,
        "version": 5,
        "rack": "rack-a",
    }
    assert nodes.decode_broker(data) == BrokerNode(listeners, "rack-a", 1631184186428)


def test_broker_without_plaintext_listener_has_no_host() -> None:
    data = json.loads(nodes.encode_broker(BrokerNode((Listener("A", "SSL", "h", 1),))))
    assert (data["host"], data["port"]) == (None, -1)
    assert "rack" not in data


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            b'{"version": 1, "host": "192.168.1.148", "port": 9092, "jmx_port": 9999}',
            BrokerNode((Listener("PLAINTEXT", "PLAINTEXT", "192.168.1.148", 9092),), jmx_port=9999),
        ),
        (
            b'{"version":2,"host":"h","port":9092,"jmx_port":-1,"timestamp":"7","endpoints":["SSL://h:9093"]}',
            BrokerNode((Listener("SSL", "SSL", "h", 9093),), timestamp_ms=7),
        ),
        (
            b'{"version":3,"host":"h","port":9092,"timestamp":"7","endpoints":["PLAINTEXT://h:9092"],"rack":"r"}',
            BrokerNode((Listener("PLAINTEXT", "PLAINTEXT", "h", 9092),), "r", 7),
        ),
        (
            b'{"version":4,"endpoints":["C://h:9092"],"listener_security_protocol_map":{"C":"SASL_PLAINTEXT"}}',
            BrokerNode((Listener("C", "SASL_PLAINTEXT", "h", 9092),)),
        ),
    ],
)
def test_older_brokers_are_read(data: bytes, expected: BrokerNode) -> None:
    assert nodes.decode_broker(data) == expected


def test_topic_is_written_as_version_three() -> None:
    node = TopicNode(TOPIC_ID, {0: (0, 1), 1: (1, 0)}, adding={1: (2,)})
    data = nodes.encode_topic(node)
    assert json.loads(data) == {
        "removing_replicas": {},
        "partitions": {"0": [0, 1], "1": [1, 0]},
        "topic_id": encode_uuid(TOPIC_ID),
        "adding_replicas": {"1": [2]},
        "version": 3,
    }
    assert nodes.decode_topic(data) == node


def test_topic_of_version_one_has_no_id() -> None:
    node = nodes.decode_topic(b'{"version": 1, "partitions": {"0": [0, 1, 3] } }')
    assert node == TopicNode(ZERO_UUID, {0: (0, 1, 3)})


def test_state_as_kafka_writes_it() -> None:
    node = StateNode(leader=0, leader_epoch=3, isr=(0, 1), controller_epoch=1)
    data = nodes.encode_state(node)
    assert data == b'{"controller_epoch":1,"leader":0,"version":1,"leader_epoch":3,"isr":[0,1]}'
    assert nodes.decode_state(data) == node
    old = b'{ "version": 1, "isr": [0,1], "leader": 0, "controller_epoch": 1, "leader_epoch": 0 }'
    assert nodes.decode_state(old) == StateNode(0, 0, (0, 1), 1)


def test_config() -> None:
    data = nodes.encode_config({"retention.ms": "1", "cleanup.policy": "compact"})
    assert data == b'{"version":1,"config":{"retention.ms":"1","cleanup.policy":"compact"}}'
    assert nodes.decode_config(data) == {"retention.ms": "1", "cleanup.policy": "compact"}
    assert nodes.decode_config(b"") == {}
    assert nodes.decode_config(b'{"version":1,"config":{"flush.ms":7}}') == {"flush.ms": "7"}


def test_cluster_nodes() -> None:
    assert nodes.encode_cluster_id("abc") == b'{"version":"1","id":"abc"}'
    assert nodes.decode_cluster_id(b'{"version":"1","id":"abc"}') == "abc"
    assert nodes.encode_controller(2, 5) == b'{"version":1,"brokerid":2,"timestamp":"5"}'
    assert (
        nodes.decode_controller(b'{"version":2,"brokerid":2,"timestamp":"5","kraftControllerEpoch":-1}') == 2
    )
    assert nodes.decode_controller(b"3") == 3
    assert nodes.decode_controller_epoch(b"17") == 17
    block = ProducerIdBlock(1, 1000, 1999)
    data = nodes.encode_producer_id_block(block)
    assert data == b'{"version":1,"broker":1,"block_start":"1000","block_end":"1999"}'
    assert nodes.decode_producer_id_block(data) == block


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"7", b'{"version":9}', b'{"version":3}', b"\xff"])
def test_unreadable_node_is_named(data: bytes) -> None:
    with pytest.raises(NodeError, match="/brokers/topics/t cannot be read"):
        nodes.read(paths.topic("t"), data, nodes.decode_topic)
    with pytest.raises(NodeError):
        nodes.read("/brokers/ids/0", data, nodes.decode_broker)


@pytest.mark.parametrize("name", ["plain", "a/b", "50%", "%2F", ".", "..", "ü", "a\0b", "<default>x"])
def test_group_names_survive_as_path_elements(name: str) -> None:
    element = paths.escape(name)
    assert "/" not in element
    assert element not in (".", "..")
    assert paths.unescape(element) == name
