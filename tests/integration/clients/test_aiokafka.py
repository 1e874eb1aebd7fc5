"""aiokafka beyond what every client does."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.patience import PATIENCE

from barnabas.testing import Broker

pytestmark = pytest.mark.needs("aiokafka")


def _run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, PATIENCE))


def test_batches_built_by_hand(kafka_broker: Broker, kafka_topic: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    async def work() -> None:
        async with AIOKafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers) as producer:
            batch = producer.create_batch()
            for number in range(10):
                assert batch.append(key=b"k", value=b"%d" % number, timestamp=1000 + number) is not None
            metadata = await (await producer.send_batch(batch, kafka_topic, partition=0))
            assert metadata.offset == 0
        async with AIOKafkaConsumer(bootstrap_servers=kafka_broker.bootstrap_servers) as consumer:
            partition = TopicPartition(kafka_topic, 0)
            consumer.assign([partition])
            await consumer.seek_to_beginning(partition)
            records = (await consumer.getmany(timeout_ms=int(PATIENCE * 1000)))[partition]
            assert [(each.timestamp, each.value) for each in records] == [
                (1000 + number, b"%d" % number) for number in range(10)
            ]
            assert consumer.highwater(partition) == 10

    _run(work())


def test_topic_without_a_group_is_consumed_by_its_name(kafka_broker: Broker, kafka_topic: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    async def work() -> None:
        servers = kafka_broker.bootstrap_servers
        async with (
            AIOKafkaProducer(bootstrap_servers=servers) as producer,
            AIOKafkaConsumer(
                kafka_topic, bootstrap_servers=servers, auto_offset_reset="earliest"
            ) as consumer,
        ):
            for number in range(20):
                await producer.send_and_wait(kafka_topic, b"%d" % number)
                assert (await consumer.getone()).value == b"%d" % number

    _run(work())


def test_beginning_end_and_time(kafka_broker: Broker, kafka_topic: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    async def work() -> None:
        servers = kafka_broker.bootstrap_servers
        partition = TopicPartition(kafka_topic, 0)
        async with AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True) as producer:
            for time in (1000, 2000, 3000):
                await producer.send_and_wait(kafka_topic, b"v", timestamp_ms=time)
        async with AIOKafkaConsumer(bootstrap_servers=servers) as consumer:
            assert await consumer.beginning_offsets([partition]) == {partition: 0}
            assert await consumer.end_offsets([partition]) == {partition: 3}
            found = await consumer.offsets_for_times({partition: 1001})
            assert (found[partition].offset, found[partition].timestamp) == (1, 2000)

    _run(work())


def test_many_producers_at_once(kafka_broker: Broker, kafka_topic: str) -> None:
    from aiokafka import AIOKafkaProducer

    async def work() -> None:
        producers = [AIOKafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers) for _ in range(8)]
        await asyncio.gather(*(producer.start() for producer in producers))
        try:
            sending = (
                producer.send_and_wait(kafka_topic, b"v", partition=0)
                for producer in producers
                for _ in range(25)
            )
            offsets = sorted(metadata.offset for metadata in await asyncio.gather(*sending))
        finally:
            await asyncio.gather(*(producer.stop() for producer in producers))
        assert offsets == list(range(200))

    _run(work())
