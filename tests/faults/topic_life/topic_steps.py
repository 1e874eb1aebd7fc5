"""Topics come and go under the same few names, and their configurations change."""

import random

from tests.faults.random_life.violation import require
from tests.faults.topic_life import transaction_steps
from tests.faults.topic_life.partition_model import PartitionModel
from tests.faults.topic_life.scene import Scene
from tests.faults.topic_life.step import Step
from tests.faults.topic_life.topic_model import TopicModel

_SMALL_SEGMENTS = ("2000", "4000")
_VALUES: dict[str, tuple[str | None, ...]] = {
    "internal.segment.bytes": _SMALL_SEGMENTS,
    "cleanup.policy": (None, "delete", "compact", "compact,delete"),
    "retention.ms": (None, "-1", "60000", "600000"),
    "retention.bytes": (None, "-1", "1000", "4000"),
    "flush.messages": (None, "1"),
    "preallocate": (None, "true", "false"),
    "message.timestamp.type": (None, "CreateTime", "LogAppendTime"),
    "segment.ms": (None, "60000"),
    "compression.type": (None, None, None, "zstd", "gzip", "uncompressed"),
    "min.cleanable.dirty.ratio": ("0.01",),
    "delete.retention.ms": (None, "1000"),
}
_FIXED = {"index.interval.bytes": "100", "file.delete.delay.ms": "0"}


async def create(scene: Scene, step: Step) -> None:
    if step.topic in scene.model.topics:
        return
    rng = random.Random(step.seed)
    chosen = {key: rng.choice(values) for key, values in _VALUES.items() if _is_wanted(step, key, rng)}
    configs = {**_FIXED, "internal.segment.bytes": rng.choice(_SMALL_SEGMENTS)}
    configs |= {key: value for key, value in chosen.items() if value is not None}
    count = step.amount or 1
    topic_id = await scene.requests.create_topic(step.topic, count, configs)
    known = {each.topic_id for each in scene.model.topics.values()}
    require(topic_id not in known, f"{step.topic} was created with the id of another topic")
    partitions = [PartitionModel(f"{step.topic}-{number}") for number in range(count)]
    scene.model.topics[step.topic] = TopicModel(step.topic, topic_id, partitions, configs)
    scene.count("created")


def _is_wanted(step: Step, key: str, rng: random.Random) -> bool:
    """`extras` name what may be set; everything, each now and then, if they name nothing."""
    return key in step.extras if step.extras else rng.random() < 0.4


async def delete(scene: Scene, step: Step) -> None:
    topic = scene.model.topics.get(step.topic)
    if topic is None:
        return
    await transaction_steps.abort_all_in(scene, topic)
    await scene.requests.delete_topic(step.topic)
    del scene.model.topics[step.topic]
    for group in scene.model.groups.values():
        group.forget_topic(step.topic, scene.tick(), may_be_off=scene.coordinators_may_be_off)
    scene.count("deleted")


async def configure(scene: Scene, step: Step) -> None:
    topic = scene.model.topics.get(step.topic)
    if topic is None:
        return
    rng = random.Random(step.seed)
    key = step.option or rng.choice(list(_VALUES))
    value = rng.choice([each for each in _VALUES[key] if each != topic.configs.get(key)] or [None])
    if key == "internal.segment.bytes" and value is None:
        return
    await scene.requests.alter_configs(step.topic, {key: value})
    if value is None:
        topic.configs.pop(key, None)
    else:
        topic.configs[key] = value
    scene.count("configured")
