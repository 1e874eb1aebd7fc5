import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.keys import ConfigError
from barnabas.base.config.listeners import Listener, parse_protocol_map


def listeners(**properties: str) -> tuple[Listener, ...]:
    return config(**properties).listeners


def config(**properties: str) -> BrokerConfig:
    return BrokerConfig.from_properties({name.replace("_", "."): text for name, text in properties.items()})


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("PLAINTEXT://:9092", "", 9092),
        ("PLAINTEXT://localhost:9092", "localhost", 9092),
        ("plaintext://127.0.0.1:0", "127.0.0.1", 0),
        ("PLAINTEXT://[::1]:9092", "::1", 9092),
        ("PLAINTEXT://::1:9092", "::1", 9092),
        ("PLAINTEXT://broker-1.example_a.com:65535", "broker-1.example_a.com", 65535),
    ],
)
def test_listener_has_name_host_and_port(text: str, host: str, port: int) -> None:
    assert listeners(listeners=text) == (Listener("PLAINTEXT", "PLAINTEXT", host, port),)


@pytest.mark.parametrize(
    "text",
    [
        "localhost:9092",
        "PLAINTEXT://localhost",
        "PLAINTEXT://localhost:",
        "PLAINTEXT://localhost:65536",
        "PLAINTEXT://localhost:-1",
        "PLAINTEXT://a b:9092",
        "://localhost:9092",
    ],
)
def test_malformed_listener_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        listeners(listeners=text)
    assert str(raised.value) == (
        f"Invalid value {text} for configuration listeners: "
        "must be a list of NAME://host:port with a port from 0 to 65535"
    )


def test_no_listener_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"listeners: must be a list with at least one item"):
        listeners(listeners="")


def test_names_and_ports_must_differ() -> None:
    protocols = "A:PLAINTEXT,B:PLAINTEXT,C:PLAINTEXT"
    with pytest.raises(ConfigError, match=r"different name"):
        listeners(listeners="A://:1,a://:2", listener_security_protocol_map=protocols)
    with pytest.raises(ConfigError, match=r"every port is different"):
        listeners(listeners="A://:1,B://localhost:1", listener_security_protocol_map=protocols)
    with pytest.raises(ConfigError, match=r"every port is different"):
        listeners(
            listeners="A://127.0.0.1:1,B://127.0.0.2:1,C://[::1]:1", listener_security_protocol_map=protocols
        )


def test_one_port_may_serve_ipv4_and_ipv6_and_port_zero_may_repeat() -> None:
    protocols = "A:PLAINTEXT,B:PLAINTEXT"
    both = listeners(listeners="A://127.0.0.1:1,B://[::1]:1", listener_security_protocol_map=protocols)
    assert [listener.host for listener in both] == ["127.0.0.1", "::1"]
    free = listeners(listeners="A://:0,B://:0", listener_security_protocol_map=protocols)
    assert [listener.name for listener in free] == ["A", "B"]


def test_name_must_be_mapped_to_a_protocol() -> None:
    with pytest.raises(
        ConfigError,
        match=r"Invalid value INSIDE://:1 for configuration listeners: must be a listener named in",
    ):
        listeners(listeners="INSIDE://:1")
    mapped = listeners(listeners="INSIDE://:1", listener_security_protocol_map="inside:plaintext")
    assert mapped == (Listener("INSIDE", "PLAINTEXT", "", 1),)


@pytest.mark.parametrize("text", ["INSIDE", "INSIDE:FTP", ":PLAINTEXT"])
def test_malformed_protocol_map_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"a list of NAME:PROTOCOL with a protocol of PLAINTEXT, SSL"):
        parse_protocol_map(text)


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_listener_of_a_protocol_not_served_names_the_one_that_is(protocol: str) -> None:
    with pytest.raises(ConfigError) as raised:
        listeners(listeners=f"{protocol}://:9093")
    assert str(raised.value) == (
        f"Invalid value {protocol}://:9093 for configuration listeners: "
        "must be a listener of protocol PLAINTEXT, "
        f"the only one served so far ({protocol} is {protocol})"
    )


def test_listeners_of_a_kraft_controller_are_not_opened() -> None:
    properties = {
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    }
    kraft = BrokerConfig.from_properties(properties)
    assert [listener.name for listener in kraft.listeners] == ["PLAINTEXT"]
    assert [str(listener) for listener in kraft.advertised_listeners] == ["PLAINTEXT://localhost:9092"]
    with pytest.raises(ConfigError, match=r"process.roles: must be a list with broker"):
        BrokerConfig.from_properties({"process.roles": "controller"})
    with pytest.raises(ConfigError, match=r"at least one listener that is not in controller.listener.names"):
        config(listeners="CONTROLLER://:9093", controller_listener_names="CONTROLLER")


def test_old_host_and_port_make_the_listener() -> None:
    assert [str(each) for each in listeners(host_name="10.0.0.1", port="9999")] == [
        "PLAINTEXT://10.0.0.1:9999"
    ]
    assert [str(each) for each in listeners(port="9999")] == ["PLAINTEXT://:9999"]
    assert [str(each) for each in listeners(port="9999", listeners="PLAINTEXT://:1")] == ["PLAINTEXT://:1"]
    old = config(port="9999", advertised_host_name="::1", advertised_port="7")
    assert [str(each) for each in old.advertised_listeners] == ["PLAINTEXT://[::1]:7"]


def test_advertised_listeners_are_those_that_are_bound_unless_set() -> None:
    given = config(listeners="PLAINTEXT://:9092", advertised_listeners="PLAINTEXT://kafka.example.com:19092")
    assert [str(each) for each in given.advertised_listeners] == ["PLAINTEXT://kafka.example.com:19092"]
    bound = config(listeners="PLAINTEXT://127.0.0.1:0")
    assert [str(each) for each in bound.advertised({"PLAINTEXT": 4711})] == ["PLAINTEXT://127.0.0.1:4711"]
    assert config(listeners="PLAINTEXT://:9092").advertised_listeners[0].host != ""


def test_advertised_listener_must_be_one_that_is_opened_and_reachable() -> None:
    with pytest.raises(ConfigError, match=r"in listeners too \(PLAINTEXT\)"):
        config(advertised_listeners="SSL://kafka.example.com:9093")
    for properties in (
        {"advertised_listeners": "PLAINTEXT://0.0.0.0:9092"},
        {"listeners": "PLAINTEXT://0.0.0.0:9092"},
    ):
        with pytest.raises(ConfigError, match=r"set advertised.listeners to one, not to 0.0.0.0"):
            config(**properties)


def test_inter_broker_listener_is_one_of_the_listeners() -> None:
    two = {"listeners": "A://:1,B://:2", "listener_security_protocol_map": "A:PLAINTEXT,B:PLAINTEXT"}
    assert config().inter_broker_listener_name == "PLAINTEXT"
    assert config(**two).inter_broker_listener_name == "A"
    assert config(**two, inter_broker_listener_name="b").inter_broker_listener_name == "B"
    with pytest.raises(ConfigError, match=r"one of the listeners \(A, B\)"):
        config(**two, inter_broker_listener_name="C")
    with pytest.raises(ConfigError, match=r"absent where inter.broker.listener.name is set"):
        config(**two, inter_broker_listener_name="B", security_inter_broker_protocol="PLAINTEXT")
    with pytest.raises(ConfigError, match=r"must be PLAINTEXT, the only one served"):
        config(security_inter_broker_protocol="SSL")
