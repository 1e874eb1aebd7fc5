"""`barnabas transaction`: lists, describes, finds and aborts transactions."""

import datetime as dt
import time
from typing import TYPE_CHECKING

import click

from barnabas.cli.front import completes, confirm, on_cluster, topic_names, yes_option
from barnabas.cli.kafka_words import KafkaCommand, KafkaVerbs, Option, behind, itself
from barnabas.cli.view import Column, Table, View

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

_ID = Column("TRANSACTIONAL ID", "transactional_id", style="bold")
_PRODUCER = Column("PRODUCER", "producer_id", is_number=True)
_EPOCH = Column("EPOCH", "producer_epoch", is_number=True)
_COORDINATOR = Column("COORDINATOR", "coordinator", is_number=True)
_STATE = Column("STATE", "state")
_START = Column("STARTED AT", "start_offset", is_number=True)
_LAST = Column("LAST RECORD", "last_timestamp")


def _transactional_ids(cluster: "Cluster") -> list[str]:
    from barnabas.client.admin.transactions import list_transactions

    return sorted(each.id for each in list_transactions(cluster))


def _states(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """In Kafka's spelling, however they were written."""
    if not values:
        return ()
    from barnabas.client.admin.transactions import STATES

    known = {state.lower(): state for state in STATES}
    for value in values:
        if value.lower() not in known:
            raise click.BadParameter(f"{value!r} is not one of {', '.join(STATES)}", context, parameter)
    return tuple(known[value.lower()] for value in values)


_TOPIC = click.argument("topic", shell_complete=completes(topic_names))


_ALSO = {
    "ls": "list",
    "show": "describe",
    "describe-producers": "producers",
    "find-hanging": "hanging",
}
_PARTITION: dict[str, Option] = {"--topic": itself, "--partition": itself}


@click.group(cls=KafkaVerbs, also=_ALSO)
def transaction() -> None:
    """Transactions and producers, also the hanging ones."""


@transaction.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="STATE",
    callback=_states,
    help="Only those in this state, as in Ongoing (repeatable).",
)
@click.option("--longer-than", type=float, metavar="SECONDS", help="Only those that run longer.")
@click.option(
    "--id-pattern",
    "--transactional-id-pattern",
    metavar="REGEX",
    help="Only those whose id this expression matches.",
)
@on_cluster
def list_(
    cluster: "Cluster",
    view: View,
    states: tuple[str, ...],
    longer_than: float | None,
    id_pattern: str | None,
) -> None:
    """List transactions."""
    from barnabas.client.admin.transactions import list_transactions

    found = list_transactions(
        cluster,
        states=states,
        longer_than_ms=None if longer_than is None else int(longer_than * 1000),
        id_pattern=id_pattern,
    )
    rows = [(each.id, each.state, each.producer_id, each.coordinator) for each in sorted(found)]
    view.table(
        Table(
            [_ID, _STATE, _PRODUCER, _COORDINATOR],
            rows,
            footer=f"{len(rows)} transaction{'' if len(rows) == 1 else 's'}",
            colours=lambda row: "" if row[1] == "Ongoing" else "dim",
        )
    )


@transaction.command(cls=KafkaCommand, arguments={"--transactional-id": itself})
@click.argument(
    "ids",
    nargs=-1,
    required=True,
    metavar="TRANSACTIONAL-ID...",
    shell_complete=completes(_transactional_ids),
)
@on_cluster
def describe(cluster: "Cluster", view: View, ids: tuple[str, ...]) -> None:
    """Show the state of transactional ids, and the partitions of their open transactions."""
    from barnabas.client.admin.transactions import describe_transaction

    rows = []
    for each in (describe_transaction(cluster, id_) for id_ in ids):
        is_open = each.start_ms is not None and not each.state.startswith("Complete")
        open_for = _span(time.time() * 1000 - (each.start_ms or 0), view) if is_open else None
        partitions = [f"{topic}-{index}" for topic, index in each.partitions]
        rows.append(
            (
                each.id,
                each.state,
                each.producer_id,
                each.producer_epoch,
                each.coordinator,
                _span(each.timeout_ms, view),
                open_for,
                partitions,
            )
        )
    more = [
        Column("TIMEOUT", "timeout_ms"),
        Column("OPEN FOR", "open_ms"),
        Column("PARTITIONS", "partitions"),
    ]
    view.table(Table([_ID, _STATE, _PRODUCER, _EPOCH, _COORDINATOR, *more], rows))


