"""What a broker does by itself, at a chosen moment: retention, compaction, checkpoints; and time goes by."""

import asyncio

from tests.faults.random_life.violation import require
from tests.faults.topic_life.partition_model import PartitionModel
from tests.faults.topic_life.scene import Scene
from tests.faults.topic_life.step import Step
from tests.faults.topic_life.topic_model import TopicModel
from tests.faults.topic_life.world import World

from barnabas.base.ids import TopicPartition
from barnabas.broker.broker import Broker
from barnabas.records.batch import BatchHeader


def _broker(scene: Scene) -> Broker:
    assert isinstance(scene.world, World)
    return scene.world.broker


async def advance(scene: Scene, step: Step) -> None:
    scene.clock.advance(step.amount)


async def checkpoint(scene: Scene, step: Step) -> None:
    housekeeping = _broker(scene)._housekeeping
    await housekeeping._checkpoint_recovery_points()
    await housekeeping._checkpoint_log_starts()
    await housekeeping._checkpoint_high_watermarks()
    for partition in scene.model.partitions():
        if not partition.is_offline:
            partition.checkpointed()


async def retain(scene: Scene, step: Step) -> None:
    before = await _look(scene)
    await _broker(scene)._housekeeping._apply_retention()
    now_ms = scene.clock.now_ms()
    for topic, number, partition in _partitions(scene):
        _note_start(scene, topic, number, before)
        _require_that_old_records_are_deleted(topic, partition, now_ms)
    scene.count("retained")


def _partitions(scene: Scene) -> list[tuple[TopicModel, int, PartitionModel]]:
    return [
        (topic, number, partition)
        for topic in scene.model.topics.values()
        for number, partition in enumerate(topic.partitions)
        if not partition.is_offline
    ]


async def _look(scene: Scene) -> dict[str, list[BatchHeader]]:
    """Compare, and return the batches of every partition, whose sizes retention goes by."""
    seen = {}
    for topic, number, partition in _partitions(scene):
        found = await scene.requests.find_partition(topic.name, number)
        partition.compare(found)
        seen[partition.name] = found.batches
    return seen


def _note_start(
    scene: Scene,
    topic: TopicModel,
    number: int,
    before: dict[str, list[BatchHeader]],
    *,
    is_compacted: bool = False,
) -> None:
    partition = topic.partitions[number]
    log = _broker(scene)._logs.get(TopicPartition(topic.name, number))
    assert log is not None
    partition.retained(
        log.log_start_offset,
        log.segments.first.base_offset,
        before[partition.name],
        scene.clock.now_ms(),
        topic.retention_ms,
        topic.retention_bytes,
        is_compacted=is_compacted,
    )


def _require_that_old_records_are_deleted(topic: TopicModel, partition: PartitionModel, now_ms: int) -> None:
    if topic.retention_ms < 0 or not any(offset >= partition.start for offset in partition.records):
        return
    # Deleted records count for the age of their segment as long as it is there.
    kept = [record for offset, record in partition.records.items() if offset >= partition.floor]
    # Markers have timestamps of their own, and recovery changes the age of files.
    if kept and not partition.transactions and all(record.timestamp >= 0 for record in kept):
        require(
            any(now_ms - record.age_counts_from <= topic.retention_ms for record in kept),
            f"{partition.name}: retention deletes nothing, though all {len(kept)} records are too old",
        )


async def compact(scene: Scene, step: Step) -> None:
    cleaner = _broker(scene)._cleaner
    before = await _look(scene)
    while await cleaner._start_next():
        await asyncio.gather(*cleaner._running)
    for topic, number, partition in _partitions(scene):
        _note_start(scene, topic, number, before, is_compacted=topic.is_compacted)
        found = await scene.requests.find_partition(topic.name, number)
        partition.compare(found, is_compacted=topic.is_compacted)
    require(not cleaner.uncleanable, f"cannot be compacted: {cleaner.uncleanable}")
    scene.count("compacted")
