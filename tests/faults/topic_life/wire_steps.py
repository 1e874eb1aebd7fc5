"""Steps that only a real process can take."""

from tests.faults.random_life.violation import require
from tests.faults.topic_life import inspection
from tests.faults.topic_life.scene import Scene
from tests.faults.topic_life.step import Step
from tests.faults.topic_life.stored_record import StoredRecord
from tests.faults.topic_life.wire_requests import WireRequests

_MANY = 40
_IDEMPOTENT = 1_000_000
"""A producer of its own."""


async def produce_through_kill(scene: Scene, step: Step) -> None:
    """The broker is killed while an idempotent producer is at work: each record is there once, in order."""
    found = scene.partition(step)
    if found is None:
        return
    topic, partition = found
    requests = scene.requests
    assert isinstance(requests, WireRequests)
    now_ms = scene.clock.now_ms()
    count = _MANY * max(1, step.amount)
    records = scene.writer.records(count, "now", now_ms, seed=step.seed, keyed=topic.is_compacted)
    number = topic.partitions.index(partition)
    delivery = requests.send(topic.name, number, _IDEMPOTENT + step.who, records)
    delivery.wait_for_first()
    await scene.world.kill()
    await scene.world.start()
    delivery.wait()
    require(delivery.error is None, f"produce to {partition.name} through a kill: {delivery.error}")
    stored = [
        StoredRecord(each.key, each.value, each.timestamp, tuple(each.headers), now_ms) for each in records
    ]
    partition.appended(delivery.base_offset, stored, is_durable=topic.is_flushed)
    for each in scene.model.partitions():
        each.has_restarted = True
    await inspection.check(scene, step)
    scene.count("produced through a kill")
