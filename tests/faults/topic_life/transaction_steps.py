"""Transactions, begun by producing (KIP-890), committed, aborted, left open, taken over; and offsets."""

import asyncio

from tests.faults.random_life.violation import Violation, require
from tests.faults.topic_life import record_steps
from tests.faults.topic_life.found_partition import READ_COMMITTED
from tests.faults.topic_life.partition_model import Outcome
from tests.faults.topic_life.requests import PATIENCE, CoordinatorOff
from tests.faults.topic_life.scene import Producer, Scene
from tests.faults.topic_life.step import Step
from tests.faults.topic_life.topic_model import TopicModel
from tests.integration.clients.requests import LATEST


async def begin(scene: Scene, step: Step) -> Producer:
    producer = scene.transactional.setdefault(step.who, Producer(f"transactional-{step.who}"))
    if producer.producer_id < 0:
        producer.producer_id, producer.epoch = await scene.requests.init_producer_id(
            producer.transactional_id
        )
        producer.sequences.clear()
    if producer.transaction < 0:
        scene.transactions += 1
        producer.transaction = scene.transactions
    return producer


async def produce(scene: Scene, step: Step) -> None:
    if scene.partition(step) is not None:
        try:
            await record_steps.send(scene, step, await begin(scene, step))
        except CoordinatorOff:
            scene.count("coordinator off")


async def commit_offset_in_transaction(scene: Scene, step: Step) -> None:
    found = scene.partition(step)
    if found is None:
        return
    topic, partition = found
    group = scene.group(step.amount % 3)
    number = topic.partitions.index(partition)
    try:
        producer = await begin(scene, step)
        assert producer.transactional_id is not None
        await scene.requests.commit_offset_in_transaction(
            producer.transactional_id, producer.identity, group.name, topic.name, number, step.amount
        )
    except CoordinatorOff:
        scene.count("coordinator off")
        return
    producer.offsets[group.name, (topic.name, number)] = step.amount, scene.tick()
    scene.count("offsets in a transaction")


async def end(scene: Scene, step: Step) -> None:
    producer = scene.transactional.get(step.who)
    if producer is not None:
        try:
            await end_of(scene, producer, Outcome(step.option))
        except CoordinatorOff:
            scene.count("coordinator off")


async def take_over(scene: Scene, step: Step) -> None:
    """Another producer of the same transactional id: what was open is aborted."""
    producer = scene.transactional.get(step.who)
    if producer is None or producer.producer_id < 0:
        return
    try:
        found = await scene.requests.init_producer_id(producer.transactional_id)
    except CoordinatorOff:
        scene.count("coordinator off")
        return
    producer.producer_id, producer.epoch = found
    producer.sequences.clear()
    await _note_end(scene, producer, Outcome.ABORTED)


async def end_of(scene: Scene, producer: Producer, outcome: Outcome) -> None:
    if producer.transaction < 0 or not (producer.touched or producer.offsets):
        return
    if any(partition.is_offline for partition in producer.touched):
        return  # its marker waits until the partition is back; the step would not end
    assert producer.transactional_id is not None
    answer = await scene.requests.end_transaction(
        producer.transactional_id, producer.identity, is_commit=outcome is Outcome.COMMITTED
    )
    require(
        not answer.error_code,
        f"EndTxn {outcome.value} of {producer.transactional_id}: {answer.error_code!r}",
    )
    producer.producer_id, producer.epoch = answer.producer_id, answer.producer_epoch
    producer.sequences.clear()
    await _note_end(scene, producer, outcome)


async def _note_end(scene: Scene, producer: Producer, outcome: Outcome) -> None:
    for partition in producer.touched:
        partition.ended(producer.transaction, outcome)
    if outcome is Outcome.COMMITTED:
        for (group, topic_partition), (offset, at) in producer.offsets.items():
            scene.model.groups[group].commit(topic_partition, offset, at)
    touched, offsets = list(producer.touched), dict(producer.offsets)
    producer.touched.clear()
    producer.offsets.clear()
    producer.transaction = -1
    scene.count(outcome.value)
    await _settle(scene, [each.name for each in touched], {group for group, _ in offsets})


async def _settle(scene: Scene, partitions: list[str], groups: set[str]) -> None:
    """Until the markers are written, which follow the answer."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    await until_markers_are_written(scene)
    for topic in scene.model.topics.values():
        for number, partition in enumerate(topic.partitions):
            while partition.name in partitions and not partition.is_offline:
                ends = [
                    await scene.requests.list_offset(topic.name, number, LATEST, way)
                    for way in (0, READ_COMMITTED)
                ]
                found = ends[0].offset, ends[1].offset
                expected = partition.end, partition.stable_offsets()
                if partition.is_settled(*found):
                    break
                if asyncio.get_running_loop().time() > deadline:
                    raise Violation(
                        f"{partition.name}: end and last stable offset are {found}, expected {expected}"
                    )
                await asyncio.sleep(0.001)
    for group in groups:
        while True:
            try:
                scene.model.groups[group].compare(await scene.requests.committed_offsets(group))
                break
            except Violation:
                if asyncio.get_running_loop().time() > deadline:
                    raise
                await asyncio.sleep(0.001)


async def until_markers_are_written(scene: Scene) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while await scene.requests.markers_are_missing():
        require(asyncio.get_running_loop().time() < deadline, "markers of a transaction are never written")
        await asyncio.sleep(0.001)


async def abort_all_in(scene: Scene, topic: TopicModel) -> None:
    """Before a topic is deleted: a marker that comes later would go to its successor of the same name."""
    for producer in list(scene.transactional.values()):
        names = {topic for _, (topic, _) in producer.offsets}
        if topic.name in names or any(each in topic.partitions for each in producer.touched):
            if any(each.is_offline for each in producer.touched):
                forsake(scene, producer)
                continue
            try:
                await end_of(scene, producer, Outcome.ABORTED)
            except CoordinatorOff:
                forsake(scene, producer)


def forsake(scene: Scene, producer: Producer) -> None:
    """No producer will end this transaction: its id is never used again."""
    for number, each in list(scene.transactional.items()):
        if each is producer:
            del scene.transactional[number]
            scene.transactional[number] = Producer(f"{producer.transactional_id}+")


async def commit_offset(scene: Scene, step: Step) -> None:
    found = scene.partition(step)
    if found is None:
        return
    topic, partition = found
    group = scene.group(step.who)
    number = topic.partitions.index(partition)
    try:
        await scene.requests.commit_offset(group.name, topic.name, number, step.amount)
    except CoordinatorOff:
        scene.count("coordinator off")
        return
    group.commit((topic.name, number), step.amount, scene.tick())
    scene.count("offsets")
