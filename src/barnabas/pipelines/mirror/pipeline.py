"""Mirror: its settings, the query that copies, and beside it the translation of groups."""

import re
from collections.abc import Sequence

from pyspark.sql import SparkSession

from barnabas.pipelines.common.queries import Query, ToOutputs
from barnabas.pipelines.common.refusals import plainly
from barnabas.pipelines.common.running import Runner
from barnabas.pipelines.common.session import open_session
from barnabas.pipelines.common.settings import BadSetting, read
from barnabas.pipelines.common.subscriptions import read_topics, whole_name
from barnabas.pipelines.mirror.mirror_settings import NAME, MirrorSettings
from barnabas.pipelines.mirror.mirroring import Mirror
from barnabas.pipelines.mirror.translating import Translating
from barnabas.records.compression import CODEC_NAMES

PURPOSE = "Topics to another cluster: same partitions, times, headers and keys, exactly once."
_CHOICES = ("aside", "fail")


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
    if settings.too_large not in _CHOICES:
        raise BadSetting(f"--too-large {settings.too_large}: expected {' or '.join(_CHOICES)}")
    if settings.compression not in CODEC_NAMES:
        raise BadSetting(f"--compression {settings.compression}: expected one of {', '.join(CODEC_NAMES)}")
    whole_name(settings.topics_pattern)
    try:
        re.compile(settings.groups)
    except re.error as error:
        raise BadSetting(f"--groups {settings.groups}: {error}") from None
    Mirror(settings).prepare()  # errors of the clusters are reported before Spark starts
    return run(open_session(settings, f"barnabas-{NAME}"), settings)
