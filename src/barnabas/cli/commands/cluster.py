"""`barnabas cluster`: brokers, features, API versions and log directories of a cluster.

The commands for a cluster on this machine (`up`, `down`, `kill` ...) are in `commands.local_cluster`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from barnabas.cli.byte_size import shown_bytes
from barnabas.cli.commands import local_cluster
from barnabas.cli.front import on_cluster
from barnabas.cli.kafka_words import KafkaVerbs
from barnabas.cli.view import Column, Table, View

if TYPE_CHECKING:
    from barnabas.client.admin.api_versions import ServedApi
    from barnabas.client.admin.log_dirs import LogDir
    from barnabas.client.cluster import Cluster

    LogDirs = dict[int, tuple[LogDir, ...]]

_BROKER = Column("BROKER", "broker", is_number=True, style="bold")
_DIRECTORY = Column("DIRECTORY", "directory")
_SIZE = Column("SIZE", "size", is_number=True)
_BROKERS = (
    _BROKER,
    Column("HOST", "host"),
    Column("PORT", "port", is_number=True),
    Column("RACK", "rack"),
    Column("CONTROLLER", "controller"),
    Column("APIS", "apis", is_number=True),
    Column("METADATA", "metadata_version"),
)
_APIS = (
    Column("KEY", "key", is_number=True),
    Column("API", "api", style="bold"),
    Column("LOWEST", "lowest", is_number=True),
    Column("HIGHEST", "highest", is_number=True),
    Column("USABLE", "usable", is_number=True),
    Column("BROKERS", "brokers"),
)


_ALSO = {
    "describe": "info",
    "list": "info",
    "ls": "info",
    "show": "info",
    "cluster-id": "info",
    "api-versions": "apis",
    "log-dirs": "disks",
}


@click.group(cls=KafkaVerbs, also=_ALSO)
def cluster() -> None:
    """Brokers, features, API versions, disks; a cluster on this machine."""


for _command in local_cluster.COMMANDS:
    cluster.add_command(_command)


@cluster.command()
@on_cluster
def info(cluster: "Cluster", view: View) -> int:
    """Show the brokers, and which one is the controller.

    METADATA is the release whose metadata.version a broker has finalized; a cluster may have none.
    """
    from barnabas.client.admin.api_versions import describe_apis
    from barnabas.client.admin.cluster import describe_cluster

    described = describe_cluster(cluster)
    apis = {node.id: found for node, found in describe_apis(cluster).items()}
    rows = []
    for each in described.endpoints:
        found = apis.get(each.id)
        served = _count(found) if isinstance(found, tuple) else None
        release = _release(cluster, each.id) if isinstance(found, tuple) else None
        is_controller = each.id == described.controller_id
        rows.append((each.id, each.host, each.port, each.rack, is_controller, served, release))
    table = Table(_BROKERS, rows)
    if view.as_json:
        summary = {"cluster_id": described.cluster_id, "controller": described.controller_id}
        view.value({**summary, "brokers": table.values()})
    else:
        view.heading(f"Cluster {described.cluster_id or '(without an id)'}")
        view.table(table)
    return _print_errors(view, apis)


@cluster.command()
@click.option("--broker", type=int, help="The broker that answers; any broker by default.")
@on_cluster
def features(cluster: "Cluster", view: View, broker: int | None) -> None:
    """Show the features a broker supports, and the levels the cluster has finalized."""
    from barnabas.client.admin.feature_levels import shown_level
    from barnabas.client.admin.features import describe_features

    found = describe_features(cluster, broker)
    columns = [
        Column("FEATURE", "feature", style="bold"),
        Column("LOWEST", "lowest", is_number=True),
        Column("HIGHEST", "highest", is_number=True),
        Column("FINALIZED", "finalized", is_number=True),
    ]
    rows = []
    for each in found.features:
        levels: list[object] = [each.lowest, each.highest, each.finalized]
        if not view.as_json:
            levels = [shown_level(each.name, level) for level in (each.lowest, each.highest, each.finalized)]
        rows.append((each.name, *levels))
    view.table(Table(columns, rows, footer="" if found.epoch is None else f"epoch {found.epoch}"))


@cluster.command()
@click.option("--all", "show_all", is_flag=True, help="Also the APIs that are not served.")
@on_cluster
def apis(cluster: "Cluster", view: View, show_all: bool) -> int:
    """Show which APIs the brokers serve, in which versions.

    USABLE is the newest version that this client supports as well. Brokers that differ have separate rows.
    """
    from barnabas.client.admin.api_versions import describe_apis

    described = {node.id: found for node, found in describe_apis(cluster).items()}
    brokers: dict[ServedApi, list[int]] = {}
    for number, found in described.items():
        for api in found if isinstance(found, tuple) else ():
            brokers.setdefault(api, []).append(number)
    rows = [
        (api.key, api.name, *(api.served or (None, None)), api.usable, ids)
        for api, ids in sorted(brokers.items(), key=lambda item: (item[0].key, item[1]))
        if show_all or api.served is not None
    ]
    view.table(Table(_APIS, rows, colours=lambda row: "dim" if row[2] is None else ""))
    return _print_errors(view, described)


@cluster.command()
@click.option(
    "--top", default=10, show_default=True, type=click.IntRange(0), help="Largest partitions shown."
)
@click.option(
    "--topic", "--topic-list", "topics", multiple=True, help="Only partitions of this topic; repeatable."
)
@on_cluster
def disks(cluster: "Cluster", view: View, top: int, topics: tuple[str, ...]) -> int:
    """Show the log directories of all brokers, and their largest partitions."""
    from barnabas.client.admin.log_dirs import describe_log_dirs

    found = describe_log_dirs(cluster, sorted(cluster.nodes))
    directories, largest = _directories(view, found), _largest(view, found, top, frozenset(topics))
    if view.as_json:
        view.value({"directories": directories.values(), "partitions": largest.values()})
    else:
        view.table(directories)
        if largest.rows:
            print()
            view.table(largest)
    errors = [each for dirs in found.values() for each in dirs if each.error is not None]
    for each in errors:
        view.note(f"barnabas: {each.path}: {each.error}")
    return 1 if errors else 0


# --- what is shown -----------------------------------------------------------------------------------


def _count(apis: "tuple[ServedApi, ...]") -> int:
    return sum(each.served is not None for each in apis)


def _release(cluster: "Cluster", broker: int) -> str | None:
    from barnabas.client.admin.feature_levels import METADATA_VERSION, shown_level
    from barnabas.client.admin.features import describe_features

    for each in describe_features(cluster, broker).features:
        if each.name == METADATA_VERSION:
            return shown_level(each.name, each.finalized)
    return None


def _directories(view: View, found: "LogDirs") -> Table:
    columns = [
        _BROKER,
        _DIRECTORY,
        Column("PARTITIONS", "partitions", is_number=True),
        _SIZE,
        Column("FREE", "usable_bytes", is_number=True),
        Column("VOLUME", "total_bytes", is_number=True),
        Column("STATE", "error"),
    ]
    rows = []
    for broker, directories in found.items():
        for each in directories:
            sizes = (_bytes(view, size) for size in (each.size, each.usable_bytes, each.total_bytes))
            error = None if each.error is None else each.error.name
            state = error if view.as_json else error or "online"
            rows.append((broker, each.path, len(each.partitions), *sizes, state))
    return Table(columns, rows, colours=lambda row: "red" if row[-1] not in (None, "online") else "")


def _largest(view: View, found: "LogDirs", top: int, topics: frozenset[str]) -> Table:
    columns = [
        Column("TOPIC", "topic", style="bold"),
        Column("PARTITION", "partition", is_number=True),
        _BROKER,
        _SIZE,
        Column("LAG", "offset_lag", is_number=True),
        _DIRECTORY,
    ]
    partitions = [
        (broker, directory.path, each)
        for broker, directories in found.items()
        for directory in directories
        for each in directory.partitions
        if not topics or each.topic in topics
    ]
    partitions.sort(key=lambda entry: (-entry[2].size, entry[2], entry[0]))
    rows = [
        (each.topic, each.partition, broker, _bytes(view, each.size), each.offset_lag, path)
        for broker, path, each in partitions[:top]
    ]
    return Table(columns, rows)


def _bytes(view: View, count: int | None) -> object:
    return count if count is None or view.as_json else shown_bytes(count)


def _print_errors(view: View, results: "Mapping[int, object]") -> int:
    """Prints the errors of brokers that did not answer on stderr. Returns the exit status."""
    errors = {broker: each for broker, each in results.items() if isinstance(each, Exception)}
    for broker, error in errors.items():
        view.note(f"barnabas: broker {broker}: {error}")
    return 1 if errors else 0
