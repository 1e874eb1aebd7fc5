"""Records come and go: produced with and without idempotence, repeated, deleted from the front."""

from tests.faults.random_life.violation import require
from tests.faults.topic_life.batches import encode
from tests.faults.topic_life.partition_model import PartitionModel
from tests.faults.topic_life.scene import LastBatch, Producer, Scene
from tests.faults.topic_life.step import Step
from tests.faults.topic_life.stored_record import StoredRecord
from tests.faults.topic_life.topic_model import TopicModel

from barnabas.base.errors import ErrorCode

_RECENT = ("now", "mixed", "future", "maximum ahead")


async def produce(scene: Scene, step: Step) -> None:
    await send(scene, step, None)


async def produce_idempotent(scene: Scene, step: Step) -> None:
    producer = scene.idempotent.setdefault(step.who, Producer())
    if producer.producer_id < 0:
        producer.producer_id, producer.epoch = await scene.requests.init_producer_id(None)
    await send(scene, step, producer)


async def send(scene: Scene, step: Step, producer: Producer | None) -> None:
    found = scene.partition(step)
    if found is None:
        return
    topic, partition = found
    codec, _, stamp = step.option.partition("/")
    now_ms = scene.clock.now_ms()
    records = scene.writer.records(
        max(1, step.amount), stamp, now_ms, seed=step.seed, keyed=topic.is_compacted
    )
    options: dict[str, object] = {}
    slot = (topic.topic_id, topic.partitions.index(partition))
    if producer is not None:
        options = {**producer.identity, "base_sequence": producer.sequences.get(slot, 0)}
        options["transactional"] = producer.transactional_id is not None
    batch = encode(records, codec, stamp, now_ms, **options)
    transactional_id = None if producer is None else producer.transactional_id
    answer = await scene.requests.produce(topic.name, slot[1], batch, transactional_id)
    if producer is not None and _is_forgotten(answer.error_code, producer.ends.get(slot), partition):
        del producer.sequences[slot], producer.ends[slot]
        scene.count("forgotten")
        await send(scene, step, producer)
        return
    require(
        not answer.error_code, f"produce to {partition.name}: {answer.error_code!r} {answer.error_message}"
    )
    number = -1 if producer is None else producer.transaction
    stored = [
        StoredRecord(
            each.key,
            each.value,
            now_ms if topic.uses_append_time else each.timestamp,
            tuple(each.headers),
            now_ms,
            number,
        )
        for each in records
    ]
    partition.appended(answer.base_offset, stored, is_durable=topic.is_flushed)
    scene.count("produced")
    if producer is not None:
        producer.sequences[slot] = producer.sequences.get(slot, 0) + len(records)
        producer.ends[slot] = partition.end
        producer.last = LastBatch(
            topic, slot[1], answer.base_offset, batch, is_recent=stamp in _RECENT or topic.uses_append_time
        )
        if transactional_id is not None and partition not in producer.touched:
            producer.touched.append(partition)


def _is_forgotten(error: int, end: int | None, partition: PartitionModel) -> bool:
    """A start knows no producer of whom no record is left, here as in Apache Kafka: it begins anew."""
    is_refused = error == ErrorCode.out_of_order_sequence_number
    return is_refused and end is not None and end <= partition.start


async def repeat(scene: Scene, step: Step) -> None:
    """An idempotent producer that got no answer sends its last batch again: it is not stored twice."""
    producer = scene.idempotent.get(step.who)
    last = None if producer is None else producer.last
    if last is None or scene.model.topics.get(last.topic.name) is not last.topic:
        return
    partition = last.topic.partitions[last.partition]
    if partition.is_offline or not last.is_recent or last.base_offset < partition.start:
        return
    if last.topic.is_compacted:
        return  # it may have records without keys, from before, which are refused first
    answer = await scene.requests.produce(last.topic.name, last.partition, last.batch)
    require(
        not answer.error_code and answer.base_offset == last.base_offset,
        f"{partition.name}: a repeated batch was answered {answer.error_code!r}, "
        f"offset {answer.base_offset}, expected {last.base_offset}",
    )
    scene.count("repeated")


async def delete_records(scene: Scene, step: Step) -> None:
    """Up to a share of the partition, in percent; what is in an open transaction too."""
    found = scene.partition(step)
    if found is None:
        return
    topic, partition = found
    if not topic.is_deleting:
        return  # Kafka refuses it
    offset = partition.start + (partition.end - partition.start) * step.amount // 100
    number = topic.partitions.index(partition)
    answer = await scene.requests.delete_records(topic.name, number, offset)
    require(not answer.error_code, f"DeleteRecords {partition.name} {offset}: {answer.error_code!r}")
    require(
        answer.low_watermark == offset, f"DeleteRecords {partition.name}: starts at {answer.low_watermark}"
    )
    partition.records_deleted(offset)
    scene.count("records deleted")


async def look_up(scene: Scene, topic: TopicModel, partition: PartitionModel, timestamp: int) -> None:
    """ListOffsets by time: nothing later lies before what it finds, and what it finds is not too early."""
    number = topic.partitions.index(partition)
    answer = await scene.requests.list_offset(topic.name, number, timestamp)
    require(not answer.error_code, f"ListOffsets {partition.name} {timestamp}: {answer.error_code!r}")
    readable = {at: each for at, each in partition.records.items() if at >= partition.start}
    later = [at for at, each in readable.items() if each.timestamp > timestamp]
    if answer.offset < 0:
        require(
            not later, f"{partition.name}: no record is found from {timestamp} on, but {later[:3]} are later"
        )
        return
    require(
        not later or answer.offset <= min(later),
        f"{partition.name}: {answer.offset} is found from {timestamp} on, but {min(later or [0])} is later",
    )
    found = readable.get(answer.offset)
    require(
        found is None or found.timestamp >= timestamp,
        f"{partition.name}: {answer.offset} is found from {timestamp} on, but it is of {found}",
    )
