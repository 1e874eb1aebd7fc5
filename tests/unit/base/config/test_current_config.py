from collections.abc import Callable

import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.current_config import CurrentConfig


@pytest.fixture
def settings() -> CurrentConfig:
    return CurrentConfig(BrokerConfig.from_properties({"node.id": "3"}))


def noted(settings: CurrentConfig) -> list[BrokerConfig]:
    seen: list[BrokerConfig] = []
    note: Callable[[BrokerConfig], None] = seen.append
    settings.subscribe(note)
    return seen


def test_change_reaches_every_subscriber(settings: CurrentConfig) -> None:
    first, second = noted(settings), noted(settings)
    settings.take_dynamic({"3": {"log.cleaner.threads": "4"}, "": {"message.max.bytes": "5000"}})
    assert first == second == [settings.value]
    assert settings.value.log_cleaner_threads == 4
    assert settings.value.get("message.max.bytes") == 5000


def test_the_same_configuration_again_is_no_change(settings: CurrentConfig) -> None:
    settings.take_dynamic({"3": {"log.cleaner.threads": "4"}})
    seen = noted(settings)
    settings.take_dynamic({"3": {"log.cleaner.threads": "4"}, "4": {"log.cleaner.threads": "9"}})
    assert not seen


def test_invalid_configuration_is_logged_and_ignored(
    settings: CurrentConfig, caplog: pytest.LogCaptureFixture
) -> None:
    seen, before = noted(settings), settings.value
    settings.take_dynamic({"3": {"log.cleaner.threads": "many"}})
    assert settings.value is before
    assert not seen
    assert "The dynamic configuration of this broker is invalid" in caplog.text
