from pathlib import Path

import pytest

from barnabas.client.address import Address
from barnabas.client.errors import BadSettings
from barnabas.client.settings import ClientSettings, read_properties


def test_command_line_wins_over_the_file() -> None:
    settings = ClientSettings.of("a:1", {"bootstrap.servers": "b:2"})
    assert settings.bootstrap == (Address("a", 1),)


def test_file_alone_names_the_brokers() -> None:
    assert ClientSettings.of(None, {"bootstrap.servers": "b:2"}).bootstrap == (Address("b", 2),)


def test_times_of_the_file_are_taken_over_in_seconds() -> None:
    settings = ClientSettings.of(
        "a:1",
        {
            "client.id": "me",
            "request.timeout.ms": "1500",
            "default.api.timeout.ms": "2500",
            "socket.connection.setup.timeout.ms": "500",
            "metric.reporters": "",
        },
    )
    assert settings.client_id == "me"
    assert (settings.request_timeout, settings.api_timeout, settings.connect_timeout) == (1.5, 2.5, 0.5)


@pytest.mark.parametrize(
    ("bootstrap", "properties", "reason"),
    [
        (None, {}, "No broker is named"),
        ("a:1", {"request.timeout.ms": "soon"}, r"request\.timeout\.ms=soon"),
        ("a:1", {"request.timeout.ms": "0"}, "more than 0"),
        ("a:1", {"request.timeout.ms": "99999999999999999999"}, "at most 2147483647"),
        ("a:1", {"security.protocol": "SASL_SSL"}, "SASL_SSL"),
    ],
)
def test_settings_that_cannot_be_used_are_named(
    bootstrap: str | None, properties: dict[str, str], reason: str
) -> None:
    with pytest.raises(BadSettings, match=reason):
        ClientSettings.of(bootstrap, properties)


def test_properties_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# mine\nclient.id = me\n")
    assert read_properties(str(file)) == {"client.id": "me"}


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="no-such-file: No such file or directory"):
        read_properties(str(tmp_path / "no-such-file"))
