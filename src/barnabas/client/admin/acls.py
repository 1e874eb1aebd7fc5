"""Access control lists: DescribeAcls, CreateAcls, DeleteAcls, and Kafka's two roles.

An ACL binds a rule (principal, host, operation, permission) to a resource pattern. Both also serve as
filters: a name of None matches any, and the enumerations have members that match several.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.errors import check

CLUSTER_NAME = "kafka-cluster"
ANY_HOST = "*"


class _Number(IntEnum):
    @classmethod
    def _missing_(cls, value: object) -> "_Number":
        """A newer broker may have more members."""
        return cls(0)


class ResourceType(_Number):
    UNKNOWN, ANY, TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = range(8)


class PatternType(_Number):
    UNKNOWN, ANY, MATCH, LITERAL, PREFIXED = range(5)

    @property
    def is_specific(self) -> bool:
        """Whether an ACL can have this value. Others only match."""
        return self in (PatternType.LITERAL, PatternType.PREFIXED)


class Operation(_Number):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15

    @classmethod
    def parse(cls, text: str) -> "Operation":
        """`DescribeConfigs` as well as `DESCRIBE_CONFIGS`, in any case. Returns UNKNOWN for other names."""
        word = text.strip().upper().replace("_", "").replace("-", "")
        return next((each for each in cls if each.name.replace("_", "") == word), cls.UNKNOWN)

    @property
    def pascal_name(self) -> str:
        """`DescribeConfigs`."""
        return "".join(word.capitalize() for word in self.name.split("_"))


class Permission(_Number):
    UNKNOWN, ANY, DENY, ALLOW = range(4)


class Pattern(NamedTuple):
    """`str()` of these three is what Kafka's tools print."""

    kind: ResourceType
    name: str | None
    type: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        return (
            f"ResourcePattern(resourceType={self.kind.name}, name={_shown(self.name)}, "
            f"patternType={self.type.name})"
        )


class Rule(NamedTuple):
    principal: str | None
    host: str | None
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        return (
            f"(principal={_shown(self.principal)}, host={_shown(self.host)}, "
            f"operation={self.operation.name}, permissionType={self.permission.name})"
        )


class Acl(NamedTuple):
    pattern: Pattern
    rule: Rule

    def __str__(self) -> str:
        return f"(pattern={self.pattern}, entry={self.rule})"


CLUSTER = Pattern(ResourceType.CLUSTER, CLUSTER_NAME)
ANY_PATTERN = Pattern(ResourceType.ANY, None, PatternType.ANY)
ANY_RULE = Rule(None, None, Operation.ANY, Permission.ANY)

SUPPORTED: Mapping[ResourceType, tuple[Operation, ...]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE, Operation.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}
"""The operations of each resource type, besides ALL."""

PRODUCER: Mapping[ResourceType, tuple[Operation, ...]] = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.CREATE, Operation.DESCRIBE),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
CONSUMER: Mapping[ResourceType, tuple[Operation, ...]] = {
    ResourceType.TOPIC: (Operation.READ, Operation.DESCRIBE),
    ResourceType.GROUP: (Operation.READ,),
}


def misplaced(kind: ResourceType, operations: Iterable[Operation]) -> str | None:
    """Why an operation is invalid for the resource type. Returns None if all are valid."""
    valid = (Operation.ALL, *SUPPORTED[kind])
    if all(each in valid for each in operations):
        return None
    listed = ", ".join(each.name for each in valid)
    return f"ResourceType {kind.name} only supports operations [{listed}]"


def parse_principal(text: str) -> str:
    """`Type:name`. Raises ValueError."""
    if ":" not in text:
        raise ValueError(f"expected a string in format principalType:principalName but got {text}")
    return text


def describe_acls(cluster: Cluster, pattern: Pattern = ANY_PATTERN, rule: Rule = ANY_RULE) -> list[Acl]:
    """All matching ACLs, sorted."""
    answer = cluster.connection().request("describe_acls", _filter(pattern, rule))
    check(answer.error_code, answer.error_message)
    return sorted(
        _acl(resource, each, resource.pattern_type) for resource in answer.resources for each in resource.acls
    )


def create_acls(cluster: Cluster, acls: Sequence[Acl]) -> None:
    """Raises the first error. Other ACLs may have been created."""
    fields = [
        {
            "resource_type": acl.pattern.kind,
            "resource_name": acl.pattern.name,
            "resource_pattern_type": acl.pattern.type,
            "principal": acl.rule.principal,
            "host": acl.rule.host,
            "operation": acl.rule.operation,
            "permission_type": acl.rule.permission,
        }
        for acl in acls
    ]
    for result in cluster.request("create_acls", creations=fields).results:
        check(result.error_code, result.error_message)


def delete_acls(cluster: Cluster, filters: Iterable[tuple[Pattern, Rule]]) -> list[Acl]:
    """Deletes all ACLs that match any filter. Returns the deleted ones, sorted."""
    answer = cluster.request("delete_acls", filters=[_filter(pattern, rule) for pattern, rule in filters])
    deleted = []
    for result in answer.filter_results:
        check(result.error_code, result.error_message)
        for each in result.matching_acls:
            check(each.error_code, each.error_message)
            deleted.append(_acl(each, each, each.pattern_type))
    return sorted(deleted)


def _filter(pattern: Pattern, rule: Rule) -> dict[str, object]:
    return {
        "resource_type_filter": pattern.kind,
        "resource_name_filter": pattern.name,
        "pattern_type_filter": pattern.type,
        "principal_filter": rule.principal,
        "host_filter": rule.host,
        "operation": rule.operation,
        "permission_type": rule.permission,
    }


def _acl(resource: Any, rule: Any, pattern_type: int) -> Acl:
    pattern = Pattern(ResourceType(resource.resource_type), resource.resource_name, PatternType(pattern_type))
    return Acl(
        pattern,
        Rule(rule.principal, rule.host, Operation(rule.operation), Permission(rule.permission_type)),
    )


def _shown(name: str | None) -> str:
    return "<any>" if name is None else name
