"""`barnabas consume`: reads the records of topics to their end, or follows them."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from barnabas.cli.bootstrap import open_cluster
from barnabas.cli.front import bootstrap_options, completes, json_option, topic_names
from barnabas.cli.kafka_words import TOPIC, KafkaCommand, Option

if TYPE_CHECKING:
    from confluent_kafka import Message

    from barnabas.cli.messages.interruption import Stop
    from barnabas.cli.messages.reading_plan import Stretch
    from barnabas.cli.messages.start_point import StartPoint

Shown = Callable[["Message"], bytes]


_OFFSETS = {"earliest": "beginning", "latest": "end"}
_STARTS: dict[str, Option] = {
    "--from-beginning": ("--from", "beginning"),
    "--offset": lambda value: ("--from", _OFFSETS.get(value, value)),
}


@click.command(cls=KafkaCommand, arguments=TOPIC, options=_STARTS)
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...", shell_complete=completes(topic_names))
@click.option("-f", "--follow", is_flag=True, help="Wait for new records until Ctrl-C.")
@click.option(
    "--from",
    "start",
    metavar="WHERE",
    help="beginning, end, an offset, a time (2024-05-01T10:00) or a while ago (-1h). "
    "Without it: beginning, or end with --follow.",
)
@click.option(
    "-p", "--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="Only these."
)
@click.option("-g", "--group", help="Read as a member of this group, and commit.")
@click.option(
    "-n", "--max", "--max-messages", "limit", type=click.IntRange(min=1), help="End after so many records."
)
@click.option("--grep", metavar="REGEX", help="Only records with this in their key or value.")
@click.option(
    "--format",
    "template",
    metavar="TEXT",
    help="One line a record, with {topic} {partition} {offset} {timestamp} {time} {key} {value} {headers}.",
)
@bootstrap_options
@json_option
def consume(
    topics: tuple[str, ...],
    follow: bool,
    start: str | None,
    partitions: tuple[int, ...],
    group: str | None,
    limit: int | None,
    grep: str | None,
    template: str | None,
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
) -> int:
    """Read the records of topics: up to the current end, or with --follow also new ones.

    A terminal shows time, partition, offset, key, value and headers. A pipe gets one value per line unless
    --format or --json is set.
    """
    from barnabas.cli.messages.interruption import noticed
    from barnabas.cli.messages.record_view import record_filter, shower
    from barnabas.client.settings import read_properties

    if group is not None and partitions:
        raise click.UsageError("--group and --partition cannot be used together")
    show = shower(as_json=as_json, template=template, is_terminal=sys.stdout.isatty())
    wanted = record_filter(grep)
    point = _start(start, follow)
    properties = {
        "client.id": "barnabas-consume",
        **(read_properties(command_config) if command_config else {}),
        "bootstrap.servers": bootstrap_server,
    }
    with noticed() as stop:
        if group is None:
            plan = _plan(bootstrap_server, command_config, topics, partitions, point)
            batches = _planned(properties, plan, stop, follow=follow)
        else:
            _check(bootstrap_server, command_config, topics)
            batches = _as_member(properties, group, topics, point, stop, follow=follow, limit=limit)
        _print(batches, wanted, show, limit, stop)
    return 0 if follow else stop.code


def _start(text: str | None, follow: bool) -> "StartPoint":
    from barnabas.cli.messages.start_point import BadStart, StartPoint, parse_start

    if text is None:
        return StartPoint(is_end=follow)
    try:
        return parse_start(text, int(time.time() * 1000))
    except BadStart as error:
        raise click.UsageError(f"--from: {error}") from None


def _plan(
    server: str, config: str | None, topics: Sequence[str], partitions: Sequence[int], start: "StartPoint"
) -> "list[Stretch]":
    from barnabas.cli.messages.reading_plan import plan_reading

    with open_cluster(server, config) as cluster:
        return plan_reading(cluster, topics, partitions, start)


def _check(server: str, config: str | None, topics: Sequence[str]) -> None:
    from barnabas.cli.messages.reading_plan import check_topics

    with open_cluster(server, config) as cluster:
        check_topics(cluster, topics)


def _planned(
    properties: dict[str, str], plan: "list[Stretch]", stop: "Stop", *, follow: bool
) -> "Iterator[list[Message]]":
    from barnabas.cli.messages.planned_reading import read_plan

    return read_plan(properties, plan, stop, follow=follow)


def _as_member(
    properties: dict[str, str],
    group: str,
    topics: Sequence[str],
    start: "StartPoint",
    stop: "Stop",
    *,
    follow: bool,
    limit: int | None,
) -> "Iterator[list[Message]]":
    from barnabas.cli.messages.planned_reading import read_as_member

    if start.offset is not None or start.timestamp_ms is not None:
        raise click.UsageError("--from with --group must be beginning or end: the group has its own offsets")
    reset = {"auto.offset.reset": "latest" if start.is_end else "earliest", "group.id": group}
    return read_as_member({**properties, **reset}, topics, stop, follow=follow, limit=limit)


def _print(
    batches: "Iterator[list[Message]]",
    wanted: Callable[["Message"], bool],
    show: Shown,
    limit: int | None,
    stop: "Stop",
) -> None:
    from barnabas.cli.messages.consuming import ConsumingFailed
    from barnabas.cli.tool_errors import ToolError

    count = 0
    out = sys.stdout.buffer
    try:
        for batch in batches:
            records = [record for record in batch if wanted(record)]
            if limit is not None:
                records = records[: limit - count]
            count += len(records)
            out.write(b"".join([show(record) for record in records]))
            out.flush()
            if limit is not None and count >= limit:
                break
    except ConsumingFailed as error:
        raise ToolError(str(error)) from None
    finally:
        batches.close()  # type: ignore[attr-defined]
    if sys.stdout.isatty():
        print(f"{count} record{'' if count == 1 else 's'}", file=sys.stderr)
