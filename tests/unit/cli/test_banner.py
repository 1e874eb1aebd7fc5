import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.cli import banner as module
from barnabas.cli.banner import banner


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an activated environment."""
    monkeypatch.setattr(module, "command_of", lambda name: name)
    monkeypatch.setattr(module, "python_command", lambda: "python")


def _banner(listeners: str, port: int = 9092) -> str:
    config = BrokerConfig.from_properties({"listeners": listeners, "log.dirs": "/data/a,/data/b"})
    return banner(config, port, 0.123)


def test_greeting_says_where_and_how() -> None:
    text = _banner("PLAINTEXT://127.0.0.1:9092")
    assert "ready after 0.12 s" in text
    assert "127.0.0.1:9092" in text
    assert "/data/a, /data/b" in text
    assert "echo hello | barnabas produce greetings\n" in text
    assert '{"bootstrap.servers": "127.0.0.1:9092"}' in text
    assert "Ctrl-C, or kafka-server-stop" in text
    assert len(text.splitlines()) < 10


def test_listener_on_any_port_shows_the_one_it_got() -> None:
    assert "barnabas consume greetings -b 127.0.0.1:40123\n" in _banner("PLAINTEXT://127.0.0.1:0", port=40123)


def test_listener_on_all_interfaces_shows_an_address_that_can_be_used() -> None:
    assert "Listens on:  localhost:9093\n" in _banner("PLAINTEXT://:9093")
    assert "barnabas produce greetings -b localhost:9093\n" in _banner("PLAINTEXT://:9093")


def test_programs_that_the_shell_does_not_find_are_called_by_their_paths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "command_of", lambda name: f".venv/bin/{name}")
    monkeypatch.setattr(module, "python_command", lambda: ".venv/bin/python")
    text = _banner("PLAINTEXT://127.0.0.1:9092")
    assert "echo hello | .venv/bin/barnabas produce greetings\n" in text
    assert " .venv/bin/python -c 'from confluent_kafka import Producer; " in text
    assert "Ctrl-C, or .venv/bin/kafka-server-stop" in text


def test_package_without_its_programs_is_run_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "command_of", lambda name: None)
    text = _banner("PLAINTEXT://127.0.0.1:9092")
    assert "echo hello | python -m barnabas produce greetings\n" in text
    assert text.endswith("Ctrl-C")
