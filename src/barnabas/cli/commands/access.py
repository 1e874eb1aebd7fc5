"""`barnabas acl`: access control lists of topics, groups, transactional ids and the cluster."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from barnabas.cli.front import completes, confirm, group_names, on_cluster, topic_names
from barnabas.cli.kafka_words import KafkaCommand, KafkaVerbs, Option, behind, itself
from barnabas.cli.view import Column, Table, View

if TYPE_CHECKING:
    from barnabas.client.admin.acls import Acl, Operation, Pattern
    from barnabas.client.cluster import Cluster

F = TypeVar("F", bound=Callable[..., Any])
_OPERATIONS = (
    "all", "read", "write", "create", "delete", "alter", "describe", "cluster-action", "describe-configs",
    "alter-configs", "idempotent-write", "create-tokens", "describe-tokens", "two-phase-commit",
)  # fmt: skip


def _resources(command: F) -> F:
    """The options that name resources."""
    options = (
        click.option("--topic", multiple=True, shell_complete=completes(topic_names), help="A topic, or *."),
        click.option("--group", multiple=True, shell_complete=completes(group_names), help="A group, or *."),
        click.option("--transactional-id", multiple=True, metavar="ID", help="A transactional id, or *."),
        click.option("--cluster", "is_cluster", is_flag=True, help="The cluster itself."),
    )
    for option in reversed(options):
        command = option(command)
    return command


_prefixed = click.option("--prefixed", is_flag=True, help="The names are beginnings of names.")
_host = click.option("--host", default=None, metavar="ADDRESS", help="From this address only.")
_deny = click.option("--deny", is_flag=True, help="A rule that denies; it wins over those that allow.")
_principal_argument = click.argument("principal", metavar="PRINCIPAL")
_what = click.argument(
    "operations",
    nargs=-1,
    type=click.Choice(_OPERATIONS, case_sensitive=False),
    metavar="[OPERATION]...",
)


_ALSO = {
    "ls": "list",
    "describe": "list",
    "show": "list",
    "create": "add",
    "delete": "remove",
    "rm": "remove",
}
_PRINCIPAL: dict[str, Option] = {
    "--allow-principal": itself,
    "--deny-principal": behind("--deny"),
    "--operation": lambda value: (value.lower(),),
}
_ELSE: dict[str, Option] = {
    "--allow-host": behind("--host"),
    "--deny-host": behind("--host"),
    "--resource-pattern-type": lambda value: ("--prefixed",) if value.lower() == "prefixed" else (),
    "--force": ("--yes",),
}


@click.group(cls=KafkaVerbs, also=_ALSO)
def access() -> None:
    """List, add and remove access control lists.

    PRINCIPAL is a user's name, or Type:name. Operations are all, read, write, create, delete, alter,
    describe, and so on.
    """


@access.command("list")
@_resources
@click.option("--principal", metavar="NAME", help="Only rules for this principal.")
@on_cluster
def list_(cluster: "Cluster", view: View, principal: str | None, **resources: Any) -> None:
    """List the rules, all of them or those that apply to the named resources."""
    from barnabas.client.admin.acls import ANY_PATTERN, PatternType, describe_acls

    requested = _patterns(PatternType.MATCH, **resources) or [ANY_PATTERN]
    found = sorted({acl for pattern in requested for acl in describe_acls(cluster, pattern)})
    wanted = None if principal is None else _principal(principal)
    view.table(_table([acl for acl in found if wanted in (None, acl.rule.principal)]))


@access.command(cls=KafkaCommand, arguments=_PRINCIPAL, options=_ELSE)
@_principal_argument
@_what
@_resources
@_prefixed
@_deny
@_host
@click.option("--producer", is_flag=True, help="What a producer needs on the topics.")
@click.option("--consumer", is_flag=True, help="What a consumer needs on the topics and groups.")
@on_cluster
def add(
    cluster: "Cluster",
    view: View,
    principal: str,
    operations: tuple[str, ...],
    prefixed: bool,
    deny: bool,
    host: str | None,
    producer: bool,
    consumer: bool,
    **resources: Any,
) -> None:
    """Allow (or with --deny, deny) PRINCIPAL operations on the named resources."""
    from barnabas.client.admin.acls import ANY_HOST, Acl, PatternType, Permission, Rule, create_acls

    patterns = _needed(_patterns(PatternType.PREFIXED if prefixed else PatternType.LITERAL, **resources))
    permission = Permission.DENY if deny else Permission.ALLOW
    acls = [
        Acl(pattern, Rule(_principal(principal), host or ANY_HOST, operation, permission))
        for pattern in patterns
        for operation in _operations(pattern, operations, producer, consumer)
    ]
    if not acls:
        raise click.UsageError("Name an operation, --producer or --consumer")
    create_acls(cluster, acls)
    _show(view, "Added", acls)


@access.command(cls=KafkaCommand, arguments=_PRINCIPAL, options=_ELSE)
@_principal_argument
@_what
@_resources
@_prefixed
@_deny
@_host
@click.option("--yes", is_flag=True, help="Do not prompt for confirmation.")
@on_cluster
def remove(
    cluster: "Cluster",
    view: View,
    principal: str,
    operations: tuple[str, ...],
    prefixed: bool,
    deny: bool,
    host: str | None,
    yes: bool,
    **resources: Any,
) -> None:
    """Remove rules of PRINCIPAL for the named resources; all of them, unless operations are named."""
    from barnabas.client.admin.acls import (
        Operation,
        PatternType,
        Permission,
        Rule,
        delete_acls,
        describe_acls,
    )

    patterns = _needed(_patterns(PatternType.PREFIXED if prefixed else PatternType.LITERAL, **resources))
    permission = Permission.DENY if deny else Permission.ANY
    what = [Operation.parse(word) for word in operations] or [Operation.ANY]
    filters = [
        (pattern, Rule(_principal(principal), host, operation, permission))
        for pattern in patterns
        for operation in what
    ]
    found = sorted({acl for pattern, rule in filters for acl in describe_acls(cluster, pattern, rule)})
    if not found:
        raise click.ClickException(f"{_principal(principal)} has no such rules")
    if not yes and sys.stdin.isatty() and not view.as_json:
        view.table(_table(found))
    confirm(f"Remove {_counted(found)}?", yes=yes)
    _show(view, "Removed", delete_acls(cluster, filters))


def _principal(text: str) -> str:
    return text if ":" in text else f"User:{text}"


def _patterns(
    pattern_type: int,
    *,
    topic: Sequence[str],
    group: Sequence[str],
    transactional_id: Sequence[str],
    is_cluster: bool,
) -> list["Pattern"]:
    from barnabas.client.admin.acls import CLUSTER, Pattern, PatternType, ResourceType

    named = {
        ResourceType.TOPIC: topic,
        ResourceType.GROUP: group,
        ResourceType.TRANSACTIONAL_ID: transactional_id,
    }
    found = [
        Pattern(kind, name, PatternType(pattern_type)) for kind, names in named.items() for name in names
    ]
    return [*found, CLUSTER] if is_cluster else found


def _needed(patterns: list["Pattern"]) -> list["Pattern"]:
    if not patterns:
        raise click.UsageError("Name a resource: --topic, --group, --transactional-id or --cluster")
    return patterns


def _operations(
    pattern: "Pattern", words: Sequence[str], producer: bool, consumer: bool
) -> list["Operation"]:
    from barnabas.client.admin.acls import CONSUMER, PRODUCER, Operation, misplaced

    found = {Operation.parse(word) for word in words}
    problem = misplaced(pattern.kind, found)
    if problem:
        raise click.UsageError(problem)
    for is_requested, role in ((producer, PRODUCER), (consumer, CONSUMER)):
        found.update(role.get(pattern.kind, ()) if is_requested else ())
    return sorted(found)


def _show(view: View, done: str, acls: Sequence["Acl"]) -> None:
    if view.as_json:
        view.value(_table(acls).values())
        return
    view.done(f"{done} {_counted(acls)}.")
    view.table(_table(acls))


def _counted(acls: Sequence["Acl"]) -> str:
    return "1 rule" if len(acls) == 1 else f"{len(acls)} rules"


def _table(acls: Sequence["Acl"]) -> Table:
    columns = (
        Column("PRINCIPAL", "principal", style="bold"),
        Column("ACCESS", "permission"),
        Column("OPERATION", "operation", style="cyan"),
        Column("RESOURCE", "resource"),
        Column("NAME", "name"),
        Column("PATTERN", "pattern"),
        Column("HOST", "host"),
    )
    rows = [
        (
            acl.rule.principal,
            _word(acl.rule.permission),
            _word(acl.rule.operation),
            _word(acl.pattern.kind),
            acl.pattern.name,
            _word(acl.pattern.type),
            acl.rule.host,
        )
        for acl in acls
    ]
    return Table(columns, rows, colours=lambda row: "red" if row[1] == "deny" else "")


def _word(member: Any) -> str:
    return str(member.name).lower().replace("_", "-")
