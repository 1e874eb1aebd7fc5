"""`kafka-cluster`: prints the cluster id and the endpoints, and unregisters brokers.

Commands and errors are those of Kafka's tool: `cluster-id`, `unregister`, `list-endpoints`.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.options import Given, Options, UsageError, integer
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.admin.cluster import Endpoint
    from barnabas.client.cluster import Cluster

_WITHOUT_RACKS = 10
"""The width of the column when no node has a rack."""


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _work, arguments)


def _options() -> Options:
    options = Options(
        "kafka-cluster",
        "Usage: kafka-cluster cluster-id|unregister|list-endpoints OPTIONS\n\n"
        "Show the id or the endpoints of a cluster, or unregister a broker.",
    )
    options.option(
        "bootstrap-server", "Bootstrap brokers, separated by commas.", value="host:port", aliases=["b"]
    )
    options.option(
        "bootstrap-controller", "The same for KRaft controllers.", value="host:port", aliases=["C"]
    )
    options.option("command-config", "Properties of the client.", value="file", aliases=["c"])
    options.option("config", "Old name of --command-config.", value="file")
    options.option("id", "unregister: the broker to unregister.", value="id", kind=integer, aliases=["i"])
    options.flag("include-fenced-brokers", "list-endpoints: fenced brokers as well.")
    return options


def _work(given: Given) -> int:
    work = _checked(given)
    command_config = given.command_config
    if given.has("config"):
        print(
            "Option --config has been deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )
        command_config = given.config
    from barnabas.cli.tool_errors import exception_text
    from barnabas.client.errors import BrokerError

    with open_cluster(given.bootstrap_server or given.bootstrap_controller, command_config) as cluster:
        try:
            work(cluster, given)
        except BrokerError as error:
            raise ToolError(exception_text(error)) from None
    return 0


def _checked(given: Given) -> "Callable[[Cluster, Given], None]":
    """The command, if the options fit it. Raises UsageError with the text of Kafka's tool."""
    if not given.words:
        raise _usage("too few arguments")
    command, *rest = given.words
    if command not in _COMMANDS:
        choices = ", ".join(f"'{name}'" for name in _COMMANDS)
        raise _usage(f"invalid choice: '{command}' (choose from {choices})")
    foreign = [f"--{option}" for option, owner in _OWNERS.items() if given.has(option) and owner != command]
    if rest or foreign:
        raise _usage(f"unrecognized arguments: '{(rest + foreign)[0]}'")
    if given.has("bootstrap-server") and given.has("bootstrap-controller"):
        raise _usage("argument --bootstrap-controller/-C: not allowed with argument --bootstrap-server/-b")
    if not given.has("bootstrap-server") and not given.has("bootstrap-controller"):
        raise _usage("one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required")
    if command == "unregister" and not given.has("id"):
        raise _usage("argument --id/-i is required")
    if given.has("config") and given.has("command-config"):
        raise _usage("--config and --command-config cannot be specified together.")
    if given.include_fenced_brokers and given.has("bootstrap-controller"):
        raise ToolError(
            "The option --include-fenced-brokers is only supported with --bootstrap-server option"
        )
    return _COMMANDS[command]


def _usage(message: str) -> UsageError:
    return UsageError(f"kafka-cluster: error: {message}")


# --- commands ----------------------------------------------------------------------------------------


def _cluster_id(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.cluster import describe_cluster

    found = describe_cluster(cluster, controllers=given.has("bootstrap-controller")).cluster_id
    if found is None:
        print("No cluster ID found. The Kafka version is probably too old.")
    else:
        print(f"Cluster ID: {found}")


def _unregister(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.cluster import active_controller, unregister_broker
    from barnabas.client.errors import Unsupported

    try:
        if given.has("bootstrap-controller"):
            with active_controller(cluster) as controller:
                unregister_broker(controller, given.id)
        else:
            unregister_broker(cluster, given.id)
    except Unsupported:
        print("The target cluster does not support the broker unregistration API.")
        return
    print(f"Broker {given.id} is no longer registered.")


def _list_endpoints(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.cluster import describe_cluster
    from barnabas.client.errors import Unsupported

    controllers = given.has("bootstrap-controller")
    try:
        found = describe_cluster(cluster, controllers=controllers, fenced=given.include_fenced_brokers)
    except Unsupported as error:
        print(error)
        return
    print("\n".join(endpoint_lines(found.endpoints, controllers=controllers)))


def endpoint_lines(endpoints: "Sequence[Endpoint]", *, controllers: bool) -> list[str]:
    """The table, padded as Kafka pads it, also after the last column."""
    hosts = max((len(each.host) for each in endpoints), default=100)
    racks = max((len(each.rack) for each in endpoints if each.rack is not None), default=_WITHOUT_RACKS)
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    rows += [
        (
            str(each.id),
            each.host,
            str(each.port),
            "null" if each.rack is None else each.rack,
            "fenced" if each.is_fenced else "unfenced",
            "controller" if controllers else "broker",
        )
        for each in endpoints
    ]
    lines = []
    for number, host, port, rack, state, kind in rows:
        shown = "" if controllers else f"{state:<10} "
        lines.append(f"{number:<10} {host:<{hosts}} {port:<10} {rack:<{racks}} {shown}{kind:<15}")
    return lines


_COMMANDS: "dict[str, Callable[[Cluster, Given], None]]" = {
    "cluster-id": _cluster_id,
    "unregister": _unregister,
    "list-endpoints": _list_endpoints,
}
_OWNERS = {"id": "unregister", "include-fenced-brokers": "list-endpoints"}
