"""Mirror: the query that copies, and beside it the translation of groups."""

import re
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from barnabas.client.admin.topics import list_topics
from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.settings import ClientSettings
from barnabas.pipelines.common.batch import Batch
from barnabas.pipelines.common.queries import Query, ToOutputs
from barnabas.pipelines.common.refusals import plainly
from barnabas.pipelines.common.running import Runner
from barnabas.pipelines.common.session import open_session
from barnabas.pipelines.common.settings import BadSetting, Settings, read, setting
from barnabas.pipelines.common.subscriptions import read_topics, whole_name
from barnabas.pipelines.mirror import copying
from barnabas.pipelines.mirror.groups import GroupRule, translate_groups
from barnabas.pipelines.mirror.offset_log import OffsetLog
from barnabas.pipelines.mirror.target_topics import follow

NAME = "mirror"
PURPOSE = "Topics to another cluster: same partitions, times, headers and keys, exactly once."


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSettings(Settings):
    target: str = setting("", "Brokers of the target; the source is --bootstrap-server.")
    topics: str = setting("", "Topics to mirror, with commas.")
    topics_pattern: str = setting("", "Or a pattern (a regular expression); new topics are found too.")
    prefix: str = setting("", "Before the names of the target's topics.")
    groups: str = setting(".*", "Groups whose offsets are translated (a regular expression; '' for none).")
    groups_interval: float = setting(10.0, "Seconds between two translations.")
    offsets_topic: str = setting("mirror-offsets", "Where the target keeps what is known of offsets.")
    query: str = setting(NAME, "The name of the query: one checkpoint each, for mirrors beside each other.")


class Mirror:
    """The work of one mirror; the clusters are opened by `run`'s threads as each needs them."""

    def __init__(self, settings: MirrorSettings) -> None:
        self._settings: MirrorSettings = settings
        self._log: OffsetLog = OffsetLog(settings.target, settings.offsets_topic)

    def prepare(self) -> None:
        """Topics at the target, before there is a record for them. Raises ClientError and BadSetting."""
        with self._source() as source, self._target() as target:
            if not self._settings.prefix and source.cluster_id == target.cluster_id:
                raise BadSetting(
                    "the target is the source itself: its topics would be copied into themselves"
                )
            self._log.ensure(target)
            self._follow(source, target)

    def copy(self, batch: Batch) -> None:
        settings = self._settings
        runs = copying.source_runs(batch.frame)
        with self._source() as source, self._target() as target:
            follow(source, target, {topic for topic, _ in runs}, settings.prefix)
            copying.write(
                copying.records(batch.frame, settings.prefix), settings.target, batch.writer, batch.number
            )
            ends = copying.settled_ends(
                target, [(f"{settings.prefix}{topic}", number) for topic, number in runs]
            )
        stretches = {
            place: copying.stretch_of(found, ends[f"{settings.prefix}{place[0]}", place[1]])
            for place, found in runs.items()
        }
        if stretches:
            self._log.append(batch.frame.sparkSession, stretches, batch.writer, batch.number)

    def translate(self) -> dict[str, int]:
        """Groups, and topics that grew without a record. Raises ClientError."""
        settings = self._settings
        if not settings.groups:
            return {}
        with self._source() as source, self._target() as target:
            self._follow(source, target)
            offsets = self._log.read(target)
            return translate_groups(source, target, offsets, GroupRule(settings.groups, settings.prefix))

    def _follow(self, source: Cluster, target: Cluster) -> None:
        settings = self._settings
        names = {topic.name for topic in list_topics(source) if not topic.is_internal}
        if settings.topics:
            wanted = names & set(settings.topics.split(","))
        else:
            pattern = whole_name(settings.topics_pattern)
            wanted = {name for name in names if pattern.search(name)}
        for sentence in follow(source, target, wanted, settings.prefix):
            sys.stderr.write(f"{sentence}\n")

    def _source(self) -> Cluster:
        return Cluster(ClientSettings.of(self._settings.bootstrap_server))

    def _target(self) -> Cluster:
        return Cluster(ClientSettings.of(self._settings.target))


class Translating:
    """Translates groups now and then while the query runs, and once when it has ended."""

    def __init__(self, mirror: Mirror, interval: float) -> None:
        self._mirror: Mirror = mirror
        self._interval: float = interval
        self._stop: threading.Event = threading.Event()
        self._thread: threading.Thread = threading.Thread(target=self._run, name="groups", daemon=True)

    def __enter__(self) -> "Translating":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._once()

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            self._once()

    def _once(self) -> None:
        try:
            self._mirror.translate()
        except (ClientError, ConnectionError) as error:  # the next time may be better
            sys.stderr.write(f"groups are not translated: {error}\n")


def queries(spark: SparkSession, settings: MirrorSettings, mirror: Mirror) -> list[Query]:
    records = read_topics(spark, settings, settings.topics, settings.topics_pattern)
    return [Query(settings.query, records, ToOutputs(mirror.copy))]


def run(spark: SparkSession, settings: MirrorSettings) -> int:
    mirror = Mirror(settings)
    mirror.prepare()
    with Translating(mirror, settings.groups_interval):
        return Runner(settings).run(queries(spark, settings, mirror))


@plainly(NAME)
def main(arguments: Sequence[str] | None = None) -> int:
    settings = read(MirrorSettings, "barnabas pipeline run mirror", PURPOSE, arguments)
    if not settings.target or bool(settings.topics) == bool(settings.topics_pattern):
        raise BadSetting("say where to (--target) and what (--topics or --topics-pattern)")
    whole_name(settings.topics_pattern)
    try:
        re.compile(settings.groups)
    except re.error as error:
        raise BadSetting(f"--groups {settings.groups}: {error}") from None
    Mirror(settings).prepare()  # what is wrong with the clusters is told before Spark takes its time
    return run(open_session(settings, f"barnabas-{NAME}"), settings)
