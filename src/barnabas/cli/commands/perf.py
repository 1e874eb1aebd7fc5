"""`barnabas perf`: how fast a producer or a consumer is, here and now."""

from typing import TYPE_CHECKING

import click

from barnabas.cli.front import bootstrap_options, completes, json_option, topic_names
from barnabas.cli.view import Column, Table, View

if TYPE_CHECKING:
    from barnabas.cli.perf.consuming import Reading
    from barnabas.cli.perf.latencies import Total

_TOPIC = click.argument("topic", shell_complete=completes(topic_names))
_PROPERTY = click.option(
    "-X", "--property", "pairs", multiple=True, metavar="KEY=VALUE", help="Of the client."
)


@click.group()
def perf() -> None:
    """Measure a producer or a consumer."""


@perf.command()
@_TOPIC
@click.option("-n", "--records", default=100_000, show_default=True, type=click.IntRange(1))
@click.option(
    "-s", "--size", default=100, show_default=True, type=click.IntRange(1), help="Bytes of a record."
)
@click.option("--rate", default=-1.0, help="Records a second at most.")
@_PROPERTY
@bootstrap_options
@json_option
def produce(
    topic: str,
    records: int,
    size: int,
    rate: float,
    pairs: tuple[str, ...],
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
) -> None:
    """Send random records to TOPIC, and measure their acknowledgement."""
    from barnabas.cli.messages.librdkafka_clients import check_reachable, open_producer
    from barnabas.cli.perf.payloads import random_letters
    from barnabas.cli.perf.producing import ProducerTest
    from barnabas.cli.perf.producing import produce as run

    properties = _properties(bootstrap_server, command_config, pairs)
    check_reachable(properties)
    view = View(as_json=as_json)
    test = ProducerTest(topic, records, random_letters(size), rate)
    with view.progress(f"Sending to {topic}", records) as step:
        result = run(test, open_producer(properties), lambda window, is_first: None, step)
    view.table(_produced(topic, result.total, result.failed))
    if result.failed:
        raise SystemExit(1)


def _produced(topic: str, total: "Total", failed: int) -> Table:
    columns = [
        Column("TOPIC", "topic", style="bold"),
        Column("RECORDS", "records", is_number=True),
        Column("FAILED", "failed", is_number=True),
        Column("SECONDS", "seconds", is_number=True),
        Column("RECORDS/S", "records_per_second", is_number=True, style="cyan"),
        Column("MB/S", "megabytes_per_second", is_number=True, style="cyan"),
        Column("MEAN MS", "mean_ms", is_number=True),
        Column("P50", "p50_ms", is_number=True),
        Column("P95", "p95_ms", is_number=True),
        Column("P99", "p99_ms", is_number=True),
        Column("P99.9", "p999_ms", is_number=True),
        Column("MAX", "max_ms", is_number=True),
    ]
    rates = [round(total.seconds, 3), round(total.records_per_second), round(total.megabytes_per_second, 2)]
    latencies = [round(total.mean_ms, 2), *total.percentiles_ms, total.max_ms]
    return Table(columns, [[topic, total.records, failed, *rates, *latencies]])


@perf.command()
@_TOPIC
@click.option("-n", "--records", default=100_000, show_default=True, type=click.IntRange(1))
@click.option("--timeout", default=5.0, show_default=True, help="End after so many seconds without a record.")
@_PROPERTY
@bootstrap_options
@json_option
def consume(
    topic: str,
    records: int,
    timeout: float,
    pairs: tuple[str, ...],
    bootstrap_server: str,
    command_config: str | None,
    as_json: bool,
) -> None:
    """Read TOPIC from its beginning, in a new group, and measure."""
    import uuid

    from barnabas.cli.messages.librdkafka_clients import open_consumer
    from barnabas.cli.perf.consuming import FETCH_AHEAD, ConsumerTest
    from barnabas.cli.perf.consuming import consume as run

    own_group = f"barnabas-perf-{uuid.uuid4()}"
    properties = {
        "group.id": own_group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        **_properties(bootstrap_server, command_config, pairs),
    }
    _check_topic(properties, topic)
    view = View(as_json=as_json)
    with view.progress(f"Reading {topic}", records) as step:
        reading = run(
            ConsumerTest([topic], records, timeout, interval=0.2),
            open_consumer(properties, **FETCH_AHEAD),
            lambda window, so_far: step(window.count),
        )
    view.table(_consumed(topic, reading))
    if reading.count < records:
        view.note(f"Ended early: no record came for {timeout:g} s (--timeout)")
    _forget_group(properties, own_group)


def _check_topic(properties: dict[str, str], topic: str) -> None:
    """Raises an error if the topic does not exist: otherwise the test would measure the wait for it."""
    from barnabas.cli.messages.librdkafka_clients import check_reachable, is_plaintext
    from barnabas.cli.messages.reading_plan import NoSuchPartition, check_topics
    from barnabas.cli.tool_errors import ToolError
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings

    if not is_plaintext(properties):
        check_reachable(properties)
        return
    try:
        with Cluster(ClientSettings.of(None, properties)) as cluster:
            check_topics(cluster, [topic])
    except NoSuchPartition as error:
        raise ToolError(str(error)) from None


def _forget_group(properties: dict[str, str], own_group: str) -> None:
    """Deletes the group of the measurement. A group that the user named stays."""
    from barnabas.cli.messages.librdkafka_clients import is_plaintext
    from barnabas.client.admin.groups import delete_groups
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings

    if properties["group.id"] == own_group and is_plaintext(properties):
        with Cluster(ClientSettings.of(None, properties)) as cluster:
            delete_groups(cluster, [own_group])


def _consumed(topic: str, reading: "Reading") -> Table:
    from barnabas.cli.perf.consuming import per_second

    columns = [
        Column("TOPIC", "topic", style="bold"),
        Column("RECORDS", "records", is_number=True),
        Column("MB", "megabytes", is_number=True),
        Column("SECONDS", "seconds", is_number=True),
        Column("JOINING", "joining_seconds", is_number=True),
        Column("RECORDS/S", "records_per_second", is_number=True, style="cyan"),
        Column("MB/S", "megabytes_per_second", is_number=True, style="cyan"),
    ]
    row = [
        topic,
        reading.count,
        round(reading.megabytes, 2),
        round(reading.seconds, 3),
        round(reading.joining, 3),
        round(per_second(reading.count, reading.fetching)),
        round(per_second(reading.megabytes, reading.fetching), 2),
    ]
    return Table(columns, [row])


def _properties(bootstrap_server: str, command_config: str | None, pairs: tuple[str, ...]) -> dict[str, str]:
    from barnabas.cli.messages.client_properties import parse_pairs
    from barnabas.client.settings import read_properties

    properties = read_properties(command_config) if command_config else {}
    properties.update(parse_pairs(pairs))
    properties["bootstrap.servers"] = bootstrap_server
    return properties
