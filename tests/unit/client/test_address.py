import pytest

from barnabas.client.address import Address, parse_addresses
from barnabas.client.errors import BadSettings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", [Address("localhost", 9092)]),
        ("a:1, b:2,,c:3,", [Address("a", 1), Address("b", 2), Address("c", 3)]),
        ("[::1]:9092", [Address("::1", 9092)]),
        ("PLAINTEXT://broker-1.example:9092", [Address("broker-1.example", 9092)]),
    ],
)
def test_addresses_are_read_as_users_write_them(text: str, expected: list[Address]) -> None:
    assert parse_addresses(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", " , ", "localhost", "localhost:", ":9092", "a b:1", "::1:9092", "host:0", "host:65536", "a:1;b:2"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(BadSettings):
        parse_addresses(text)


def test_address_is_written_as_it_is_read() -> None:
    assert [str(each) for each in parse_addresses("localhost:9092,[::1]:1")] == ["localhost:9092", "[::1]:1"]
