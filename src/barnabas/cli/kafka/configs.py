"""kafka-configs: settings of topics, brokers, groups and client metrics; quotas; SCRAM credentials.

Text and exit status are those of kafka.admin.ConfigCommand. It prints usage errors as a bare message, and
other errors after a line that repeats the arguments. The stack trace that follows there is left out.
"""

import sys
from collections.abc import Sequence

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.configuration.entities import DEFAULTS, NAMED, check_options, entities_of
from barnabas.cli.kafka.options import Given, Options
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

_TYPES = "topics, clients, users, brokers, broker-loggers, ips, client-metrics or groups"
_BAD_NAME = "invalid_topic_exception"


def _options() -> Options:
    options = Options(
        "kafka-configs", "Shows and changes the settings of topics, brokers, groups, clients and users."
    )
    options.option("bootstrap-server", "Bootstrap brokers.", value="host:port")
    options.option("bootstrap-controller", "Not supported: brokers take these requests.", value="host:port")
    options.option(
        "zookeeper", "Of Kafka 2.x: finds the brokers that are registered there.", value="host:port/chroot"
    )
    options.option("command-config", "A file of client properties.", value="file")
    options.flag("describe", "Show what is set for an entity.")
    options.flag("all", "With --describe: also what is not set for the entity itself, such as defaults.")
    options.flag("alter", "Change an entity.")
    options.option("entity-type", f"One of {_TYPES}; users and clients go together.", repeated=True)
    options.option("entity-name", "The name or id of the entity.", repeated=True)
    options.flag("entity-default", "Instead of a name: the default for clients, users, brokers or ips.")
    for name, entity_type in NAMED.items():
        options.option(name, f"Short for --entity-type {entity_type} --entity-name.")
    for name, entity_type in DEFAULTS.items():
        options.flag(name, f"Short for --entity-type {entity_type} --entity-default.")
    options.option("add-config", "What to set: 'k1=v1,k2=[v1,v2],k3=v3', brackets around commas.")
    options.option("add-config-file", "A properties file of what to set.", value="file")
    options.option("delete-config", "What to set back: 'k1,k2'.", repeated=True)
    options.flag("force", "Accepted for scripts of older versions; there is nothing to confirm.")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options()
    words = sys.argv[1:] if arguments is None else list(arguments)

    def work(given: Given) -> None:
        _work(options, given, words)

    return run_tool(options, work, words)


def _work(options: Options, given: Given, words: list[str]) -> None:
    entities = entities_of(given, words)
    check_options(options, given, entities)
    from barnabas.client.errors import BrokerError, ClientError, Unsupported

    try:
        with open_cluster(_bootstrap(given), given.command_config) as cluster:
            if given.has("describe"):
                from barnabas.cli.kafka.configuration.describing import describe

                describe(cluster, entities, everything=given.all)
            else:
                from barnabas.cli.kafka.configuration.altering import alter

                alter(cluster, given, entities)
    except Unsupported:
        raise
    except ClientError as error:
        if isinstance(error, BrokerError) and given.has("describe") and error.name == _BAD_NAME:
            raise
        repeated = " ".join(words)
        raise ToolError(f"Error while executing config command with args '{repeated}': {error}") from error


def _bootstrap(given: Given) -> str:
    if given.has("bootstrap-server") or not given.has("zookeeper"):
        return str(given.bootstrap_server)
    from barnabas.cli.kafka.zookeeper_bootstrap import bootstrap_of

    return bootstrap_of(given.zookeeper)
