from collections.abc import Mapping

import pytest
from tests.fakes.scripted_broker import Answer
from tests.fakes.scripted_cluster import scripted_cluster

from barnabas.client.admin.acls import (
    ANY_PATTERN,
    CLUSTER,
    Acl,
    Operation,
    Pattern,
    PatternType,
    Permission,
    ResourceType,
    Rule,
    create_acls,
    delete_acls,
    describe_acls,
    misplaced,
    parse_principal,
)
from barnabas.client.errors import BrokerError

SECURITY_DISABLED = 54
TOPIC = Pattern(ResourceType.TOPIC, "t", PatternType.PREFIXED)
READ = Rule("User:a", "*", Operation.READ, Permission.ALLOW)
WRITE = Rule("User:a", "*", Operation.WRITE, Permission.DENY)


def _rule(operation: int, permission: int) -> Mapping[str, object]:
    return {"principal": "User:a", "host": "*", "operation": operation, "permission_type": permission}


def test_what_is_printed_is_what_kafka_prints() -> None:
    assert str(Acl(TOPIC, READ)) == (
        "(pattern=ResourcePattern(resourceType=TOPIC, name=t, patternType=PREFIXED), "
        "entry=(principal=User:a, host=*, operation=READ, permissionType=ALLOW))"
    )
    assert str(ANY_PATTERN) == "ResourcePattern(resourceType=ANY, name=<any>, patternType=ANY)"


@pytest.mark.parametrize(
    "text", ["DescribeConfigs", "DESCRIBE_CONFIGS", "describeconfigs", "describe-configs"]
)
def test_operations_are_read_in_every_spelling(text: str) -> None:
    assert Operation.parse(f" {text} ") is Operation.DESCRIBE_CONFIGS


def test_unknown_words_and_numbers_are_unknown() -> None:
    assert Operation.parse("fly") is Operation.UNKNOWN
    assert Operation(99) is Operation.UNKNOWN
    assert ResourceType(99) is ResourceType.UNKNOWN


def test_operations_belong_to_kinds_of_resources() -> None:
    assert misplaced(ResourceType.TOPIC, [Operation.READ, Operation.ALL]) is None
    assert misplaced(ResourceType.DELEGATION_TOKEN, [Operation.READ]) == (
        "ResourceType DELEGATION_TOKEN only supports operations [ALL, DESCRIBE]"
    )


def test_principals_have_a_type() -> None:
    assert parse_principal("User:CN=a:b") == "User:CN=a:b"
    with pytest.raises(ValueError, match="expected a string in format principalType:principalName but got a"):
        parse_principal("a")


def test_acls_are_described_sorted() -> None:
    resource = {"resource_type": 2, "resource_name": "t", "pattern_type": 4}
    answer = {"error_code": 0, "resources": [{**resource, "acls": [_rule(4, 2), _rule(3, 3)]}]}
    with scripted_cluster({"describe_acls": answer}) as (cluster, broker):
        assert describe_acls(cluster, TOPIC) == [Acl(TOPIC, READ), Acl(TOPIC, WRITE)]
    (request,) = broker.requests
    assert (request.resource_type_filter, request.resource_name_filter, request.pattern_type_filter) == (
        2,
        "t",
        4,
    )
    assert (request.principal_filter, request.operation, request.permission_type) == (None, 1, 1)


def test_acls_are_created() -> None:
    with scripted_cluster({"create_acls": {"results": [{"error_code": 0, "error_message": None}]}}) as (
        cluster,
        broker,
    ):
        create_acls(cluster, [Acl(TOPIC, READ), Acl(CLUSTER, WRITE)])
    sent = broker.requests[0].creations
    assert [(each.resource_type, each.resource_name, each.resource_pattern_type) for each in sent] == [
        (2, "t", 4),
        (4, "kafka-cluster", 3),
    ]
    assert [(each.operation, each.permission_type) for each in sent] == [(3, 3), (4, 2)]


def test_deleted_acls_are_returned() -> None:
    resource = {"resource_type": 2, "resource_name": "t", "pattern_type": 4}
    matching = [{"error_code": 0, "error_message": None, **resource, **_rule(3, 3)}]
    answer = {"filter_results": [{"error_code": 0, "error_message": None, "matching_acls": matching}]}
    with scripted_cluster({"delete_acls": answer}) as (cluster, _):
        assert delete_acls(cluster, [(TOPIC, READ)]) == [Acl(TOPIC, READ)]


def test_errors_of_each_request_are_raised() -> None:
    failed = {"error_code": SECURITY_DISABLED, "error_message": "No Authorizer is configured."}
    answers: Mapping[str, Answer] = {
        "describe_acls": {**failed, "resources": []},
        "create_acls": {"results": [failed]},
        "delete_acls": {"filter_results": [{**failed, "matching_acls": []}]},
    }
    with scripted_cluster(answers) as (cluster, _):
        for request in (
            lambda: describe_acls(cluster),
            lambda: create_acls(cluster, [Acl(TOPIC, READ)]),
            lambda: delete_acls(cluster, [(TOPIC, READ)]),
        ):
            with pytest.raises(BrokerError, match=r"No Authorizer is configured\."):
                request()
