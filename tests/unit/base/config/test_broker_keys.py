import pytest

from barnabas.base.config.broker_keys import synonyms_of, validate_dynamic_broker_configs
from barnabas.base.config.keys import ConfigError


@pytest.mark.parametrize(
    ("name", "synonyms"),
    [
        ("log.retention.hours", ("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
        ("log.roll.ms", ("log.roll.ms", "log.roll.hours")),
        ("log.flush.interval.ms", ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
        ("log.flush.scheduler.interval.ms", ("log.flush.scheduler.interval.ms",)),
        ("num.partitions", ("num.partitions",)),
        ("listener.name.a.ssl.protocol", ("listener.name.a.ssl.protocol", "ssl.protocol")),
        (
            "listener.name.a.plain.sasl.jaas.config",
            ("listener.name.a.plain.sasl.jaas.config", "sasl.jaas.config"),
        ),
    ],
)
def test_synonyms_stand_in_order_of_precedence(name: str, synonyms: tuple[str, ...]) -> None:
    assert synonyms_of(name) == synonyms


def test_dynamic_keys_pass_on_one_broker_and_on_all() -> None:
    validate_dynamic_broker_configs({"message.max.bytes": "1", "log.retention.ms": "-1"}, per_broker=False)
    validate_dynamic_broker_configs({"leader.replication.throttled.rate": "1000"}, per_broker=True)
    validate_dynamic_broker_configs({"listener.name.a.ssl.keystore.location": "/k"}, per_broker=True)
    validate_dynamic_broker_configs({"key.of.a.plugin": "x"}, per_broker=True)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        (
            {"num.partitions": "1", "broker.id": "2"},
            "Cannot update these configs dynamically: broker.id, num.partitions",
        ),
        (
            {"ssl.keystore.location": "/k"},
            "only with the prefix listener.name.<name>.: ssl.keystore.location",
        ),
        ({"message.max.bytes": "-1"}, "message.max.bytes: must be an integer of at least 0"),
        (
            {"listener.name.a.num.network.threads": "0"},
            "num.network.threads: must be an integer of at least 1",
        ),
        ({"listeners": "PLAINTEXT://:1"}, "for the whole cluster, a broker id must be given: listeners"),
        ({"listener.name.a.ssl.keystore.location": "/k"}, "a broker id must be given: listener.name.a.ssl"),
    ],
)
def test_change_that_is_not_possible_is_refused(configs: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate_dynamic_broker_configs(configs, per_broker=False)