@transaction.command(cls=KafkaCommand, arguments=_PARTITION)
@_TOPIC
@click.argument("partition", type=click.IntRange(min=0))
@click.option(
    "--broker",
    "--broker-id",
    type=int,
    metavar="ID",
    help="Send the request to this replica, not to the leader.",
)
@on_cluster
def producers(cluster: "Cluster", view: View, topic: str, partition: int, broker: int | None) -> None:
    """Show the producers of a partition and their open transactions."""
    from barnabas.client.admin.producers import describe_producers

    found = describe_producers(cluster, [(topic, partition)], broker=broker)[topic, partition]
    rows = [
        (
            each.id,
            each.epoch,
            each.last_sequence,
            _time(each.last_timestamp),
            each.coordinator_epoch,
            each.transaction_start,
        )
        for each in found
    ]
    sequence = Column("LAST SEQUENCE", "last_sequence", is_number=True)
    coordinator = Column("COORDINATOR EPOCH", "coordinator_epoch", is_number=True)
    open_at = Column("OPEN TRANSACTION AT", "transaction_start_offset", is_number=True)
    columns = [_PRODUCER, _EPOCH, sequence, _LAST, coordinator, open_at]
    view.table(Table(columns, rows, colours=lambda row: "yellow" if row[5] is not None else ""))


@transaction.command(cls=KafkaCommand, arguments={"--topic": itself})
@click.argument("topic", required=False, shell_complete=completes(topic_names))
@click.option("--broker", "--broker-id", type=int, metavar="ID", help="Only partitions that this broker has.")
@click.option(
    "--older-than",
    "--max-transaction-timeout",
    type=float,
    default=15.0,
    show_default=True,
    metavar="MINUTES",
    help="Only older ones.",
)
@on_cluster
def hanging(cluster: "Cluster", view: View, topic: str | None, broker: int | None, older_than: float) -> None:
    """Find hanging transactions, which block consumers with isolation level read_committed.

    Searches TOPIC, or all topics. --older-than must exceed the longest transaction timeout of the producers.
    """
    from barnabas.client.admin.transactions import find_hanging, partitions_to_search

    topic_partitions = partitions_to_search(cluster, topic, broker=broker)
    found = find_hanging(cluster, topic_partitions, older_than_ms=int(older_than * 60_000), broker=broker)
    rows = [
        (
            *each.topic_partition,
            each.producer.id,
            each.producer.epoch,
            each.producer.transaction_start,
            _time(each.producer.last_timestamp),
        )
        for each in found
    ]
    if not rows and not view.as_json:
        count = len(topic_partitions)
        view.note(f"No transaction hangs in {count} partition{'' if count == 1 else 's'}")
        return
    partition_columns = [
        Column("TOPIC", "topic", style="bold"),
        Column("PARTITION", "partition", is_number=True),
    ]
    footer = "End one: barnabas transaction abort TOPIC PARTITION --start-offset N"
    view.table(Table([*partition_columns, _PRODUCER, _EPOCH, _START, _LAST], rows, footer=footer))


@transaction.command(cls=KafkaCommand, arguments=_PARTITION, options={"--transactional-id": behind("--id")})
@click.argument("topic", required=False, shell_complete=completes(topic_names))
@click.argument("partition", type=click.IntRange(min=0), required=False)
@click.option("--start-offset", type=int, metavar="N", help="Where it begins in the partition.")
@click.option("--id", "id_", metavar="TRANSACTIONAL-ID", help="Abort through its coordinator instead.")
@yes_option
@on_cluster
def abort(
    cluster: "Cluster",
    view: View,
    topic: str | None,
    partition: int | None,
    start_offset: int | None,
    id_: str | None,
    yes: bool,
) -> None:
    """Abort a hanging transaction of a partition, or the open one of a transactional id.

    The producer of a transactional id is fenced and must initialise again.
    """
    from barnabas.client.admin.transactions import abort_transaction, find_abort_spec, terminate_transaction

    if id_ is not None:
        if topic is not None or start_offset is not None:
            raise click.UsageError("Give either --id, or TOPIC PARTITION --start-offset N")
        confirm(f"Abort the open transaction of {id_}?", yes=yes)
        terminate_transaction(cluster, id_)
        view.done(f"Aborted the transaction of {id_}", transactional_id=id_)
        return
    if topic is None or partition is None or start_offset is None:
        raise click.UsageError("Give TOPIC PARTITION --start-offset N, or --id")
    spec = find_abort_spec(cluster, (topic, partition), start_offset)
    if spec is None:
        raise click.ClickException(
            f"No open transaction begins at offset {start_offset} of {topic}-{partition}"
        )
    confirm(f"Abort the transaction of producer {spec.producer_id} in {topic}-{partition}?", yes=yes)
    abort_transaction(cluster, spec)
    view.done(
        f"Aborted the transaction of producer {spec.producer_id} in {topic}-{partition}",
        topic=topic,
        partition=partition,
        producer_id=spec.producer_id,
    )


def _span(milliseconds: float, view: View) -> str | int:
    """Hours, minutes and seconds as text; milliseconds in JSON."""
    if view.as_json:
        return int(milliseconds)
    return str(dt.timedelta(seconds=int(milliseconds // 1000)))


def _time(milliseconds: int) -> str | None:
    if milliseconds < 0:
        return None
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat(timespec="milliseconds")
