"""The ACLs that a command line of kafka-acls names.

`--producer` and `--consumer` are roles: each sets the operations of the resource types it covers, and ignores
other resources.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.cli.kafka.options import Given, fail
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.admin.acls import Operation, Pattern, Permission, ResourceType, Rule

Wanted = dict["Pattern", list["Rule"]]


def wanted(given: Given) -> Wanted:
    """Resources and the rules for each. No rules if no principal is named."""
    from barnabas.client.admin.acls import CONSUMER, PRODUCER, misplaced

    named = patterns(given)
    if not named:
        fail(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> "
            "or --delegation-token <Delegation Token ID>"
        )
    found: Wanted = {}
    if given.producer:
        _add_role(found, given, named, PRODUCER)
        _add_idempotence(found, given)
    if given.consumer:
        _add_role(found, given, named, CONSUMER)
    if not given.producer and not given.consumer:
        rules = _rules(given, _operations(given))
        found = dict.fromkeys(named, rules)
    for pattern, rules in found.items():
        problem = misplaced(pattern.kind, (rule.operation for rule in rules))
        if problem:
            fail(problem)
    return found


def patterns(given: Given) -> list["Pattern"]:
    """The resources that are named, each once."""
    from barnabas.client.admin.acls import CLUSTER, Pattern, PatternType, ResourceType

    pattern_type = PatternType[given.resource_pattern_type.upper()]
    options = {
        ResourceType.TOPIC: given.topic,
        ResourceType.GROUP: given.group,
        ResourceType.TRANSACTIONAL_ID: given.transactional_id,
        ResourceType.DELEGATION_TOKEN: given.delegation_token,
        ResourceType.USER: given.user_principal,
    }
    found = [Pattern(kind, name.strip(), pattern_type) for kind, names in options.items() for name in names]
    # The cluster has one name: patterns do not apply.
    if pattern_type is PatternType.LITERAL and (given.cluster or given.idempotent):
        found.append(CLUSTER)
    return list(dict.fromkeys(found))


def principals(words: Iterable[str]) -> list[str]:
    """Each once. Raises ToolError if a principal is not `Type:name`."""
    from barnabas.client.admin.acls import parse_principal

    try:
        return list(dict.fromkeys(parse_principal(word.strip()) for word in words))
    except ValueError as error:
        raise ToolError(str(error)) from None


def _add_role(
    found: Wanted,
    given: Given,
    named: Iterable["Pattern"],
    role: Mapping["ResourceType", tuple["Operation", ...]],
) -> None:
    for pattern in named:
        if pattern.kind in role:
            rules = found.setdefault(pattern, [])
            rules += [rule for rule in _rules(given, role[pattern.kind]) if rule not in rules]


def _add_idempotence(found: Wanted, given: Given) -> None:
    from barnabas.client.admin.acls import CLUSTER, Operation

    if given.idempotent:
        found[CLUSTER] = _rules(given, [Operation.IDEMPOTENT_WRITE])


def _operations(given: Given) -> list["Operation"]:
    from barnabas.client.admin.acls import Operation

    return [Operation.parse(word) for word in given.operation] or [Operation.ALL]


def _rules(given: Given, operations: Iterable["Operation"]) -> list["Rule"]:
    from barnabas.client.admin.acls import ANY_HOST, Permission

    in_order = sorted(set(operations))
    allowed = _product(given.allow_principal, given.allow_host or [ANY_HOST], in_order, Permission.ALLOW)
    return allowed + _product(given.deny_principal, given.deny_host or [ANY_HOST], in_order, Permission.DENY)


def _product(
    names: Iterable[str], hosts: Iterable[str], operations: Iterable["Operation"], permission: "Permission"
) -> list["Rule"]:
    from barnabas.client.admin.acls import Rule

    return [
        Rule(principal, host.strip(), operation, permission)
        for principal in principals(names)
        for host in dict.fromkeys(hosts)
        for operation in operations
    ]
