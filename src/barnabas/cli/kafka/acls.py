"""kafka-acls: lists, adds and removes access control lists, as Kafka's AclCommand.

ACLs are printed sorted. Kafka's order changes from run to run.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.acl_rules import patterns, principals, wanted
from barnabas.cli.kafka.options import Given, Options, fail
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.admin.acls import Acl, Pattern, Rule
    from barnabas.client.cluster import Cluster

_PREFIX = "Error while executing ACL command: "
_PATTERN_TYPES = ("ANY", "MATCH", "LITERAL", "PREFIXED")


def _options() -> Options:
    options = Options("kafka-acls", "Lists, adds and removes access control lists of resources.")
    options.option("bootstrap-server", "Bootstrap brokers.", value="host:port")
    options.option("bootstrap-controller", "Not supported: brokers take these requests.", value="host:port")
    options.option("command-config", "A file of client properties.", value="file", optional_value=True)
    options.flag("list", "List ACLs, of the named resources or of all.")
    options.flag("add", "Add ACLs.")
    options.flag("remove", "Remove ACLs.")
    options.option("topic", "A topic; '*' is every topic.", repeated=True)
    options.option("group", "A group; '*' is every group.", repeated=True)
    options.flag("cluster", "The cluster itself.")
    options.option("transactional-id", "A transactional id; '*' is every one.", repeated=True)
    options.option("delegation-token", "A delegation token; '*' is every one.", repeated=True)
    options.option("user-principal", "A user, as the resource of token operations.", repeated=True)
    options.option(
        "resource-pattern-type",
        "How names are meant: LITERAL or PREFIXED; to list or remove also ANY (of any type, the name "
        "exactly) or MATCH (whatever applies to the resource).",
        value="ANY|MATCH|LITERAL|PREFIXED",
        default="LITERAL",
    )
    options.option("operation", "What is allowed or denied: Read, Write, ...; All by default.", repeated=True)
    options.option(
        "allow-principal", "The principal to allow, as User:name; User:* matches every user.", repeated=True
    )
    options.option("deny-principal", "The principal to deny; deny rules win over allow rules.", repeated=True)
    options.option("allow-host", "From where; any host unless given.", repeated=True)
    options.option("deny-host", "From where not; any host unless given.", repeated=True)
    options.option(
        "principal", "With --list: only ACLs of this principal.", repeated=True, optional_value=True
    )
    options.flag("producer", "Short for what a producer needs: write, describe and create on topics.")
    options.flag("consumer", "Short for what a consumer needs: read and describe on topics, read on groups.")
    options.flag("idempotent", "With --producer: also idempotent writes.")
    options.flag("force", "Do not prompt for confirmation.")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options()

    def work(given: Given) -> None:
        _check(options, given)
        action = _add if given.add else _remove if given.remove else _list
        with open_cluster(given.bootstrap_server, given.command_config) as cluster:
            _run(action, cluster, given)

    return run_tool(options, work, arguments, prefix=_PREFIX, errors_on_stdout=True)


def _check(options: Options, given: Given) -> None:
    """In Kafka's order."""
    if given.has("bootstrap-server") and given.has("bootstrap-controller"):
        fail("Only one of --bootstrap-server or --bootstrap-controller must be specified")
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        fail("One of --bootstrap-server or --bootstrap-controller must be specified")
    if sum(map(given.has, ("add", "remove", "list"))) != 1:
        fail("Command must include exactly one action: --list, --add, --remove. ")
    roles = ("producer", "consumer")
    options.forbid(given, "list", *roles, "allow-host", "allow-principal", "deny-host", "deny-principal")
    for role in roles:
        options.forbid(given, role, "operation", "deny-principal", "deny-host")
    if given.has("principal") and not given.has("list"):
        fail("The --principal option is only available if --list is set")
    if given.has("producer") and not given.has("topic"):
        fail("With --producer you must specify a --topic")
    if given.has("idempotent") and not given.has("producer"):
        fail("The --idempotent option is only available if --producer is set")
    lacks = not given.has("topic") or not given.has("group")
    is_too_much = not given.has("producer") and (given.has("cluster") or given.has("transactional-id"))
    if given.has("consumer") and (lacks or is_too_much):
        fail(
            "With --consumer you must specify a --topic and a --group and no --cluster or "
            "--transactional-id option should be specified."
        )
    if given.resource_pattern_type.upper() not in _PATTERN_TYPES:
        raise ToolError(
            f"Cannot parse argument '{given.resource_pattern_type}' of option resource-pattern-type"
        )
    if given.has("bootstrap-controller"):
        fail(
            "--bootstrap-controller is not supported: every broker takes these requests, "
            "give --bootstrap-server host:port"
        )


def _run(action: Callable[["Cluster", Given], None], cluster: "Cluster", given: Given) -> None:
    from barnabas.cli.tool_errors import exception_text
    from barnabas.client.errors import BrokerError

    try:
        action(cluster, given)
    except BrokerError as error:
        raise ToolError(exception_text(error)) from None


# --- the actions ------------------------------------------------------------------------------------


def _add(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.acls import Acl, create_acls, describe_acls

    pattern_type = given.resource_pattern_type.upper()
    if pattern_type not in ("LITERAL", "PREFIXED"):
        fail(f"A '--resource-pattern-type' value of '{pattern_type}' is not valid when adding acls.")
    requested = wanted(given)
    if not all(requested.values()):
        fail("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    for pattern, rules in requested.items():
        existing = describe_acls(cluster, pattern)
        missing = []
        for acl in (Acl(pattern, rule) for rule in rules):
            if acl in existing:
                print(f"Acl {acl} already exists.")
            else:
                missing.append(acl)
        if missing:
            print(f"Adding ACLs for resource `{pattern}`: \n {_listed(acl.rule for acl in missing)}\n")
            create_acls(cluster, missing)


def _remove(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.acls import ANY_RULE, delete_acls

    for pattern, rules in wanted(given).items():
        if rules:
            question = (
                f"Are you sure you want to remove ACLs: \n {_listed(rules)}\n"
                f" from resource filter `{pattern}`? (y/n)"
            )
        else:
            question = f"Are you sure you want to delete all ACLs for resource filter `{pattern}`? (y/n)"
        if given.force or _is_confirmed(question):
            delete_acls(cluster, [(pattern, rule) for rule in rules or [ANY_RULE]])


def _is_confirmed(question: str) -> bool:
    print(question, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise ToolError("the prompt was not answered; use --force to remove without a prompt")
    return answer.strip().lower() == "y"


def _list(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.acls import ANY_PATTERN, describe_acls

    selected = principals(word for word in given.principal if word)
    requested = patterns(given) or [ANY_PATTERN]
    found = sorted({acl for pattern in requested for acl in describe_acls(cluster, pattern)})
    if not selected:
        _print_acls(found)
    for principal in selected:
        print(f"ACLs for principal `{principal}`")
        _print_acls([acl for acl in found if acl.rule.principal == principal])


def _print_acls(acls: Sequence["Acl"]) -> None:
    by_pattern: dict[Pattern, list[Rule]] = {}
    for acl in acls:
        by_pattern.setdefault(acl.pattern, []).append(acl.rule)
    for pattern, rules in by_pattern.items():
        print(f"Current ACLs for resource `{pattern}`:\n{_listed(rules)}\n")


def _listed(rules: Iterable["Rule"]) -> str:
    return "\n".join(f"\t{rule}" for rule in rules)
