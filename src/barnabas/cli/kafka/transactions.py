"""`kafka-transactions`: lists and describes transactions and producers, aborts hanging transactions.

Each action (`list`, `describe` ...) has its own flags. Tables have the format of Kafka: columns as wide as
their widest cell, each followed by a tab. Errors are one line on stderr.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.kafka.options import Given, Options, UsageError, integer
from barnabas.cli.kafka.tool_runner import run_tool
from barnabas.cli.tool_errors import ToolError

if TYPE_CHECKING:
    from barnabas.client.admin.transactions import OpenTransaction
    from barnabas.client.cluster import Cluster

_MINUTE_MS = 60_000


def main(arguments: Sequence[str] | None = None) -> int:
    return run_tool(_options(), _work, arguments)


def _options() -> Options:
    commands = "\n".join(f"  {name:<28}{command.text}" for name, command in _COMMANDS.items())
    options = Options(
        "kafka-transactions",
        "Look at transactions and producers, and end transactions that hang.\n\n"
        f"Usage: kafka-transactions --bootstrap-server host:port COMMAND ...\n\nCommands:\n{commands}",
    )
    options.flag("help", "Print usage information.", aliases=("h",))
    options.flag("version", "Display the version.", aliases=("v",))
    options.option("bootstrap-server", "Bootstrap brokers, separated by commas.", value="host:port")
    options.option("command-config", "File with properties of the client.", value="file")
    options.option("topic", "The topic.", value="name")
    options.option("partition", "The partition of the topic.", value="number", kind=integer)
    options.option(
        "broker-id", "Send the request to this broker, not to the leaders.", value="id", kind=integer
    )
    options.option("transactional-id", "The id to describe.", value="id")
    options.option("transactionalId", "The id whose transaction is ended.", value="id")
    options.option("duration-filter", "Only transactions that run longer (ms).", value="ms", kind=int)
    options.option(
        "transactional-id-pattern", "Only transactions whose id this expression matches.", value="regex"
    )
    options.option("start-offset", "Where the transaction to abort begins.", value="offset", kind=int)
    options.option("producer-id", "For brokers before 3.0: the producer.", value="id", kind=int)
    options.option("producer-epoch", "For brokers before 3.0: its epoch.", value="number", kind=int)
    options.option(
        "coordinator-epoch", "For brokers before 3.0: its coordinator's epoch.", value="number", kind=int
    )
    options.option(
        "max-transaction-timeout",
        "Only transactions that are older hang (minutes).",
        value="minutes",
        kind=int,
        default=15,
    )
    return options


def _work(given: Given) -> int:
    if not given.words:
        raise UsageError("too few arguments")
    name, *rest = given.words
    if name not in _COMMANDS:
        choices = ", ".join(f"'{each}'" for each in _COMMANDS)
        raise UsageError(f"invalid choice: '{name}' (choose from {choices})")
    command = _COMMANDS[name]
    if rest:
        raise UsageError(f"unrecognized arguments: '{' '.join(rest)}'")
    for each in _FLAGS:
        if given.has(each) and each not in (*command.required, *command.others):
            raise UsageError(f"unrecognized arguments: '--{each}'")
    for each in ("bootstrap-server", *command.required):
        if not given.has(each):
            raise UsageError(f"argument --{each} is required")
    with open_cluster(given.bootstrap_server, given.command_config) as cluster:
        command.run(cluster, given)
    return 0


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Adds the attempted action to errors of the block."""
    from barnabas.client.errors import ClientError

    try:
        yield
    except ClientError as error:
        raise ToolError(f"Failed to {what}: {error}") from error


# --- commands ----------------------------------------------------------------------------------------


def _list(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.transactions import list_transactions

    with _failing("list transactions"):
        found = list_transactions(
            cluster, longer_than_ms=given.duration_filter, id_pattern=given.transactional_id_pattern
        )
    rows = [(each.id, each.coordinator, each.producer_id, each.state) for each in found]
    print_table(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), rows)


