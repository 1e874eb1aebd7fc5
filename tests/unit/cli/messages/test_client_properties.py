"""Properties of the Java clients mean the same to librdkafka, or are refused."""

import pytest

from barnabas.cli.messages.client_properties import (
    consumer_configuration,
    parse_pairs,
    producer_configuration,
)
from barnabas.cli.messages.librdkafka_clients import open_consumer, open_producer
from barnabas.client.errors import BadSettings


def test_keys_go_to_the_partitions_of_the_java_client() -> None:
    assert producer_configuration({})["partitioner"] == "murmur2_random"
    assert producer_configuration({"partitioner.ignore.keys": "true"})["partitioner"] == "random"


def test_defaults_are_those_of_the_java_clients() -> None:
    producer = producer_configuration({})
    assert producer["acks"] == "all"
    assert producer["enable.idempotence"] == "true"
    assert producer["message.timeout.ms"] == "120000"
    assert producer["message.max.bytes"] == "1048576"
    consumer = consumer_configuration({})
    assert consumer["isolation.level"] == "read_uncommitted"
    assert consumer["auto.offset.reset"] == "latest"
    assert consumer["allow.auto.create.topics"] == "true"
    assert consumer["partition.assignment.strategy"] == "range"


@pytest.mark.parametrize("properties", [{"acks": "1"}, {"retries": "0"}])
def test_idempotence_gives_way_to_what_it_cannot_be_with(properties: dict[str, str]) -> None:
    assert producer_configuration(properties)["enable.idempotence"] == "false"


def test_other_names_are_translated() -> None:
    found = producer_configuration(
        {"buffer.memory": "1048576", "max.block.ms": "7000", "send.buffer.bytes": "-1", "linger.ms": "3"}
    )
    assert found["queue.buffering.max.kbytes"] == "1024"
    assert found["topic.metadata.propagation.max.ms"] == "7000"
    assert found["socket.send.buffer.bytes"] == "0"
    assert found["linger.ms"] == "3"
    assert consumer_configuration({"fetch.max.wait.ms": "40"})["fetch.wait.max.ms"] == "40"
    assert consumer_configuration({"auto.offset.reset": "none"})["auto.offset.reset"] == "error"


def test_compression_level_follows_the_codec() -> None:
    found = producer_configuration({"compression.type": "zstd", "compression.zstd.level": "7"})
    assert found["compression.level"] == "7"
    assert "compression.zstd.level" not in found


def test_assignors_have_librdkafkas_names_and_the_first_decides_how_to_rebalance() -> None:
    java = "org.apache.kafka.clients.consumer."
    found = consumer_configuration(
        {"partition.assignment.strategy": f"{java}RangeAssignor, {java}CooperativeStickyAssignor"}
    )
    assert found["partition.assignment.strategy"] == "range"
    with pytest.raises(BadSettings, match="StickyAssignor"):
        consumer_configuration({"partition.assignment.strategy": f"{java}StickyAssignor"})


def test_the_new_group_protocol_has_no_assignor_of_the_client() -> None:
    found = consumer_configuration({"group.protocol": "CONSUMER"})
    assert found["group.protocol"] == "consumer"
    assert "partition.assignment.strategy" not in found


def test_login_comes_from_the_jaas_line() -> None:
    line = r'org.apache.kafka...PlainLoginModule required username="alice" password="a \"b\"; c";'
    found = producer_configuration(
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": line}
    )
    assert (found["sasl.username"], found["sasl.password"]) == ("alice", 'a "b"; c')
    assert "sasl.jaas.config" not in found
    assert found["security.protocol"] == "sasl_plaintext"


def test_pem_stores_are_read_and_java_stores_refused() -> None:
    found = producer_configuration({"ssl.truststore.location": "/ca", "ssl.truststore.type": "PEM"})
    assert found["ssl.ca.location"] == "/ca"
    with pytest.raises(BadSettings, match="only PEM"):
        producer_configuration({"ssl.truststore.location": "/ca.jks"})
    with pytest.raises(BadSettings, match="only PEM and PKCS12"):
        producer_configuration({"ssl.keystore.location": "/key.jks"})


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"acks": "9"}, "Invalid value 9 for configuration acks: String must be one of: all, -1, 0, 1"),
        ({"linger.ms": "soon"}, "Invalid value soon for configuration linger.ms: Not a number"),
        ({"delivery.timeout.ms": "10"}, "delivery.timeout.ms should be equal to or larger than"),
        ({"security.protocol": "MAGIC"}, "security.protocol"),
        ({"compression.type": "rar"}, "compression.type"),
    ],
)
def test_bad_values_have_the_errors_of_the_java_client(properties: dict[str, str], message: str) -> None:
    with pytest.raises(BadSettings, match=message):
        producer_configuration(properties)


def test_librdkafka_takes_every_default(capfd: pytest.CaptureFixture[str]) -> None:
    servers = {"bootstrap.servers": "127.0.0.1:1"}
    for protocol in ("classic", "consumer"):
        open_consumer({**servers, "group.id": "g", "group.protocol": protocol}).close()
    java = {
        "key.serializer": "x",
        "metric.reporters": "y",
        "max.poll.records": "500",
        "interceptor.classes": "",
    }
    open_producer({**servers, **java})
    assert "WARN These" not in capfd.readouterr().err


def test_unknown_properties_are_warned_about_once(capfd: pytest.CaptureFixture[str]) -> None:
    open_producer({"bootstrap.servers": "127.0.0.1:1", "no.such": "1", "nor.this": "2"})
    printed = [line for line in capfd.readouterr().err.splitlines() if "WARN These" in line]
    assert len(printed) == 1
    assert "'[no.such, nor.this]' were supplied but are not used yet." in printed[0]


def test_what_only_librdkafka_refuses_is_a_bad_setting_as_well() -> None:
    with pytest.raises(BadSettings, match="acks"):
        open_producer({"bootstrap.servers": "127.0.0.1:1", "enable.idempotence": "true", "acks": "1"})


def test_pairs_keep_what_follows_the_first_equals_sign() -> None:
    assert parse_pairs(["a=b=c", "d", "e="]) == {"a": "b=c", "d": "", "e": ""}


def test_a_record_is_given_up_before_its_transaction() -> None:
    assert producer_configuration({"transactional.id": "t"})["message.timeout.ms"] == "60000"
    shorter = {"transactional.id": "t", "transaction.timeout.ms": "40000"}
    assert producer_configuration(shorter)["message.timeout.ms"] == "40000"
    assert producer_configuration({"transaction.timeout.ms": "40000"})["message.timeout.ms"] == "120000"
