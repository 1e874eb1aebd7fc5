"""`barnabas topic`: lists, describes, creates, alters and deletes topics."""

from typing import TYPE_CHECKING

import click

from barnabas.cli.front import completes, confirm, on_cluster, pairs, topic_names, yes_option
from barnabas.cli.kafka_words import TOPIC, KafkaCommand, KafkaVerbs
from barnabas.cli.view import Column, Table, View

if TYPE_CHECKING:
    from barnabas.client.admin.offsets import ListedOffset
    from barnabas.client.admin.topics import TopicDescription
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import BrokerError

    Offsets = dict[tuple[str, int], ListedOffset | BrokerError]

_NAME = click.argument("name", shell_complete=completes(topic_names))
_NAMES = click.argument(
    "names", nargs=-1, required=True, metavar="NAME...", shell_complete=completes(topic_names)
)


_ALSO = {"ls": "list", "show": "describe", "add": "create", "rm": "delete", "remove": "delete"}


@click.group(cls=KafkaVerbs, also=_ALSO)
def topic() -> None:
    """List, describe, create, alter, delete topics."""


@topic.command("list")
@click.option("--internal", is_flag=True, help="Also the cluster's own topics.")
@on_cluster
def list_(cluster: "Cluster", view: View, internal: bool) -> None:
    """List topics."""
    from barnabas.client.admin.topics import list_topics

    columns = [
        Column("NAME", "name", style="bold"),
        Column("PARTITIONS", "partitions", is_number=True),
        Column("REPLICAS", "replicas", is_number=True),
        Column("INTERNAL", "internal"),
    ]
    rows = [
        (each.name, each.partitions, each.replicas, each.is_internal)
        for each in list_topics(cluster)
        if internal or not each.is_internal
    ]
    footer = f"{len(rows)} topic{'' if len(rows) == 1 else 's'}"
    view.table(Table(columns, rows, footer=footer, colours=lambda row: "dim" if row[3] else ""))


@topic.command(cls=KafkaCommand, arguments=TOPIC)
@_NAMES
@on_cluster
def describe(cluster: "Cluster", view: View, names: tuple[str, ...]) -> None:
    """Show partitions, offsets and settings of topics."""
    from barnabas.client.admin.offsets import EARLIEST, LATEST, list_offsets
    from barnabas.client.admin.topics import describe_topics

    topics = describe_topics(cluster, names)
    topic_partitions = [
        (each.name, partition.index)
        for each in topics
        for partition in each.partitions
        if partition.leader is not None
    ]
    starts = list_offsets(cluster, dict.fromkeys(topic_partitions, EARLIEST))
    ends = list_offsets(cluster, dict.fromkeys(topic_partitions, LATEST))
    if view.as_json:
        view.value([_value(each, _partitions(each, starts, ends)) for each in topics])
        return
    for each in topics:
        view.heading(_heading(each))
        view.table(_partitions(each, starts, ends))
        if each.overrides:
            view.table(_settings(each))


@topic.command(cls=KafkaCommand, arguments=TOPIC)
@click.argument("name")
@click.option(
    "-p", "--partitions", type=click.IntRange(min=1), help="How many; the cluster's default otherwise."
)
@click.option(
    "-r",
    "--replicas",
    "--replication-factor",
    type=click.IntRange(1, 32767),
    help="How many; the cluster's default otherwise.",
)
@click.option(
    "-c",
    "--config",
    "configs",
    metavar="KEY=VALUE",
    multiple=True,
    callback=pairs,
    help="A setting (repeatable).",
)
@click.option("--if-not-exists", is_flag=True, help="An existing topic is not an error.")
@on_cluster
def create(
    cluster: "Cluster",
    view: View,
    name: str,
    partitions: int | None,
    replicas: int | None,
    configs: dict[str, str],
    if_not_exists: bool,
) -> None:
    """Create a topic."""
    from kio.schema.errors import ErrorCode

    from barnabas.client.admin.topics import DEFAULT, create_topic
    from barnabas.client.errors import BrokerError

    try:
        create_topic(
            cluster,
            name,
            partitions=partitions or DEFAULT,
            replicas=replicas or DEFAULT,
            configs=configs,
        )
    except BrokerError as error:
        if error.code != ErrorCode.topic_already_exists or not if_not_exists:
            raise
        view.done(f"Topic {name} exists already.", topic=name, created=False)
        return
    view.done(f"Created topic {name}.", topic=name, created=True)


