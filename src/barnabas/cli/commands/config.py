"""`barnabas config`: settings of topics, brokers, groups, clients and users."""

from typing import TYPE_CHECKING

import click

from barnabas.cli.front import Names, completes, group_names, on_cluster, pairs, topic_names
from barnabas.cli.kafka_words import KafkaCommand, KafkaVerbs, Option, behind, itself, listed
from barnabas.cli.view import Column, Table, View

if TYPE_CHECKING:
    from barnabas.client.admin.entity_settings import Entity, Setting
    from barnabas.client.cluster import Cluster

_KINDS = ("topic", "broker", "group", "logger", "client-metrics", "client", "user", "ip")


def _complete_name(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    names: dict[str, Names] = {
        "topic": topic_names,
        "group": group_names,
        "broker": _brokers,
        "logger": _brokers,
    }
    kind = context.params.get("kind")
    return completes(names[kind])(context, parameter, incomplete) if kind in names else []


def _brokers(cluster: "Cluster") -> list[str]:
    return [str(node) for node in sorted(cluster.nodes)]


def _complete_key(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    def keys(cluster: "Cluster") -> list[str]:
        from barnabas.client.admin.entity_settings import Entity, keys_of

        return keys_of(cluster, Entity(context.params["kind"], context.params["name"]))

    return completes(keys)(context, parameter, incomplete)


_kind = click.argument("kind", type=click.Choice(_KINDS), metavar="KIND")
_name = click.argument("name", shell_complete=_complete_name)
_client = click.option("--client", metavar="ID", help="Of a user: only this client of theirs.")


_ALSO = {
    "ls": "list",
    "describe": "list",
    "show": "list",
    "alter": "set",
    "add": "set",
    "delete": "unset",
    "remove": "unset",
}


def _kind_of(entity_type: str) -> tuple[str, ...]:
    """Kafka's plural: `topics`, `broker-loggers`."""
    kind = entity_type.removeprefix("broker-")
    return (kind if kind == "client-metrics" else kind.removesuffix("s"),)


_ENTITY: dict[str, Option] = {
    "--entity-type": _kind_of,
    "--entity-name": itself,
    "--entity-default": ("default",),
    "--topic": behind("topic"),
    "--broker": behind("broker"),
    "--group": behind("group"),
    "--user": behind("user"),
    "--ip": behind("ip"),
}


class _ConfigVerbs(KafkaVerbs):
    """`alter` stands for two commands: `set`, or with --delete-config `unset`."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[:1] == ["alter"] and any(word.startswith("--delete-config") for word in args):
            args = ["unset", *args[1:]]
        return super().resolve_command(context, args)


@click.group(cls=_ConfigVerbs, also=_ALSO)
def config() -> None:
    """Settings of topics, brokers, groups, clients and users.

    KIND is topic, broker, group, logger (of a broker), client-metrics, client, user or ip. The NAME of a
    broker, client, user or ip may be `default`.
    """


@config.command("list", cls=KafkaCommand, arguments=_ENTITY)
@_kind
@click.argument("name", required=False, shell_complete=_complete_name)
@_client
@click.option("--all", "everything", is_flag=True, help="Also what is not set for it, such as defaults.")
@on_cluster
def list_(
    cluster: "Cluster", view: View, kind: str, name: str | None, client: str | None, everything: bool
) -> None:
    """Show the settings of NAME, or of all entities of that kind."""
    from barnabas.client.admin.entity_settings import settings_of

    entity = _entity(kind, name, client)
    found = settings_of(cluster, entity, everything=everything)
    if not found and not view.as_json:
        view.note(f"Nothing is set for {entity}." if name else f"Nothing is set for any {kind}.")
        return
    view.table(_table(found, kind, with_entity=name is None))


@config.command(cls=KafkaCommand, arguments=_ENTITY)
@_kind
@_name
@click.argument("keys", nargs=-1, required=True, metavar="KEY...", shell_complete=_complete_key)
@_client
@on_cluster
def get(
    cluster: "Cluster", view: View, kind: str, name: str, keys: tuple[str, ...], client: str | None
) -> None:
    """Show named settings of NAME, defaults included. A single value is printed alone."""
    from barnabas.client.admin.entity_settings import settings_of

    entity = _entity(kind, name, client)
    found = {each.name: each for each in settings_of(cluster, entity, everything=True)}
    for key in keys:
        if key not in found:
            raise click.ClickException(f"{entity} has no {key}")
    if len(keys) == 1 and not view.as_json:
        value = found[keys[0]].value
        print("" if value is None else value)
    else:
        view.table(_table([found[key] for key in keys], kind, with_entity=False))


@config.command("set", cls=KafkaCommand, arguments={**_ENTITY, "--add-config": listed})
@_kind
@_name
@click.argument(
    "settings",
    nargs=-1,
    required=True,
    metavar="KEY=VALUE...",
    callback=pairs,
    shell_complete=_complete_key,
)
@_client
@on_cluster
def set_(
    cluster: "Cluster", view: View, kind: str, name: str, settings: dict[str, str], client: str | None
) -> None:
    """Set KEY=VALUE for NAME, several at once.

    A user's password: SCRAM-SHA-512=iterations=8192,password=SECRET, the iterations optional.
    """
    from barnabas.client.admin.entity_settings import change

    entity = _entity(kind, name, client)
    change(cluster, entity, add=settings, delete=[])
    view.done(f"Set {', '.join(settings)} for {entity}.", kind=kind, name=name, set=list(settings))


@config.command(cls=KafkaCommand, arguments={**_ENTITY, "--delete-config": listed})
@_kind
@_name
@click.argument("keys", nargs=-1, required=True, metavar="KEY...", shell_complete=_complete_key)
@_client
@on_cluster
def unset(
    cluster: "Cluster", view: View, kind: str, name: str, keys: tuple[str, ...], client: str | None
) -> None:
    """Remove the setting KEY of NAME."""
    from barnabas.client.admin.entity_settings import change

    entity = _entity(kind, name, client)
    change(cluster, entity, add={}, delete=keys)
    view.done(f"Unset {', '.join(keys)} for {entity}.", kind=kind, name=name, unset=list(keys))


def _entity(kind: str, name: str | None, client: str | None) -> "Entity":
    from barnabas.client.admin.entity_settings import Entity

    if client is not None and kind != "user":
        raise click.UsageError("--client is for users: name a client as 'client ID'")
    return Entity(kind, name, client)


def _table(settings: "list[Setting]", kind: str, *, with_entity: bool) -> Table:
    columns = [
        Column(kind.upper(), "entity", style="bold"),
        Column("NAME", "name", style="" if with_entity else "bold"),
        Column("VALUE", "value", style="cyan"),
        Column("SOURCE", "source"),
    ]
    first = 0 if with_entity else 1
    rows = [(each.entity, each.name, each.value, each.source)[first:] for each in settings]
    return Table(columns[first:], rows, colours=lambda row: "dim" if row[-1] == "default" else "")
