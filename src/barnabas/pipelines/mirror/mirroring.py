"""`Mirror`: the work of one mirror, batch by batch: which topics, the copy, and what is remembered of it."""

import sys
from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from barnabas.client.admin.topics import list_topics
from barnabas.client.cluster import Cluster
from barnabas.client.settings import ClientSettings
from barnabas.pipelines.common import topics
from barnabas.pipelines.common.batch import Batch
from barnabas.pipelines.common.dead_letters import LetterSizes, payloads_of
from barnabas.pipelines.common.settings import BadSetting
from barnabas.pipelines.common.subscriptions import whole_name
from barnabas.pipelines.mirror import copying, too_large
from barnabas.pipelines.mirror.copies import CopiesTopic, CopyRules
from barnabas.pipelines.mirror.copying import BatchContent
from barnabas.pipelines.mirror.groups import GroupRule, translate_groups
from barnabas.pipelines.mirror.mirror_settings import NAME, MirrorSettings
from barnabas.pipelines.mirror.offset_log import OffsetLog
from barnabas.pipelines.mirror.target_topics import follow, limits_of
from barnabas.pipelines.mirror.too_large import LargeRecord, TooLarge
from barnabas.spark.wire.produce_settings import ProduceSettings

_OVERHEAD = 4096
_NAMED = 5
"""So many records that are too large are named in a message."""


