"""Offline load: `load` (the default), `compact` and `backfill`."""

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from barnabas.pipelines.common.delta_table import DeltaLakeTable
from barnabas.pipelines.common.queries import Query, ToOutputs
from barnabas.pipelines.common.refusals import plainly
from barnabas.pipelines.common.running import Runner
from barnabas.pipelines.common.session import open_session
from barnabas.pipelines.common.settings import BadSetting, Settings, read, setting
from barnabas.pipelines.common.subscriptions import read_topics, whole_name
from barnabas.pipelines.common.table import MB, Table, WriteOptions
from barnabas.pipelines.common.warehouse import open_table, warehouse_of
from barnabas.pipelines.offline_load.backfilling import backfill, resolve
from barnabas.pipelines.offline_load.compaction import compact
from barnabas.pipelines.offline_load.loading import ids_in, load, owner_of
from barnabas.pipelines.offline_load.rows import table_rows

NAME = "offline-load"
PURPOSE = "Any topics to tables, one per topic, with their offsets."


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings(Settings):
    topics: str = setting("", "Topics to load, with commas.")
    topics_pattern: str = setting(
        "", "Or a pattern of whole names (regular expression); finds new topics too."
    )
    continuous: bool = setting(False, "Go on for ever, instead of ending with the data.")
    query: str = setting(NAME, "The name of the query: one checkpoint each, for loads beside each other.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactSettings(Settings):
    tables: str = setting("", "Tables to compact, with commas [all of the warehouse].")
    closed_hours: int = setting(1, "How many hours ago an hour must have ended.")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillSettings(Settings):
    topic: str = setting("", "The topic.")
    begin: str = setting("", "The first offset, or a time: 2026-11-16T09:00:00Z [the beginning].")
    end: str = setting("", "The first offset, or the time, after the range [the end].")
    partition: int = setting(-1, "One partition alone.")


def queries(spark: SparkSession, settings: LoadSettings) -> list[Query]:
    records = read_topics(spark, settings, settings.topics, settings.topics_pattern)
    return [Query(settings.query, table_rows(records), ToOutputs(load))]


@plainly(NAME)
def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["compact"]:
        return _compact(words[1:])
    if words[:1] == ["backfill"]:
        return _backfill(words[1:])
    return _load(words[1:] if words[:1] == ["load"] else words)


def _load(words: list[str]) -> int:
    purpose = f"{PURPOSE} Also: compact, backfill (each with --help)."
    given = read(LoadSettings, "barnabas pipeline run offline-load", purpose, words)
    if bool(given.topics) == bool(given.topics_pattern):
        raise BadSetting("say which topics: --topics or --topics-pattern")
    whole_name(given.topics_pattern)
    settings = dataclasses.replace(given, available_now=not given.continuous)
    spark = open_session(settings, f"barnabas-{NAME}")
    return Runner(settings).run(queries(spark, settings))


def _compact(words: list[str]) -> int:
    purpose = "Make few large files of many small ones, in hours that no query writes to any more."
    settings = read(CompactSettings, "barnabas pipeline run offline-load compact", purpose, words)
    tables = tables_of(settings)
    spark = open_session(settings, f"barnabas-{NAME}-compact")
    before = datetime.now(UTC) - timedelta(hours=settings.closed_hours)
    for table in tables:
        for done in compact(spark, table, settings.target_file_mb * MB, before):
            _say(f"{table.name} {done.partition}: {done.files_before} files to {done.files_after}")
        if isinstance(table, DeltaLakeTable) and (removed := table.vacuum(full=True)):
            _say(f"{table.name}: {removed} files older than {settings.retention_hours} h removed")
    return 0


def _backfill(words: list[str]) -> int:
    from barnabas.client.cluster import Cluster
    from barnabas.client.settings import ClientSettings

    # argparse names what it parses by the flag, and `from` is a word of Python.
    named = [{"--from": "--begin", "--to": "--end"}.get(word, word) for word in _apart(words)]
    purpose = "Load a range of offsets or times: --from and --to, each an offset or a time."
    settings = read(BackfillSettings, "barnabas pipeline run offline-load backfill", purpose, named)
    if not settings.topic:
        raise BadSetting("say which topic: --topic")
    only = settings.partition if settings.partition >= 0 else None
    with Cluster(ClientSettings.of(settings.bootstrap_server)) as cluster:
        ranges = resolve(cluster, settings.topic, settings.begin, settings.end, only)
        topic_id = ids_in(cluster, [settings.topic]).get(settings.topic, "")
    table = open_table(settings, settings.topic, owner_of(settings.topic))
    spark = open_session(settings, f"barnabas-{NAME}-backfill")
    added = backfill(spark, settings.bootstrap_server, settings.topic, ranges, table, topic_id)
    wanted = sum(each.stop - each.start for each in ranges)
    _say(f"{settings.topic}: {added.rows if added else 0:,} rows added, of {wanted:,} offsets")
    return 0


def tables_of(settings: CompactSettings) -> list[Table]:
    """Those named, or all of the warehouse. Raises BadSetting."""
    warehouse = warehouse_of(settings)
    options = WriteOptions(
        target_bytes=settings.target_file_mb * MB, retention_hours=settings.retention_hours
    )
    tables = []
    for name in settings.tables.split(",") if settings.tables else warehouse.names():
        table = warehouse.find(name, options)
        if table is None:
            raise BadSetting(f"--tables {name}: {warehouse.location(name)} is no table")
        tables.append(table)
    return tables


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _apart(words: list[str]) -> list[str]:
    """`--from=5` as two words."""
    return [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
