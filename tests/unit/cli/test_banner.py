from barnabas.base.config.broker_config import BrokerConfig
from barnabas.cli.banner import banner


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
    assert "Ctrl-C" in text
    assert len(text.splitlines()) < 10


def test_listener_on_any_port_shows_the_one_it_got() -> None:
    assert "barnabas consume greetings -b 127.0.0.1:40123\n" in _banner("PLAINTEXT://127.0.0.1:0", port=40123)


def test_listener_on_all_interfaces_shows_an_address_that_can_be_used() -> None:
    assert "Listens on:  localhost:9093\n" in _banner("PLAINTEXT://:9093")
    assert "barnabas produce greetings -b localhost:9093\n" in _banner("PLAINTEXT://:9093")
