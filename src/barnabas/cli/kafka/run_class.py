"""`kafka-run-class CLASS ...`: runs Kafka's tools by the names of their Java classes.

Only the last part of the class name counts: the classes moved from `kafka.admin` and `kafka.tools` to
`org.apache.kafka.tools` over the years.
"""

import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

_TOOLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "AclCommand": ("acls", ()),
    "BrokerApiVersionsCommand": ("broker_api_versions", ()),
    "ClusterTool": ("cluster", ()),
    "ConfigCommand": ("configs", ()),
    "ConsoleConsumer": ("console_consumer", ()),
    "ConsoleProducer": ("console_producer", ()),
    "ConsumerGroupCommand": ("consumer_groups", ()),
    "ConsumerPerformance": ("consumer_perf_test", ()),
    "DeleteRecordsCommand": ("delete_records", ()),
    "DeleteTopicCommand": ("topics", ("--delete",)),
    "DumpLogSegments": ("dump_log", ()),
    "EndToEndLatency": ("e2e_latency", ()),
    "FeatureCommand": ("features", ()),
    "GetOffsetShell": ("get_offsets", ()),
    "LeaderElectionCommand": ("leader_election", ()),
    "LogDirsCommand": ("log_dirs", ()),
    "PreferredReplicaLeaderElectionCommand": ("leader_election:preferred_replica_main", ()),
    "ProducerPerformance": ("producer_perf_test", ()),
    "ReassignPartitionsCommand": ("reassign_partitions", ()),
    "TopicCommand": ("topics", ()),
    "TransactionsCommand": ("transactions", ()),
    "VerifiableConsumer": ("verifiable_consumer", ()),
    "VerifiableProducer": ("verifiable_producer", ()),
}
"""Class to (module beside this one, with its function if that is not `main`; arguments the class implied)."""

_GLUED = re.compile(r"^--zookeeper(?==|[^=].*:\d)=?")


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    while words and words[0] in ("-daemon", "-loggc", "-name"):  # options of the JVM
        del words[: 2 if words[0] == "-name" else 1]
    if not words:
        print("USAGE: kafka-run-class CLASS [arguments]", file=sys.stderr)
        print(f"Classes: {', '.join(_TOOLS)}", file=sys.stderr)
        return 1
    found = _TOOLS.get(words[0].rpartition(".")[2])
    if found is None:
        print(f"{words[0]} is not a known tool (known: {', '.join(_TOOLS)})", file=sys.stderr)
        return 1
    (module, _, function), implied = found[0].partition(":"), found[1]
    tool: Callable[[Sequence[str]], int] = getattr(
        import_module(f"barnabas.cli.kafka.{module}"), function or "main"
    )
    # An often copied example has --zookeeper127.0.0.1:2181, without the blank.
    return tool([*implied, *(_GLUED.sub("--zookeeper=", word) for word in words[1:])])
