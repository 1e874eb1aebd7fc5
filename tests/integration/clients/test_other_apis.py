"""APIs whose feature the broker does not have, or of which a single broker has little to say.

Except for what is not supported here, the expectations hold for Apache Kafka 4.3.1 without security too
(`BARNABAS_TEST_BOOTSTRAP`).
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from tests.faults.valid_requests import valid_requests
from tests.integration.clients.drivers.member import until
from tests.integration.clients.raw import RawClient, decode
from tests.integration.clients.requests import topic_id

from barnabas.handlers.registry import APIS
from barnabas.testing import Broker

_ACL = {
    "resource_type": 2,
    "resource_name": "t",
    "resource_pattern_type": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
_FILTER = {
    "resource_type_filter": 2,
    "resource_name_filter": None,
    "pattern_type_filter": 3,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
_DISABLED = (ErrorCode.security_disabled, "No Authorizer is configured.")
_ELECTION_NOT_NEEDED = (ErrorCode.election_not_needed, "Leader election not needed for topic partition.")
_MIXED = (
    "Invalid entity filter component combination. IP filter component should not be used with user "
    "or clientId filter component."
)
_SOFTWARE = {"client_software_name": "raw", "client_software_version": "1"}


@pytest.fixture
def client(kafka_broker: Broker) -> Iterator[RawClient]:
    with RawClient(kafka_broker.port) as connected:
        yield connected


def _versions(first: int, last: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("version", range(first, last + 1))


def _verdict(answer: Any) -> tuple[ErrorCode, str | None]:
    return answer.error_code, answer.error_message


# --- all of them --------------------------------------------------------------------------------------------


@pytest.mark.kafka_topic(partitions=1)
def test_every_api_in_every_version_is_answered_and_the_connection_stays(
    client: RawClient, kafka_topic: str
) -> None:
    number: uuid.UUID = topic_id(client, kafka_topic)
    others = {api.name for api in APIS.values() if api.answered_by}
    requested = 0
    for name, version, request in valid_requests(kafka_topic, number):
        if name in others:
            requested += 1
            client.send_bytes(request)
            assert client.receive_frame(), (name, version)
            assert client.call("api_versions", 3, **_SOFTWARE).error_code == 0, (name, version)
    assert requested >= len(others)


@pytest.mark.kafka_topic(partitions=1)
def test_what_is_not_advertised_is_an_unsupported_version(client: RawClient, kafka_topic: str) -> None:
    number: uuid.UUID = topic_id(client, kafka_topic)
    hidden = {api.name for api in APIS.values() if not api.is_advertised and not api.is_between_brokers}
    for name, version, request in valid_requests(kafka_topic, number):
        if name in hidden:
            client.send_bytes(request)
            answer = decode(_snake(name), version, client.receive_frame())
            assert set(_codes(answer)) == {ErrorCode.unsupported_version}, (name, version, answer)


@pytest.mark.kafka_topic(partitions=1)
def test_requests_between_brokers_are_refused_from_a_sender_that_is_not_registered(
    client: RawClient, kafka_topic: str
) -> None:
    number: uuid.UUID = topic_id(client, kafka_topic)
    between_brokers = {api.name for api in APIS.values() if api.is_between_brokers}
    for name, version, request in valid_requests(kafka_topic, number):
        if name in between_brokers:
            client.send_bytes(request)
            answer = decode(_snake(name), version, client.receive_frame())
            # What the envelope of these requests contains is not a request.
            error = ErrorCode.invalid_request if name == "Envelope" else ErrorCode.stale_broker_epoch
            assert answer.error_code == error, (name, version, answer)


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)[1:]


def _codes(entity: Any) -> Iterator[ErrorCode]:
    """All error codes of an answer, wherever they are."""
    for field in entity.__dataclass_fields__:
        value = getattr(entity, field)
        if field == "error_code":
            yield value
        elif isinstance(value, tuple):
            for each in value:
                if hasattr(each, "__dataclass_fields__"):
                    yield from _codes(each)


def test_unknown_api_key_closes_the_connection(client: RawClient) -> None:
    client.send_bytes(bytes.fromhex("0000000c7fff0000000000010002") + b"me")
    assert client.is_closed_by_the_broker()


# --- security -----------------------------------------------------------------------------------------------


@_versions(1, 3)
def test_acls_are_disabled(client: RawClient, version: int) -> None:
    described = client.call("describe_acls", version, **_FILTER)
    assert _verdict(described) == (ErrorCode.security_disabled, "No Authorizer is configured on the broker")
    assert described.resources == ()
    created = client.call("create_acls", version, creations=[_ACL, _ACL])
    assert [_verdict(each) for each in created.results] == [_DISABLED] * 2
    deleted = client.call("delete_acls", version, filters=[_FILTER])
    assert [(*_verdict(each), each.matching_acls) for each in deleted.filter_results] == [(*_DISABLED, ())]


@_versions(0, 1)
def test_sasl_handshake_is_not_for_this_listener(client: RawClient, version: int) -> None:
    answer = client.call("sasl_handshake", version, mechanism="PLAIN")
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.illegal_sasl_state, ())


@_versions(0, 2)
def test_sasl_authenticate_is_not_for_this_listener(client: RawClient, version: int) -> None:
    answer = client.call("sasl_authenticate", version, auth_bytes=b"\0alice\0secret")
    message = "SaslAuthenticate request received after successful authentication"
    assert _verdict(answer) == (ErrorCode.illegal_sasl_state, message)


@pytest.mark.parametrize(
    ("api", "version", "fields", "expected"),
    [
        # Byte for byte what Apache Kafka answers: kio cannot read a time of -1.
        (
            "create_delegation_token",
            1,
            {"renewers": [], "max_lifetime": -1},
            "0040 000455736572 0009414e4f4e594d4f5553 " + "ff" * 24 + " 0000 00000000 00000000",
        ),
        (
            "create_delegation_token",
            3,
            {
                "owner_principal_type": "User",
                "owner_principal_name": "bob",
                "renewers": [],
                "max_lifetime": -1,
            },
            "00 0040 0555736572 04626f62 0555736572 0a414e4f4e594d4f5553 " + "ff" * 24 + " 01 01 00000000 00",
        ),
        (
            "renew_delegation_token",
            2,
            {"hmac": b"x", "renew_period": -1},
            "00 0040" + "ff" * 8 + "00000000 00",
        ),
        (
            "expire_delegation_token",
            1,
            {"hmac": b"x", "expiry_time_period": -1},
            "0040" + "ff" * 8 + "00000000",
        ),
        ("describe_delegation_token", 1, {"owners": None}, "0040 00000000 00000000"),
    ],
)
def test_delegation_tokens_are_not_allowed(
    client: RawClient, api: str, version: int, fields: Mapping[str, object], expected: str
) -> None:
    client.send(api, version, **fields)
    assert client.receive_frame()[4:].hex() == expected.replace(" ", "")


def test_no_user_has_scram_credentials(client: RawClient) -> None:
    everybody = client.call("describe_user_scram_credentials", 0, users=None)
    assert (*_verdict(everybody), everybody.results) == (0, "", ())
    named = [{"name": name} for name in ("a", "b", "b")]
    answer = client.call("describe_user_scram_credentials", 0, users=named)
    assert {each.user: _verdict(each) for each in answer.results} == {
        "a": (ErrorCode.resource_not_found, "Attempt to describe a user credential that does not exist: a"),
        "b": (
            ErrorCode.duplicate_resource,
            "Cannot describe SCRAM credentials for the same user twice in a single request: b",
        ),
    }


# --- quotas -------------------------------------------------------------------------------------------------


@_versions(0, 1)
def test_there_are_no_client_quotas(client: RawClient, version: int) -> None:
    for components in ([], [{"entity_type": "user", "match_type": 0, "match": "a"}]):
        answer = client.call("describe_client_quotas", version, components=components, strict=False)
        assert (*_verdict(answer), answer.entries) == (0, "", ())


@pytest.mark.parametrize(
    ("parts", "code", "message"),
    [
        ([("", 0, "a")], ErrorCode.invalid_request, "Invalid empty entity type."),
        ([("group", 0, "a")], ErrorCode.unsupported_version, "Unsupported entity type group"),
        ([("user", 9, "a")], ErrorCode.invalid_request, "Unknown match type 9"),
        (
            [("user", 0, None)],
            ErrorCode.invalid_request,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            [("user", 1, "a")],
            ErrorCode.invalid_request,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            [("user", 0, "a"), ("user", 0, "a")],
            ErrorCode.invalid_request,
            "Entity type user cannot appear more than once in the filter.",
        ),
        (
            [("ip", 0, "1.1.1.1"), ("user", 0, "a")],
            ErrorCode.invalid_request,
            _MIXED,
        ),
    ],
)
def test_bad_filter_of_quotas_is_refused(
    client: RawClient, parts: list[tuple[str, int, str | None]], code: ErrorCode, message: str
) -> None:
    components = [{"entity_type": kind, "match_type": match, "match": name} for kind, match, name in parts]
    answer = client.call("describe_client_quotas", 1, components=components, strict=True)
    assert (*_verdict(answer), answer.entries) == (code, message, None)


# --- a cluster of one broker --------------------------------------------------------------------------------


@_versions(0, 2)
def test_election_is_not_needed(client: RawClient, kafka_topic: str, version: int) -> None:
    requested = [{"topic": kafka_topic, "partitions": [0, 7]}, {"topic": "no-such", "partitions": [0]}]
    answer = client.call("elect_leaders", version, election_type=0, topic_partitions=requested, timeout=1000)
    found = {
        (topic.topic, each.partition_id): _verdict(each)
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }
    assert found == {
        (kafka_topic, 0): _ELECTION_NOT_NEEDED,
        (kafka_topic, 7): (ErrorCode.unknown_topic_or_partition, f"No such partition as {kafka_topic}-7"),
        ("no-such", 0): (ErrorCode.unknown_topic_or_partition, "No such topic as no-such"),
    }


@pytest.mark.parametrize("kind", [0, 1])
def test_election_of_all_partitions_leaves_out_those_that_need_none(
    client: RawClient, kafka_topic: str, kind: int
) -> None:
    answer = client.call("elect_leaders", 2, election_type=kind, topic_partitions=None, timeout=1000)
    found = {each.topic: each.partition_result for each in answer.replica_election_results}
    assert answer.error_code == 0
    assert found[kafka_topic] == ()


def test_election_of_an_unknown_type(client: RawClient, kafka_topic: str) -> None:
    requested = [{"topic": kafka_topic, "partitions": [0]}]
    answer = client.call("elect_leaders", 2, election_type=7, topic_partitions=requested, timeout=1000)
    (topic,) = answer.replica_election_results
    assert answer.error_code == ErrorCode.invalid_request
    assert _verdict(topic.partition_result[0]) == (ErrorCode.invalid_request, "Unknown election type 7")


def _broker_id(client: RawClient) -> int:
    found = client.call("describe_cluster", 0, include_cluster_authorized_operations=False)
    (broker,) = found.brokers
    return int(broker.broker_id)


@_versions(0, 1)
@pytest.mark.kafka_topic(partitions=5)
def test_reassignment_within_one_broker(client: RawClient, kafka_topic: str, version: int) -> None:
    me = _broker_id(client)
    wanted: list[tuple[int, list[int] | None]] = [
        (0, [me]),
        (1, None),
        (2, []),
        (3, [99]),
        (4, [me, me]),
        (7, [me]),
    ]
    partitions = [{"partition_index": number, "replicas": replicas} for number, replicas in wanted]
    topics = [
        {"name": kafka_topic, "partitions": partitions},
        {"name": "no-such", "partitions": [{"partition_index": 0, "replicas": [me]}]},
    ]
    requested = {"timeout": 1000, "allow_replication_factor_change": True, "topics": topics}
    answer = client.call("alter_partition_reassignments", version, **requested)
    assert _verdict(answer) == (0, None)
    found = {
        (topic.name, each.partition_index): _verdict(each)
        for topic in answer.responses
        for each in topic.partitions
    }
    manual = "The manual partition assignment includes"
    assert found == {
        (kafka_topic, 0): (0, None),
        (kafka_topic, 1): (ErrorCode.no_reassignment_in_progress, None),
        (kafka_topic, 2): (ErrorCode.invalid_replica_assignment, f"{manual} an empty replica list."),
        (kafka_topic, 3): (
            ErrorCode.invalid_replica_assignment,
            f"{manual} broker 99, but no such broker is registered.",
        ),
        (kafka_topic, 4): (
            ErrorCode.invalid_replica_assignment,
            f"{manual} the broker {me} more than once.",
        ),
        (kafka_topic, 7): (
            ErrorCode.unknown_topic_or_partition,
            f"Unable to find partition {kafka_topic}:7.",
        ),
        ("no-such", 0): (ErrorCode.unknown_topic_or_partition, "Unable to find a topic named no-such."),
    }


def test_no_reassignment_goes_on(client: RawClient, kafka_topic: str) -> None:
    for topics in (None, [{"name": kafka_topic, "partition_indexes": [0, 9]}]):
        answer = client.call("list_partition_reassignments", 0, timeout=1000, topics=topics)
        assert (*_verdict(answer), answer.topics) == (0, None, ())


# --- configurations -----------------------------------------------------------------------------------------

_TOPIC, _BROKER, _LOGGER, _METRICS, _GROUP = 2, 4, 8, 16, 32


def _resources(client: RawClient, version: int, *types: int) -> list[tuple[int, str]]:
    answer = client.call("list_config_resources", version, resource_types=list(types))
    assert answer.error_code == 0
    return [
        (getattr(each, "resource_type", _METRICS), each.resource_name) for each in answer.config_resources
    ]


def test_config_resources_are_listed_by_type(client: RawClient, kafka_topic: str) -> None:
    group = f"{kafka_topic}-group"
    change = {"name": "consumer.session.timeout.ms", "config_operation": 0, "value": "5000"}
    resource = {"resource_type": _GROUP, "resource_name": group, "configs": [change]}
    client.call("incremental_alter_configs", 1, resources=[resource], validate_only=False)
    me = str(_broker_id(client))
    expected = {(_TOPIC, kafka_topic), (_BROKER, me), (_LOGGER, me), (_GROUP, group)}
    until(lambda: set(_resources(client, 1)) >= expected)
    assert (_TOPIC, kafka_topic) in _resources(client, 1, _TOPIC)
    assert _resources(client, 1, _LOGGER, _BROKER, _METRICS) == [(_LOGGER, me), (_BROKER, me)]
    assert _resources(client, 0) == _resources(client, 0, _METRICS) == []


@pytest.mark.parametrize("kind", [0, 99])
def test_unknown_type_of_config_resources(client: RawClient, kind: int) -> None:
    answer = client.call("list_config_resources", 1, resource_types=[kind])
    assert (answer.error_code, answer.config_resources) == (ErrorCode.unsupported_version, ())
