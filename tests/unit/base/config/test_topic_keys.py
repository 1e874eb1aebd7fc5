import pytest

from barnabas.base.config.broker_keys import BROKER_KEYS
from barnabas.base.config.keys import ConfigError
from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.topic_config import resolve_log_config
from barnabas.base.config.topic_keys import TOPIC_KEYS, TOPIC_SYNONYMS, validate_topic_configs


def test_every_synonym_joins_keys_of_equal_type() -> None:
    for name, broker_name in TOPIC_SYNONYMS.items():
        assert TOPIC_KEYS[name].type is BROKER_KEYS[broker_name].type, name


def test_good_settings_pass() -> None:
    validate_topic_configs({"cleanup.policy": "compact,delete", "retention.ms": "-1", "preallocate": "TRUE"})


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"foo": "1"}, "Unknown topic config name: foo"),
        ({"flush.ms": None, "b": None}, "Null value not supported for topic configs: b,flush.ms"),
    ],
)
def test_bad_name_is_an_error_in_the_response(configs: dict[str, str | None], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        validate_topic_configs(configs)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("segment.bytes", "abc", "an integer of at least 1048576"),
        ("segment.bytes", "1024*1024*1024", "an integer of at least 1048576"),
        ("retention.ms", "-2", "an integer of at least -1"),
        ("cleanup.policy", "burn", "a list of compact, delete, none of them empty or twice"),
        ("remote.storage.enable", "true", "false, as there is no tiered storage here"),
    ],
)
def test_bad_value_is_an_error_in_the_response(name: str, value: str, allowed: str) -> None:
    with pytest.raises(ConfigError) as raised:
        validate_topic_configs({name: value})
    assert str(raised.value) == f"Invalid value {value} for configuration {name}: must be {allowed}"


def test_compaction_lags_must_not_cross() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value 2 for .* at most max.compaction.lag.ms \(1\)"):
        validate_topic_configs({"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"})


def test_lag_is_checked_against_the_brokers_default() -> None:
    with pytest.raises(ConfigError, match=r"at most max.compaction.lag.ms \(10\)"):
        validate_topic_configs({"min.compaction.lag.ms": "11"}, LogConfig(max_compaction_lag_ms=10))


def test_settings_lie_over_the_defaults() -> None:
    defaults = LogConfig(retention_ms=5, segment_ms=6)
    resolved = resolve_log_config(
        {
            "retention.ms": "7",
            "cleanup.policy": "compact",
            "leader.replication.throttled.replicas": "0:1,1:2",
            "min.cleanable.dirty.ratio": "0.25",
        },
        defaults,
    )
    assert resolved == LogConfig(
        retention_ms=7,
        segment_ms=6,
        cleanup_delete=False,
        cleanup_compact=True,
        leader_replication_throttled_replicas=("0:1", "1:2"),
        min_cleanable_dirty_ratio=0.25,
    )


def test_topic_without_settings_shares_the_defaults() -> None:
    defaults = LogConfig()
    assert resolve_log_config({}, defaults) is defaults


def test_settings_of_older_releases_are_passed_over() -> None:
    assert resolve_log_config({"message.format.version": "2.0"}, LogConfig()) == LogConfig()


def test_internal_segment_size_may_be_small_and_counts_first() -> None:
    settings = {"segment.bytes": "1048576", "internal.segment.bytes": "100"}
    validate_topic_configs(settings)
    assert resolve_log_config(settings, LogConfig()).segment_bytes == 100


def test_bad_stored_value_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"flush.messages"):
        resolve_log_config({"flush.messages": "0"}, LogConfig())