@topic.command(cls=KafkaCommand, arguments=TOPIC)
@_NAME
@click.option(
    "-p", "--partitions", type=click.IntRange(min=1), help="Grow to so many. Keys move to other partitions."
)
@click.option(
    "-c",
    "--config",
    "configs",
    metavar="KEY=VALUE",
    multiple=True,
    callback=pairs,
    help="Make a setting (repeatable).",
)
@click.option("-d", "--delete-config", "deleted", multiple=True, metavar="KEY", help="Take a setting back.")
@on_cluster
def alter(
    cluster: "Cluster",
    view: View,
    name: str,
    partitions: int | None,
    configs: dict[str, str],
    deleted: tuple[str, ...],
) -> None:
    """Add partitions, change settings."""
    from barnabas.client.admin.configs import DELETE, TOPIC, Change, Resource, alter_configs
    from barnabas.client.admin.topics import Growth, add_partitions

    changes = [*(Change(*pair) for pair in configs.items()), *(Change(key, None, DELETE) for key in deleted)]
    if partitions is None and not changes:
        raise click.UsageError("Nothing to change: use --partitions, --config or --delete-config")
    from barnabas.cli.tool_errors import ToolError
    from barnabas.client.errors import BrokerError

    try:
        if changes:
            alter_configs(cluster, {Resource(TOPIC, name): changes})
        if partitions is not None:
            add_partitions(cluster, {name: Growth(partitions)})
    except BrokerError as error:
        raise ToolError(_reason(name, error)) from error
    view.done(f"Changed topic {name}.", topic=name, changed=True)


@topic.command(cls=KafkaCommand, arguments=TOPIC)
@_NAMES
@yes_option
@on_cluster
def delete(cluster: "Cluster", view: View, names: tuple[str, ...], yes: bool) -> int:
    """Delete topics and all their records."""
    from barnabas.client.admin.topics import delete_topics

    listed = ", ".join(names)
    confirm(f"Delete {listed} and all records?", yes=yes)
    failed = {name: _reason(name, error) for name, error in delete_topics(cluster, names).items()}
    done = [name for name in names if name not in failed]
    if done or view.as_json:
        view.done(f"Deleted {', '.join(done)}.", deleted=done, errors=failed)
    for reason in failed.values():
        view.note(f"barnabas: {reason}")
    return 1 if failed else 0


def _reason(name: str, error: "BrokerError") -> str:
    """The error with the name of the topic, which the protocol's own message lacks."""
    from kio.schema.errors import ErrorCode

    if error.code == ErrorCode.unknown_topic_or_partition:
        return f"Topic '{name}' does not exist"
    return f"{name}: {error}"


# --- what is shown -----------------------------------------------------------------------------------


def _heading(topic: "TopicDescription") -> str:
    from barnabas.base.ids import encode_uuid

    count = len(topic.partitions)
    parts = [
        topic.name,
        f"{count} partition{'' if count == 1 else 's'}",
        f"{topic.replication_factor} replica{'' if topic.replication_factor == 1 else 's'}",
    ]
    if topic.id is not None:
        parts.append(f"id {encode_uuid(topic.id)}")
    return "  ".join(parts)


def _partitions(topic: "TopicDescription", starts: "Offsets", ends: "Offsets") -> Table:
    columns = [
        Column("PARTITION", "partition", is_number=True),
        Column("LEADER", "leader", is_number=True),
        Column("REPLICAS", "replicas"),
        Column("ISR", "isr"),
        Column("START", "start_offset", is_number=True),
        Column("END", "end_offset", is_number=True),
    ]
    rows = [
        (
            each.index,
            each.leader,
            each.replicas,
            each.isr,
            _offset(starts, (topic.name, each.index)),
            _offset(ends, (topic.name, each.index)),
        )
        for each in topic.partitions
    ]
    sick = {each.index for each in topic.partitions if each.leader is None}
    weak = {each.index for each in topic.partitions if each.is_under_replicated}
    return Table(
        columns, rows, colours=lambda row: "red" if row[0] in sick else "yellow" if row[0] in weak else ""
    )


def _offset(offsets: "Offsets", topic_partition: tuple[str, int]) -> int | None:
    found = offsets.get(topic_partition)
    return getattr(found, "offset", None)


def _settings(topic: "TopicDescription") -> Table:
    columns = [Column("SETTING", "name", style="cyan"), Column("VALUE", "value"), Column("FROM", "source")]
    rows = [(each.name, each.value, each.source.lower().replace("_", " ")) for each in topic.overrides]
    return Table(columns, rows)


def _value(topic: "TopicDescription", partitions: Table) -> dict[str, object]:
    from barnabas.base.ids import encode_uuid

    return {
        "name": topic.name,
        "id": None if topic.id is None else encode_uuid(topic.id),
        "internal": topic.is_internal,
        "replicas": topic.replication_factor,
        "partitions": partitions.values(),
        "settings": {each.name: each.value for each in topic.overrides},
    }
