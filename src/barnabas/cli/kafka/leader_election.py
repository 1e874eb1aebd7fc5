"""`kafka-leader-election`, and its predecessor `kafka-preferred-replica-election` (until Kafka 2.8).

Both send ElectLeaders to the controller and print the result of each partition on stdout. The number of
failures is printed on stderr.
"""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.options import Given, Options, UsageError, integer
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.admin.elections import ElectionType
    from barnabas.client.admin.leaders import TopicPartition
    from barnabas.client.errors import BrokerError

_KINDS = ("PREFERRED", "UNCLEAN")
_SCOPES = ("topic", "all-topic-partitions", "path-to-json-file")


@dataclass(frozen=True, slots=True)
class _Words:
    """Texts that differ between the two tools."""

    done: str
    not_needed: str
    failed: str
    failures: str


_NEW = _Words(
    "Successfully completed leader election ({kind}) for partitions {names}",
    "Valid replica already elected for partitions {names}",
    "Error completing leader election ({kind}) for partition: {name}: {error}",
    "{count} replica(s) could not be elected",
)
_OLD = _Words(
    "Successfully completed preferred leader election for partitions {names}",
    "Preferred replica already elected for partitions {names}",
    "Error completing preferred leader election for partition: {name}: {error}",
    "{count} preferred replica(s) could not be elected",
)


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _work, arguments)


def preferred_replica_main(arguments: Sequence[str] | None = None) -> int:
    """The entry point of `kafka-preferred-replica-election`."""
    print("This tool is deprecated. Please use kafka-leader-election tool. Tracking issue: KAFKA-8405")
    return run_tool(_old_options(), _old_work, arguments)


def _options() -> Options:
    options = Options("kafka-leader-election", "Elect leaders of partitions.")
    options.option("bootstrap-server", "Bootstrap brokers, separated by commas.", value="host:port")
    options.option("command-config", "File with properties of the client.", value="file")
    options.option("admin.config", "The old name of --command-config.", value="file")
    options.option(
        "election-type",
        "preferred: the first replica leads again, if it is in sync. unclean: any live replica leads "
        "if no live replica is in sync; records may be lost.",
        value="type",
        kind=_kind,
    )
    options.option("topic", "Elect for one partition of this topic.", value="name")
    options.option("partition", "The partition of --topic.", value="number", kind=integer)
    options.flag("all-topic-partitions", "Elect for all partitions that need it.")
    options.option(
        "path-to-json-file",
        'Elect for these partitions: {"partitions":[{"topic":"foo","partition":1}]}.',
        value="file",
    )
    return options


def _kind(text: str) -> str:
    if text.upper() not in _KINDS:
        raise ValueError(f"expected one of {', '.join(_KINDS)}")
    return text.upper()


