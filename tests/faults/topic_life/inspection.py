"""After every start: everything the model knows is looked for, over the requests a client would use."""

import random

from tests.faults.random_life.violation import require
from tests.faults.topic_life import record_steps
from tests.faults.topic_life.requests import CoordinatorOff
from tests.faults.topic_life.scene import Scene
from tests.faults.topic_life.step import Step
from tests.faults.topic_life.topic_model import TopicModel


async def check(scene: Scene, step: Step) -> None:
    await _check_topics(scene)
    rng = random.Random(step.seed)
    for topic in scene.model.topics.values():
        for number, partition in enumerate(topic.partitions):
            partition.compare(await scene.requests.find_partition(topic.name, number))
            if partition.records and not partition.is_offline:
                sample = rng.choice(list(partition.records.values())).timestamp
                await record_steps.look_up(scene, topic, partition, max(0, sample + rng.randrange(-1, 2)))
    for group in scene.model.groups.values():
        try:
            group.compare(await scene.requests.committed_offsets(group.name))
        except CoordinatorOff:
            scene.count("coordinator off")
    scene.count("checked")


async def check_after_power_cut(scene: Scene) -> list[TopicModel]:
    """The topics with a transaction in doubt."""
    await _check_topics(scene)
    in_doubt = []
    for topic in scene.model.topics.values():
        certain = [
            partition.compare_after_power_cut(await scene.requests.find_partition(topic.name, number))
            for number, partition in enumerate(topic.partitions)
        ]
        if not all(certain):
            in_doubt.append(topic)
    for group in scene.model.groups.values():
        group.compare_after_power_cut(await scene.requests.committed_offsets(group.name))
    scene.count("checked")
    return in_doubt


async def _check_topics(scene: Scene) -> None:
    found = await scene.requests.topics()
    expected = {name: (topic.topic_id, len(topic.partitions)) for name, topic in scene.model.topics.items()}
    require(found == expected, f"the topics are {found}, expected {expected}")
    for topic in scene.model.topics.values():
        configs = await scene.requests.configs(topic.name)
        require(configs == topic.configs, f"{topic.name} is configured {configs}, expected {topic.configs}")
