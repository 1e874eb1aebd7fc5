"""`kafka-broker-api-versions`: the APIs that each broker serves, and the newest usable version of each.

A version is usable if this tool's own client supports it, as with Kafka's tool.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.options import Given, Options
from barnabas.cli.kafka.tool_runner import run_tool

if TYPE_CHECKING:
    from barnabas.client.admin.api_versions import ServedApi


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _work, arguments)


def _options() -> Options:
    options = Options("kafka-broker-api-versions", "Print the versions of APIs that brokers serve.")
    options.option(
        "bootstrap-server",
        "REQUIRED: bootstrap brokers, separated by commas.",
        value="server(s) to use for bootstrapping",
    )
    options.option("command-config", "Properties of the client.", value="command config property file")
    return options


def _work(given: Given) -> int:
    _options().require(given, "bootstrap-server")
    from barnabas.client.admin.api_versions import describe_apis
    from barnabas.client.errors import ClientError

    with open_cluster(given.bootstrap_server, given.command_config) as cluster:
        for node, apis in describe_apis(cluster).items():
            rack = "null" if node.rack is None else node.rack
            broker = f"{node.host}:{node.port} (id: {node.id} rack: {rack} isFenced: false)"
            if isinstance(apis, ClientError):
                print(f"{broker} -> ERROR: {apis}")
            else:
                lines = ",\n\t".join(map(shown_api, apis))
                print(f"{broker} -> (\n\t{lines}\n)")
    return 0


def shown_api(api: "ServedApi") -> str:
    """`Fetch(1): 4 to 18 [usable: 18]`, for example."""
    if api.served is None:
        return f"{api.name}({api.key}): UNSUPPORTED"
    lowest, highest = api.served
    versions = f"{lowest}" if lowest == highest else f"{lowest} to {highest}"
    if api.name is None:
        return f"UNKNOWN({api.key}): {versions}"
    if api.is_too_new:
        remark = "unusable: node too new"
    elif api.is_too_old:
        remark = "unusable: node too old"
    else:
        remark = f"usable: {api.usable}"
    return f"{api.name}({api.key}): {versions} [{remark}]"
