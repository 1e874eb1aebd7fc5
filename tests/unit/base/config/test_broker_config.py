import typing
from pathlib import Path

import pytest

from barnabas.base.config import broker_config
from barnabas.base.config.broker_config import BrokerConfig, Setting
from barnabas.base.config.broker_keys import BROKER_KEYS, default_of
from barnabas.base.config.keys import ConfigError
from barnabas.base.config.log_config import LogConfig
from barnabas.base.config.properties import load_properties

HOUR_MS = 3_600_000

# A file as practitioners write it: products, trailing comments in Chinese, ZooKeeper.
SAMPLE = Path(__file__).with_name("practitioner.properties")


def config(properties: dict[str, str]) -> BrokerConfig:
    return BrokerConfig.from_properties(properties)


def test_practitioners_sample_loads() -> None:
    sample = config(load_properties(SAMPLE))
    assert [warning.partition(" ")[0] for warning in sample.warnings] == ["zookeeper.connect"]
    assert sample.broker_id == 0
    assert [str(listener) for listener in sample.listeners] == ["PLAINTEXT://10.0.0.1:9092"]
    assert sample.log_dirs == (Path("/tmp/kafka-logs"),)
    assert sample.get("log.segment.bytes") == 1014 * 1024 * 1024
    assert sample.log_defaults() == LogConfig(segment_bytes=1014 * 1024 * 1024)
    assert sample.log_retention_check_interval_ms == 300_000
    assert sample.replica_lag_time_max_ms == 30_000
    assert sample.zookeeper_connect == "10.0.0.1:2181,10.0.0.2:2181"
    assert sample.zookeeper_connection_timeout_ms == 18_000


def test_example_file_of_the_project_loads_without_a_warning() -> None:
    example = config(load_properties(Path(__file__).parents[4] / "config" / "server.properties"))
    assert example.warnings == []
    assert [str(listener) for listener in example.listeners] == ["PLAINTEXT://127.0.0.1:9092"]


def test_empty_file_is_a_broker_with_kafkas_defaults() -> None:
    empty = config({})
    assert empty.broker_id == 0
    assert empty.log_dirs == (Path("/tmp/kafka-logs"),)
    assert empty.zookeeper_connect is None
    assert empty.rack is None
    assert empty.log_defaults() == LogConfig()
    assert empty.message_max_bytes == 1_048_588
    assert empty.metadata_store_path == Path("/tmp/kafka-logs/.barnabas/metadata.db")


def test_session_timeout_is_zookeepers_if_set() -> None:
    assert config({}).session_timeout_ms == 9000
    assert config({"broker.session.timeout.ms": "3000"}).session_timeout_ms == 3000
    both = {"broker.session.timeout.ms": "3000", "zookeeper.session.timeout.ms": "6000"}
    assert config(both).session_timeout_ms == 6000


def test_every_default_is_allowed_by_its_own_key() -> None:
    for key in BROKER_KEYS.values():
        if key.default is not None:
            assert key.parse(key.default) == default_of(key.name), key.name


def test_every_attribute_reads_a_key_of_its_type() -> None:
    empty = config({})
    kinds = {"_int": int, "_bool": bool, "_optional_int": int | None, "_optional_str": str | None}
    for name, setting in vars(BrokerConfig).items():
        if isinstance(setting, Setting):
            assert setting.name in BROKER_KEYS, name
            value = getattr(empty, name)
            assert value is None or isinstance(value, (bool, int, str)), name
    for factory, kind in kinds.items():
        hint = typing.get_type_hints(getattr(broker_config, factory))["return"]
        assert typing.get_args(hint) == (kind,)


@pytest.mark.parametrize(
    "properties", [{"node.id": "7"}, {"broker.id": "7"}, {"node.id": "7", "broker.id": "7"}]
)
def test_node_id_and_broker_id_are_one_thing(properties: dict[str, str]) -> None:
    assert config(properties).broker_id == 7
    assert config(properties).get("broker.id") == 7


def test_generated_broker_id_of_older_kafka_means_not_set() -> None:
    assert config({"broker.id": "-1"}).broker_id == 0


def test_log_dirs_go_before_log_dir() -> None:
    assert config({"log.dir": "/a"}).log_dirs == (Path("/a"),)
    assert config({"log.dir": "/a", "log.dirs": "/b, /c"}).log_dirs == (Path("/b"), Path("/c"))


def test_metadata_store_is_in_the_first_log_dir_by_default() -> None:
    assert config({"log.dirs": "/b,/c"}).metadata_store_path == Path("/b/.barnabas/metadata.db")
    assert config({"barnabas.metadata.store.path": "/m.db"}).metadata_store_path == Path("/m.db")


@pytest.mark.parametrize(
    ("properties", "retention_ms"),
    [
        ({"log.retention.hours": "2"}, 2 * HOUR_MS),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.ms": "-5"}, -1),
    ],
)
def test_finest_unit_of_retention_counts(properties: dict[str, str], retention_ms: int) -> None:
    assert config(properties).log_defaults().retention_ms == retention_ms


def test_milliseconds_go_before_hours_when_rolling() -> None:
    assert config({"log.roll.hours": "2"}).log_defaults().segment_ms == 2 * HOUR_MS
    assert config({"log.roll.hours": "2", "log.roll.ms": "5"}).log_defaults().segment_ms == 5
    assert config({"log.roll.jitter.hours": "1"}).log_defaults().segment_jitter_ms == HOUR_MS
    both = {"log.roll.jitter.hours": "1", "log.roll.jitter.ms": "6"}
    assert config(both).log_defaults().segment_jitter_ms == 6


