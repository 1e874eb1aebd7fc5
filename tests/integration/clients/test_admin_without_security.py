"""What the clients' admin interfaces report of a broker without security, alone in its cluster."""

from importlib import import_module
from typing import Any

import pytest
from tests.patience import PATIENCE

from barnabas.testing import Broker


@pytest.fixture
def api() -> Any:
    """confluent_kafka.admin, whose names are not exported by mypy's rules."""
    return import_module("confluent_kafka.admin")


@pytest.fixture
def admin(kafka_broker: Broker, api: Any) -> Any:
    return api.AdminClient({"bootstrap.servers": kafka_broker.bootstrap_servers, "log_level": 0})


def _error(future: Any) -> tuple[str, str]:
    from confluent_kafka import KafkaException

    with pytest.raises(KafkaException) as raised:
        future.result(PATIENCE)
    error = raised.value.args[0]
    return error.name(), error.str()


@pytest.mark.needs("confluent_kafka")
def test_acls_with_confluent(admin: Any, api: Any) -> None:
    topic, literal = api.ResourceType.TOPIC, api.ResourcePatternType.LITERAL
    read, allow = api.AclOperation.READ, api.AclPermissionType.ALLOW
    anything = api.AclBindingFilter(
        topic, None, literal, None, None, api.AclOperation.ANY, api.AclPermissionType.ANY
    )
    rule = api.AclBinding(topic, "t", literal, "User:a", "*", read, allow)
    disabled = "SECURITY_DISABLED", "No Authorizer is configured."
    # This client shows no error of DescribeAcls, whatever the broker is.
    assert admin.describe_acls(anything).result(PATIENCE) == []
    (created,) = admin.create_acls([rule]).values()
    assert _error(created) == disabled
    (deleted,) = admin.delete_acls([anything]).values()
    assert _error(deleted) == disabled


@pytest.mark.needs("confluent_kafka")
def test_scram_credentials_with_confluent(admin: Any) -> None:
    assert admin.describe_user_scram_credentials().result(PATIENCE) == {}
    (alice,) = admin.describe_user_scram_credentials(["alice"]).values()
    assert _error(alice)[0] == "RESOURCE_NOT_FOUND"


@pytest.mark.needs("confluent_kafka")
def test_election_with_confluent(admin: Any, kafka_topic: str) -> None:
    from confluent_kafka import ElectionType, TopicPartition

    topic_partition = TopicPartition(kafka_topic, 0)
    answer = admin.elect_leaders(ElectionType.PREFERRED, [topic_partition]).result(PATIENCE)
    assert answer[topic_partition].name() == "ELECTION_NOT_NEEDED"


@pytest.mark.needs("confluent_kafka")
def test_client_that_wants_sasl_gets_an_error(kafka_broker: Broker) -> None:
    """Not a connection that is closed without a word: the client reports what the broker answers."""
    from confluent_kafka import KafkaError, Producer

    errors: list[KafkaError] = []
    settings = {
        "bootstrap.servers": kafka_broker.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "secret",
        "log_level": 0,
        "error_cb": errors.append,
    }
    producer = Producer(settings)
    for _ in range(int(PATIENCE * 10)):
        producer.poll(0.1)
        if errors:
            break
    assert errors[0].name() == "_AUTHENTICATION", errors
    assert "Request not valid in current SASL state" in str(errors[0].str())


@pytest.mark.needs("kafka")
def test_acls_with_kafka_python(kafka_broker: Broker) -> None:
    from kafka import KafkaAdminClient
    from kafka import errors as kafka_errors
    from kafka.admin import (
        ACLFilter,
        ACLOperation,
        ACLPermissionType,
        ACLResourcePatternType,
        ResourcePatternFilter,
        ResourceType,
    )

    anything = ACLFilter(
        principal=None,
        host="*",
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
        resource_pattern=ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
    )
    admin = KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap_servers)
    try:
        with pytest.raises(kafka_errors.SecurityDisabledError):
            admin.describe_acls(anything)
    finally:
        admin.close()
