import logging

import pytest

from barnabas.client.address import Address
from barnabas.client.errors import BadSettings
from barnabas.records.compression import LZ4, NONE
from barnabas.spark.wire import cluster_settings
from barnabas.spark.wire.cluster_settings import client_settings, fetch_settings, produce_settings
from barnabas.spark.wire.partition_fetch import READ_COMMITTED, FetchSettings
from barnabas.spark.wire.produce_settings import ProduceSettings

SERVER = {"bootstrap.servers": "a:1,b:2"}


def test_client_takes_its_addresses_and_times() -> None:
    settings = client_settings(
        {
            **SERVER,
            "client.id": "me",
            "request.timeout.ms": "1500",
            "default.api.timeout.ms": "2500",
            "receive.buffer.bytes": "65536",
        }
    )
    assert settings.bootstrap == (Address("a", 1), Address("b", 2))
    assert (settings.client_id, settings.request_timeout, settings.api_timeout) == ("me", 1.5, 2.5)
    assert settings.receive_buffer == 65536


def test_defaults_are_those_of_kafka_where_it_has_them() -> None:
    settings = client_settings(SERVER)
    assert (settings.request_timeout, settings.api_timeout, settings.receive_buffer) == (30.0, 60.0, None)
    assert client_settings({**SERVER, "receive.buffer.bytes": "-1"}).receive_buffer is None
    assert fetch_settings(SERVER) == FetchSettings()
    assert produce_settings(SERVER) == ProduceSettings()


def test_equal_options_are_equal_settings() -> None:
    assert hash(client_settings(SERVER)) == hash(client_settings(dict(SERVER)))


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL", "sasl_plaintext"])
def test_security_is_refused_not_passed_over(protocol: str) -> None:
    with pytest.raises(BadSettings, match=rf"kafka\.security\.protocol={protocol.upper()} is not supported"):
        client_settings({**SERVER, "security.protocol": protocol})


def test_no_server_is_an_error_with_sparks_words() -> None:
    with pytest.raises(BadSettings, match=r"Option 'kafka\.bootstrap\.servers' must be specified"):
        client_settings({})


def test_consumer_properties_reach_the_fetch() -> None:
    settings = fetch_settings(
        {
            "isolation.level": "read_committed",
            "fetch.max.bytes": "100000",
            "max.partition.fetch.bytes": "200000",
            "fetch.min.bytes": "7",
            "fetch.max.wait.ms": "20",
            "check.crcs": "false",
            "client.rack": "r1",
            "retry.backoff.ms": "50",
        },
        poll_timeout=3.0,
    )
    assert settings == FetchSettings(READ_COMMITTED, 100_000, 100_000, 7, 20, 3.0, 0.05, False, "r1")


def test_producer_properties_reach_the_producer() -> None:
    settings = produce_settings(
        {
            "acks": "all",
            "compression.type": "lz4",
            "batch.size": "1000",
            "request.timeout.ms": "1000",
            "delivery.timeout.ms": "2000",
            "retry.backoff.ms": "3",
            "max.in.flight.requests.per.connection": "4",
            "max.request.size": "5000",
            "buffer.memory": "60000",
            "enable.idempotence": "true",
            "transaction.timeout.ms": "7000",
            "linger.ms": "5",
        },
        transactional_id="tx",
    )
    assert settings == ProduceSettings(-1, LZ4, 1000, 1.0, 2.0, 0.003, 4, 5000, 60_000, True, "tx", 7000)


@pytest.mark.parametrize(
    "properties", [{"acks": "1"}, {"acks": "0"}, {"max.in.flight.requests.per.connection": "6"}]
)
def test_idempotence_is_disabled_by_conflicting_settings_unless_requested(properties: dict[str, str]) -> None:
    assert not produce_settings(properties).is_idempotent
    assert produce_settings({**properties, "enable.idempotence": "true"}).is_idempotent


def test_transactional_id_of_a_user_is_refused() -> None:
    with pytest.raises(BadSettings, match=r"kafka\.transactional\.id is not supported"):
        produce_settings({"transactional.id": "mine"})


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"fetch.min.bytes": "x"}, "fetch.min.bytes=x: expected a whole number"),
        ({"fetch.max.bytes": "0"}, "fetch.max.bytes=0: expected a number from 1"),
        ({"isolation.level": "none"}, "expected one of read_uncommitted, read_committed"),
        ({"check.crcs": "maybe"}, "expected one of true, false"),
    ],
)
def test_value_that_is_none_is_named(properties: dict[str, str], reason: str) -> None:
    with pytest.raises(BadSettings, match=reason):
        fetch_settings(properties)


def test_codec_that_is_none_is_named() -> None:
    with pytest.raises(BadSettings, match=r"compression\.type=zip: expected one of none, gzip"):
        produce_settings({"compression.type": "zip"})
    assert produce_settings({"compression.type": "none"}).codec == NONE


def test_unknown_key_is_named_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_settings, "_warned", set())
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            client_settings({**SERVER, "no.such.key": "1", "linger.ms": "1", "ssl.truststore.location": "x"})
    assert [record.getMessage() for record in caplog.records] == [
        "Ignored unknown Kafka settings: kafka.no.such.key"
    ]