class Mirror:
    """The clusters are opened by `run`'s threads as each needs them."""

    def __init__(self, settings: MirrorSettings) -> None:
        self._settings: MirrorSettings = settings
        self._log: OffsetLog = OffsetLog(settings.target, settings.offsets_topic)
        self._copies: CopiesTopic = CopiesTopic(settings.target, settings.copies_topic)
        self._rules: CopyRules = CopyRules(
            CopiesTopic(settings.bootstrap_server, settings.copies_topic), self._copies, settings.prefix
        )
        self._said: set[str] = set()

    def prepare(self) -> None:
        """Topics at the target, before there is a record for them.

        Raises ClientError, ConnectionError, BadSetting and Undecided.
        """
        settings = self._settings
        if named := settings.own_topics & set(settings.topics.split(",")):
            raise BadSetting(
                f"--topics {', '.join(sorted(named))}: topics of mirrors themselves are not copied"
            )
        with self._source() as source, self._target() as target:
            if not settings.prefix and source.cluster_id == target.cluster_id:
                raise BadSetting(
                    "the target is the source itself: its topics would be copied into themselves"
                )
            self._log.ensure(target)
            self._copies.ensure(target)
            returning = self._follow(source, target)
            if settings.topics and returning:
                raise BadSetting(
                    f"--topics {', '.join(returning)}: a copy, its records came from the target itself"
                )

    def copy(self, batch: Batch) -> None:
        frame, content = batch.frame, copying.content_of(batch.frame)
        with self._source() as source, self._target() as target:
            wanted = self._admitted(source, target, content.topics)
            self._say(follow(source, target, wanted, self._settings.prefix))
            if wanted != content.topics:
                frame = frame.where(sf.col("topic").isin(sorted(wanted)))
                content = copying.content_of(frame)
            self._copy(batch, frame, content, target)

    def _copy(self, batch: Batch, frame: DataFrame, content: BatchContent, target: Cluster) -> None:
        settings = self._settings
        named = {topic: f"{settings.prefix}{topic}" for topic in content.topics}
        at_target = limits_of(target, named.values())
        limits = {topic: at_target[name] for topic, name in named.items()}
        if large := too_large.large_records(frame, content.largest, limits):
            self._put_aside(batch, frame, large)
            frame = frame.where(~too_large.is_one_of(large))
            content = copying.content_of(frame)
        if not content.runs:
            return
        rows = copying.records(frame, settings.prefix)
        producer = self._producer(content, limits)
        copying.write(rows, settings.target, batch.writer, batch.number, batch.checkpoint, producer)
        ends = copying.settled_ends(target, [(named[topic], number) for topic, number in content.runs])
        stretches = {
            topic_partition: copying.stretch_of(found, ends[named[topic_partition[0]], topic_partition[1]])
            for topic_partition, found in content.runs.items()
        }
        self._log.append(frame.sparkSession, stretches, batch.writer, batch.number, batch.checkpoint)

    def translate(self) -> dict[str, int]:
        """Groups, and topics that grew without a record. Raises ClientError, ConnectionError, Undecided."""
        settings = self._settings
        if not settings.groups:
            return {}
        with self._source() as source, self._target() as target:
            self._follow(source, target)
            offsets = self._log.read(target)
            return translate_groups(source, target, offsets, GroupRule(settings.groups, settings.prefix))

    # --- which topics ----------------------------------------------------------------------------------

    def _follow(self, source: Cluster, target: Cluster) -> list[str]:
        """Returns the topics that are left out because they came from the target."""
        settings = self._settings
        names = {topic.name for topic in list_topics(source) if not topic.is_internal}
        if settings.topics:
            wanted = names & set(settings.topics.split(","))
        else:
            pattern = whole_name(settings.topics_pattern)
            wanted = {name for name in names if pattern.search(name)}
        admitted = self._admitted(source, target, wanted)
        self._say(follow(source, target, admitted, settings.prefix))
        return sorted(wanted - admitted - settings.own_topics)

    def _admitted(self, source: Cluster, target: Cluster, names: set[str]) -> set[str]:
        """Without the mirrors' own topics, and without those that came from the target."""
        wanted = names - self._settings.own_topics
        admitted = self._rules.admitted(source, target, wanted)
        returning = sorted(wanted - admitted)
        self._say(f"{name} is left out: its records came from the target, it is a copy" for name in returning)
        return admitted

    # --- records that are too large ----------------------------------------------------------------------

    def _producer(self, content: BatchContent, limits: dict[str, int]) -> dict[str, str]:
        """Compressed if a record needs it, and in requests that are large enough for any."""
        is_large = any(size > limits[topic] for (topic, _), size in content.largest.items())
        most = max(ProduceSettings().max_request_size, *limits.values()) + _OVERHEAD
        codec = too_large.CODEC if is_large else self._settings.compression
        return {"compression.type": codec, "max.request.size": str(most)}

    def _put_aside(self, batch: Batch, frame: DataFrame, large: list[LargeRecord]) -> None:
        """Raises TooLarge, if the settings say so."""
        settings = self._settings
        named = "; ".join(map(str, large[:_NAMED])) + (" and others" if len(large) > _NAMED else "")
        if settings.too_large == "fail":
            raise TooLarge(
                f"{named}. Raise the max.message.bytes of the topic at the target, or put such records "
                "aside: --too-large aside"
            )
        letters = settings.dead_letters_topic
        topics.ensure(settings.target, [letters], 1)
        limit = topics.max_message_bytes(settings.target, letters)
        sizes = LetterSizes(min(limit, ProduceSettings().max_request_size), payloads_of(settings.query))
        failed = frame.where(too_large.is_one_of(large)).withColumn("error", too_large.reason())
        batch.to_table(sizes.payloads(failed, NAME, is_complete=True), sizes.table, ("date",))
        rows = sizes.letters(failed, NAME).withColumn("topic", sf.lit(letters))
        application = f"{batch.writer}-dead-letters"
        copying.write(rows, settings.target, application, batch.number, batch.checkpoint)
        self._say([f"put aside in {sizes.table}, with a letter in {letters} at the target: {named}"])

    # --- clusters ----------------------------------------------------------------------------------------

    def _say(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            if sentence not in self._said:
                self._said.add(sentence)
                sys.stderr.write(f"{sentence}\n")

    def _source(self) -> Cluster:
        return Cluster(ClientSettings.of(self._settings.bootstrap_server))

    def _target(self) -> Cluster:
        return Cluster(ClientSettings.of(self._settings.target))