def test_flush_interval_falls_back_to_the_schedulers() -> None:
    assert config({"log.flush.scheduler.interval.ms": "7"}).log_defaults().flush_ms == 7
    both = {"log.flush.scheduler.interval.ms": "7", "log.flush.interval.ms": "8"}
    assert config(both).log_defaults().flush_ms == 8


def test_old_timestamp_difference_counts_where_the_new_keys_are_absent() -> None:
    properties = {
        "log.message.timestamp.difference.max.ms": "9",
        "log.message.timestamp.after.max.ms": "10",
    }
    defaults = config(properties).log_defaults()
    assert defaults.message_timestamp_before_max_ms == 9
    assert defaults.message_timestamp_after_max_ms == 10


def test_cleanup_policy_becomes_two_flags() -> None:
    defaults = config({"log.cleanup.policy": "compact"}).log_defaults()
    assert (defaults.cleanup_delete, defaults.cleanup_compact) == (False, True)


def test_unknown_key_is_a_warning_with_a_suggestion() -> None:
    warnings = config({"log.segmnt.bytes": "1", "quite.something.else": "2"}).warnings
    assert warnings == [
        "Unknown configuration log.segmnt.bytes is ignored; did you mean log.segment.bytes?",
        "Unknown configuration quite.something.else is ignored",
    ]


def test_keys_of_plugins_and_listeners_are_no_warning() -> None:
    properties = {"rsm.config.bucket": "b", "listener.name.plaintext.ssl.keystore.location": "/k"}
    assert config(properties).warnings == []


def test_listener_override_is_checked_as_the_key_it_overrides() -> None:
    with pytest.raises(ConfigError, match=r"num.network.threads: must be an integer of at least 1"):
        config({"listener.name.plaintext.num.network.threads": "none"})


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"node.id": "1", "broker.id": "2"},
            "Invalid value 1 for configuration node.id: must be the same as",
        ),
        ({"node.id": "-5"}, "Invalid value -5 for configuration node.id: must be an integer of at least 0"),
        (
            {"log.dirs": ""},
            "Invalid value  for configuration log.dirs: must be a list with at least one item",
        ),
        ({"log.dirs": "/a,/a"}, "Invalid value /a,/a for configuration log.dirs: must be a list"),
        (
            {"log.segment.bytes": "14"},
            "Invalid value 14 for configuration log.segment.bytes: must be an integer of",
        ),
        ({"log.segment.bytes": "2*x"}, "Invalid value 2\\*x for configuration log.segment.bytes: must be"),
        ({"log.segment.bytes": "4*1024*1024*1024"}, "must be an integer from 1048576 to 2147483647"),
        ({"log.retention.hours": "0"}, "log.retention.hours: must be an integer of at least 1, or -1"),
        ({"log.retention.minutes": "0"}, "log.retention.minutes: must be an integer of at least 1, or -1"),
        ({"log.roll.ms": "0"}, "log.roll.ms: must be an integer of at least 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms: must be an integer of at least 0"),
        ({"log.flush.interval.ms": "-1"}, "log.flush.interval.ms: must be an integer of at least 0"),
        (
            {"cordoned.log.dirs": "/nowhere"},
            "cordoned.log.dirs: must be \\* or a list of directories of log.dir",
        ),
        (
            {"log.cleaner.threads": "200"},
            "log.cleaner.dedupe.buffer.size: must be more than 1048576 for each",
        ),
        (
            {"log.cleaner.min.compaction.lag.ms": "5", "log.cleaner.max.compaction.lag.ms": "4"},
            "must be at most log.cleaner.max.compaction.lag.ms \\(4\\)",
        ),
        ({"replica.fetch.wait.max.ms": "30001"}, "must be at most replica.socket.timeout.ms \\(30000\\)"),
        ({"queued.max.request.bytes": "1"}, "must be at least socket.request.max.bytes"),
        ({"max.connections.per.ip": "0"}, "unless max.connections.per.ip.overrides names hosts"),
        ({"max.connections.per.ip.overrides": "localhost"}, "must be a list of host:limit"),
        ({"compression.type": "rar"}, "must be one of uncompressed, zstd, lz4, snappy, gzip, producer"),
        ({"process.roles": "queen"}, "must be a list of broker, controller with at least one item"),
    ],
)
def test_bad_configuration_is_one_line(properties: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        config(properties)
    assert "\n" not in str(raised.value)


def test_limits_for_single_addresses_are_read() -> None:
    overrides = config(
        {"max.connections.per.ip.overrides": "localhost:5, ::1:6"}
    ).max_connections_per_ip_overrides
    assert overrides == {"localhost": 5, "::1": 6}


def test_tiered_storage_switch_is_a_warning() -> None:
    assert "no tiered storage" in config({"remote.log.storage.system.enable": "true"}).warnings[0]


def test_dynamic_values_go_before_the_file_and_the_brokers_own_before_the_clusters() -> None:
    static = config({"message.max.bytes": "1000", "log.retention.hours": "1"})
    changed = static.with_dynamic(
        {"message.max.bytes": "3000"}, {"message.max.bytes": "2000", "log.retention.ms": "5"}
    )
    assert static.message_max_bytes == 1000
    assert changed.message_max_bytes == 3000
    assert changed.log_defaults().retention_ms == 5
    assert changed.with_dynamic({}).message_max_bytes == 2000
    assert changed.with_dynamic({}, {}).message_max_bytes == 1000
    assert changed.with_dynamic({}, {}).log_defaults().retention_ms == HOUR_MS


def test_bad_dynamic_value_changes_nothing() -> None:
    with pytest.raises(ConfigError, match=r"log.roll.ms"):
        config({}).with_dynamic({"log.roll.ms": "0"})