def _work(given: Given) -> int:
    from barnabas.client.admin.elections import ElectionType

    _check(given)
    topic_partitions = _topic_partitions(given)
    config = given.command_config
    if given.has("admin.config"):
        print(
            "Option --admin.config has been deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )
        config = given.admin_config
    return _elect(given.bootstrap_server, config, ElectionType[given.election_type], topic_partitions, _NEW)


def _check(given: Given) -> None:
    missing = [name for name in ("bootstrap-server", "election-type") if not given.has(name)]
    if missing:
        raise UsageError(f"Missing required option(s): {', '.join(missing)}")
    if given.has("admin.config") and given.has("command-config"):
        raise UsageError('Option "[admin.config]" can\'t be used with option "[command-config]"')
    if sum(given.has(name) for name in _SCOPES) != 1:
        raise UsageError(f"One and only one of the following options is required: {', '.join(_SCOPES)}")
    if given.has("topic") and not given.has("partition"):
        raise UsageError("Missing required option(s): partition")
    if given.has("partition") and not given.has("topic"):
        raise UsageError("Option partition is only allowed if topic is used")


def _topic_partitions(given: Given) -> "Collection[TopicPartition] | None":
    if given.has("path-to-json-file"):
        from barnabas.client.admin.reassignment_plan import read_partitions

        return read_partitions(given.path_to_json_file)
    return [(given.topic, given.partition)] if given.has("topic") else None


# --- kafka-preferred-replica-election ----------------------------------------------------------------


def _old_options() -> Options:
    options = Options(
        "kafka-preferred-replica-election", "Give the lead of partitions back to their preferred replicas."
    )
    options.option("bootstrap-server", "Bootstrap brokers, separated by commas.", value="host:port")
    options.option("admin.config", "File with properties of the client.", value="file")
    options.option(
        "path-to-json-file",
        'Elect for these partitions: {"partitions":[{"topic":"foo","partition":1}]}. All, if none is given.',
        value="file",
    )
    options.option(
        "zookeeper", "The ZooKeeper address of Kafka 2.x tools, if a ZooKeeper runs there.", value="host:port"
    )
    return options


def _old_work(given: Given) -> int:
    from barnabas.client.admin.elections import ElectionType
    from barnabas.client.admin.reassignment_plan import read_partitions

    if given.has("bootstrap-server") == given.has("zookeeper"):
        raise UsageError("Exactly one of '[bootstrap-server]' or '[zookeeper]' must be provided")
    bootstrap = given.bootstrap_server
    if given.has("zookeeper"):
        from barnabas.cli.kafka.zookeeper_bootstrap import bootstrap_of

        print("Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.")
        print("Use --bootstrap-server instead to specify a broker to connect to.")
        bootstrap = bootstrap_of(given.zookeeper)
    topic_partitions = None
    if given.has("path-to-json-file"):
        topic_partitions = read_partitions(given.path_to_json_file, "Preferred replica")
    return _elect(bootstrap, given.admin_config, ElectionType.PREFERRED, topic_partitions, _OLD)


# --- both --------------------------------------------------------------------------------------------


def _elect(
    bootstrap: str,
    config: str | None,
    kind: "ElectionType",
    topic_partitions: "Collection[TopicPartition] | None",
    words: _Words,
) -> int:
    from barnabas.cli.tool_errors import exception_text
    from barnabas.client.admin.elections import ELECTION_NOT_NEEDED, elect_leaders
    from barnabas.client.errors import BrokerError

    try:
        with open_cluster(bootstrap, config) as cluster:
            results = elect_leaders(cluster, kind, topic_partitions)
    except BrokerError as error:
        raise _translated(error) from error
    done = sorted(topic_partition for topic_partition, error in results.items() if error is None)
    errors = {topic_partition: error for topic_partition, error in results.items() if error is not None}
    not_needed = sorted(
        topic_partition for topic_partition, error in errors.items() if error.code == ELECTION_NOT_NEEDED
    )
    failed = sorted(errors.keys() - set(not_needed))
    if done:
        print(words.done.format(kind=kind.name, names=_names(done)))
    if not_needed:
        print(words.not_needed.format(names=_names(not_needed)))
    for topic_partition in failed:
        text = exception_text(errors[topic_partition])
        print(words.failed.format(kind=kind.name, name=_names([topic_partition]), error=text))
    if failed:
        sys.stdout.flush()
        raise ToolError(words.failures.format(count=len(failed)))
    return 0


def _translated(error: "BrokerError") -> Exception:
    """Replaces two errors by Kafka's own texts. Kafka prints them twice: on stdout and as the error."""
    messages = {
        "request_timed_out": "Timeout waiting for election results",
        "cluster_authorization_failed": "Not authorized to perform leader election",
    }
    message = messages.get(error.name)
    if message is None:
        return error
    print(message)
    return ToolError(message)


def _names(topic_partitions: "Sequence[TopicPartition]") -> str:
    return ", ".join(f"{topic}-{index}" for topic, index in topic_partitions)
