from barnabas.cli.kafka.cluster import endpoint_lines
from barnabas.client.admin.cluster import Endpoint

_NODES = (Endpoint(1, "a.example", 9092, "east", False), Endpoint(12, "b", 9093, None, True))


def test_columns_are_as_wide_as_the_longest_host_and_rack() -> None:
    assert endpoint_lines(_NODES, controllers=False) == [
        "ID         HOST      PORT       RACK STATE      ENDPOINT_TYPE  ",
        "1          a.example 9092       east unfenced   broker         ",
        "12         b         9093       null fenced     broker         ",
    ]


def test_controllers_have_no_state() -> None:
    assert endpoint_lines(_NODES[1:], controllers=True) == [
        "ID         HOST PORT       RACK       ENDPOINT_TYPE  ",
        "12         b 9093       null       controller     ",
    ]
