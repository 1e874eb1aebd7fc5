import pytest

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.base.config.broker_keys import BROKER_KEYS
from barnabas.base.config.group_keys import GROUP_KEYS, GROUP_SYNONYMS, validate_group_configs
from barnabas.base.config.keys import ConfigError

BROKER = BrokerConfig.from_properties({})


def test_every_synonym_is_a_broker_key_of_equal_type() -> None:
    for name, broker_name in GROUP_SYNONYMS.items():
        assert GROUP_KEYS[name].type is BROKER_KEYS[broker_name].type, name


def test_good_settings_pass() -> None:
    validate_group_configs(
        {"consumer.session.timeout.ms": "50000", "share.auto.offset.reset": "by_duration:P1DT2H"}, BROKER.get
    )


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"foo": "1"}, "Unknown group config name: foo"),
        ({"consumer.session.timeout.ms": None}, "Null value not supported for group configs"),
        ({"consumer.session.timeout.ms": "1"}, r"at least group.consumer.min.session.timeout.ms \(45000\)"),
        (
            {"consumer.session.timeout.ms": "60001"},
            r"at most group.consumer.max.session.timeout.ms \(60000\)",
        ),
        ({"streams.num.standby.replicas": "3"}, r"at most group.streams.max.standby.replicas \(2\)"),
        ({"share.delivery.count.limit": "1"}, "must be an integer of at least 2"),
        ({"share.auto.offset.reset": "yesterday"}, "must be latest, earliest or by_duration:PnDTnHnMn.nS"),
        ({"share.auto.offset.reset": "by_duration:P"}, "must be latest, earliest or by_duration"),
    ],
)
def test_bad_setting_is_an_error_in_the_response(configs: dict[str, str | None], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate_group_configs(configs, BROKER.get)


def test_session_must_outlast_the_heartbeat() -> None:
    broker = BrokerConfig.from_properties({"group.share.max.heartbeat.interval.ms": "90000"})
    with pytest.raises(ConfigError, match=r"share.session.timeout.ms: must be greater than share.heartbeat"):
        validate_group_configs({"share.heartbeat.interval.ms": "45000"}, broker.get)
