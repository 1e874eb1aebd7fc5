"""`kafka-log-dirs`: prints the log directories of brokers and their partitions as JSON.

The order of keys is that of Kafka's tool, for scripts that compare the text. Partitions are sorted; Kafka's
order is that of a hash table.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.options import Given, Options
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.admin.log_dirs import LogDir


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _work, arguments)


def _options() -> Options:
    options = Options("kafka-log-dirs", "Show how much lies in the log directories of brokers.")
    options.option(
        "bootstrap-server",
        "REQUIRED: bootstrap brokers, separated by commas.",
        value="The server(s) to use for bootstrapping",
    )
    options.option("command-config", "Properties of the client.", value="Admin client property file")
    options.flag("describe", "REQUIRED: describe the log directories.")
    options.option("topic-list", "Topics to show, with commas; all, if not given.", value="Topic list")
    options.option(
        "broker-list", "Ids of brokers, separated by commas; all brokers by default.", value="Broker list"
    )
    return options


def _work(given: Given) -> int:
    _options().require(given, "bootstrap-server", "describe")
    topics = frozenset(_words(given.topic_list))
    requested = _brokers(given.broker_list)
    from barnabas.client.admin.log_dirs import describe_log_dirs

    with open_cluster(given.bootstrap_server, given.command_config) as cluster:
        existing = sorted(cluster.nodes)
        missing = sorted(requested - set(existing))
        if missing:
            raise ToolError(
                f"ERROR: The given brokers do not exist from --broker-list: {_listed(missing)}. "
                f"Current existent brokers: {_listed(existing)}"
            )
        brokers = sorted(requested) or existing
        print("Querying brokers for log directories information", flush=True)
        found = describe_log_dirs(cluster, brokers)
        print(f"Received log directory information from brokers {_listed(brokers)}")
        print(as_json(found, topics))
    return 0


def as_json(found: "dict[int, tuple[LogDir, ...]]", topics: frozenset[str] = frozenset()) -> str:
    """One line; without `topics` all are shown."""
    from barnabas.cli.tool_errors import exception_name

    brokers = [
        {
            "broker": broker,
            "logDirs": [
                {
                    "partitions": [
                        {
                            "partition": f"{each.topic}-{each.partition}",
                            "size": each.size,
                            "offsetLag": each.offset_lag,
                            "isFuture": each.is_future,
                        }
                        for each in directory.partitions
                        if not topics or each.topic in topics
                    ],
                    "error": None if directory.error is None else exception_name(directory.error),
                    "logDir": directory.path,
                }
                for directory in directories
            ],
        }
        for broker, directories in found.items()
    ]
    return json.dumps({"brokers": brokers, "version": 1}, separators=(",", ":"), ensure_ascii=False)


def _words(text: str | None) -> list[str]:
    return [word for word in (text or "").split(",") if word]


def _brokers(text: str | None) -> set[int]:
    brokers = set()
    for word in _words(text):
        try:
            brokers.add(int(word))
        except ValueError:
            raise ToolError(f'For input string: "{word}"') from None
    return brokers


def _listed(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