def _describe(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.transactions import describe_transaction

    with _failing(f"describe transaction state of transactional-id `{given.transactional_id}`"):
        found = describe_transaction(cluster, given.transactional_id)
    duration = None if found.start_ms is None else _now_ms() - found.start_ms
    row = (
        found.coordinator,
        found.id,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.timeout_ms,
        found.start_ms,
        duration,
        ",".join(f"{topic}-{index}" for topic, index in found.partitions),
    )
    headers = (
        "CoordinatorId",
        "TransactionalId",
        "ProducerId",
        "ProducerEpoch",
        "TransactionState",
        "TransactionTimeoutMs",
        "CurrentTransactionStartTimeMs",
        "TransactionDurationMs",
        "TopicPartitions",
    )
    print_table(headers, [row])


def _describe_producers(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.producers import describe_producers

    topic_partition = given.topic, given.partition
    where = f"broker {given.broker_id}" if given.has("broker-id") else "leader"
    with _failing(f"describe producers for partition {given.topic}-{given.partition} on {where}"):
        producers = describe_producers(cluster, [topic_partition], broker=given.broker_id)[topic_partition]
    rows = [
        (
            each.id,
            each.epoch,
            -1 if each.coordinator_epoch is None else each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.transaction_start,
        )
        for each in producers
    ]
    headers = (
        "ProducerId",
        "ProducerEpoch",
        "LatestCoordinatorEpoch",
        "LastSequence",
        "LastTimestamp",
        "CurrentTransactionStartOffset",
    )
    print_table(headers, rows)


def _abort(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.transactions import AbortSpec, abort_transaction, find_abort_spec

    topic_partition = given.topic, given.partition
    if not given.has("start-offset") and not given.has("producer-id"):
        raise ToolError(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or "
            "above) or with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    if given.has("start-offset"):
        with _failing(f"validate producer state for partition {given.topic}-{given.partition}"):
            found = find_abort_spec(cluster, topic_partition, given.start_offset)
        if found is None:
            raise ToolError(
                f"Could not find any open transactions starting at offset {given.start_offset} on partition "
                f"{given.topic}-{given.partition}"
            )
        spec = found
    else:
        for name in ("producer-epoch", "coordinator-epoch"):
            if not given.has(name):
                raise ToolError(f"Missing required argument --{name}")
        # A producer whose first transaction hangs has no coordinator epoch yet: use 0.
        spec = AbortSpec(
            topic_partition, given.producer_id, given.producer_epoch, max(given.coordinator_epoch, 0)
        )
    with _failing(f"abort transaction {spec}"):
        abort_transaction(cluster, spec)


def _find_hanging(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.transactions import find_hanging, partitions_to_search

    if not given.has("topic") and not given.has("broker-id"):
        raise ToolError(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of "
            "the search"
        )
    if given.has("partition") and not given.has("topic"):
        raise ToolError("The --partition argument requires --topic to be provided")
    if given.has("partition"):
        topic_partitions = [(given.topic, given.partition)]
    else:
        with _failing("describe topics"):
            topic_partitions = partitions_to_search(cluster, given.topic, broker=given.broker_id)
    with _failing("find hanging transactions"):
        hanging = find_hanging(
            cluster,
            topic_partitions,
            older_than_ms=given.max_transaction_timeout * _MINUTE_MS,
            broker=given.broker_id,
        )
    _print_hanging(hanging)


def _print_hanging(hanging: "Sequence[OpenTransaction]") -> None:
    headers = (
        "Topic",
        "Partition",
        "ProducerId",
        "ProducerEpoch",
        "CoordinatorEpoch",
        "StartOffset",
        "LastTimestamp",
        "Duration(min)",
    )
    rows = []
    for (topic, partition), producer in hanging:
        epoch = -1 if producer.coordinator_epoch is None else producer.coordinator_epoch
        minutes = (_now_ms() - producer.last_timestamp) // _MINUTE_MS
        start, last = producer.transaction_start, producer.last_timestamp
        rows.append((topic, partition, producer.id, producer.epoch, epoch, start, last, minutes))
    print_table(headers, rows)


def _force_terminate(cluster: "Cluster", given: Given) -> None:
    from barnabas.client.admin.transactions import terminate_transaction

    with _failing(f"force terminate transactionalId `{given.transactionalId}`"):
        terminate_transaction(cluster, given.transactionalId)


class _Command(NamedTuple):
    text: str
    run: Callable[["Cluster", Given], None]
    required: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


_COMMANDS = {
    "list": _Command("list transactions", _list, (), ("duration-filter", "transactional-id-pattern")),
    "describe": _Command("describe one by its transactional id", _describe, ("transactional-id",)),
    "describe-producers": _Command(
        "describe the producers of a partition", _describe_producers, ("topic", "partition"), ("broker-id",)
    ),
    "abort": _Command(
        "end a transaction that hangs in a partition",
        _abort,
        ("topic", "partition"),
        ("start-offset", "producer-id", "producer-epoch", "coordinator-epoch"),
    ),
    "find-hanging": _Command(
        "find hanging transactions",
        _find_hanging,
        (),
        ("broker-id", "max-transaction-timeout", "topic", "partition"),
    ),
    "forceTerminateTransaction": _Command(
        "abort the open transaction of a transactional id", _force_terminate, ("transactionalId",)
    ),
}
_FLAGS = sorted({flag for each in _COMMANDS.values() for flag in (*each.required, *each.others)})


# --- text --------------------------------------------------------------------------------------------


def print_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *texts, strict=True)]
    for row in (headers, *texts):
        print("".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)))


def _now_ms() -> int:
    return int(time.time() * 1000)
