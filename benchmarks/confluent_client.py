"""Generator (b): confluent-kafka (librdkafka) with its defaults, as a user would run it.

Consumers are assigned their partitions, so that the broker's group coordinator takes no part.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

_SENT_AT = struct.Struct(">d")


class ClientFailed(Exception):
    """The client reported an error or gave up."""


def produce_seconds(
    bootstrap_servers: str,
    topic: str,
    value: bytes,
    count: int,
    keys: Sequence[bytes | None] = (None,),
    settings: Mapping[str, str | int] | None = None,
) -> float:
    """Seconds from the first `produce` to the end of `flush`."""
    producer = Producer(_producer_settings(bootstrap_servers, settings or {}))
    producer.list_topics(topic, timeout=30)
    key_count = len(keys)
    started = time.perf_counter()
    for index in range(count):
        key = keys[index % key_count]
        while True:
            try:
                producer.produce(topic, value, key)
                break
            except BufferError:
                producer.poll(0.05)
    left = producer.flush(60)
    seconds = time.perf_counter() - started
    if left:
        raise ClientFailed(f"{left} records were not delivered")
    return seconds


def consume_rate(bootstrap_servers: str, topic: str, count: int) -> float:
    """Records/s from the first records to the last of `count`."""
    consumer = Consumer(_consumer_settings(bootstrap_servers))
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        received = _consume_some(consumer, count)
        started, counted_from = time.perf_counter(), received
        while received < count:
            received += _consume_some(consumer, count - received)
        return (received - counted_from) / (time.perf_counter() - started)
    finally:
        consumer.close()


def latencies(bootstrap_servers: str, topic: str, records: int, rate: float, skip: int) -> list[float]:
    """Seconds from `produce` to `poll` returning the record, without the first `skip`."""
    seen: list[float] = []
    failure: list[Exception] = []
    ready = threading.Event()

    def consume() -> None:
        consumer = Consumer(_consumer_settings(bootstrap_servers))
        try:
            consumer.assign([TopicPartition(topic, 0, 0)])
            consumer.poll(0.5)
            ready.set()
            deadline = time.monotonic() + (skip + records) / rate + 30
            while len(seen) < skip + records:
                message = consumer.poll(1.0)
                now = time.perf_counter()
                if message is not None and message.error() is None:
                    seen.append(now - _SENT_AT.unpack_from(message.value() or b"")[0])
                elif time.monotonic() > deadline:
                    raise ClientFailed(f"{skip + records - len(seen)} records did not arrive")
        except (ClientFailed, KafkaException) as error:
            failure.append(error)
        finally:
            ready.set()
            consumer.close()

    thread = threading.Thread(target=consume, daemon=True)
    thread.start()
    ready.wait()
    _send_at_rate(bootstrap_servers, topic, records + skip, rate)
    thread.join()
    if failure:
        raise failure[0]
    return seen[skip:]


def transaction_rate(
    bootstrap_servers: str, topic: str, transactional_id: str, records: int, seconds: float
) -> float:
    """Transactions/s of a producer that begins the next one when the last is committed; the first is free."""
    producer = Producer(_producer_settings(bootstrap_servers, {"transactional.id": transactional_id}))
    producer.init_transactions(30)
    _transact(producer, topic, records)
    started, done = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        _transact(producer, topic, records)
        done += 1
    return done / (time.perf_counter() - started)


def _transact(producer: Producer, topic: str, records: int) -> None:
    value = bytes(100)
    producer.begin_transaction()
    for _ in range(records):
        producer.produce(topic, value)
    producer.commit_transaction(30)


def _send_at_rate(bootstrap_servers: str, topic: str, records: int, rate: float) -> None:
    producer = Producer(_producer_settings(bootstrap_servers, {"linger.ms": 0}))
    producer.list_topics(topic, timeout=30)
    filler = bytes(100 - _SENT_AT.size)
    next_send = time.perf_counter()
    for _ in range(records):
        time.sleep(max(0.0, next_send - time.perf_counter()))
        next_send += 1 / rate
        producer.produce(topic, _SENT_AT.pack(time.perf_counter()) + filler)
        producer.poll(0)
    producer.flush(30)


def _consume_some(consumer: Consumer, wanted: int) -> int:
    # `consume` waits for as many as it is given: requesting more than are left would time its timeout.
    messages = consumer.consume(num_messages=min(wanted, 1000), timeout=30)
    if not messages:
        raise ClientFailed("no records for 30 s")
    for message in messages:
        if message.error() is not None:
            raise ClientFailed(str(message.error()))
    return len(messages)


def _producer_settings(
    bootstrap_servers: str, settings: Mapping[str, str | int]
) -> dict[str, str | int | bool]:
    return {"bootstrap.servers": bootstrap_servers, "delivery.report.only.error": True, **settings}


def _consumer_settings(bootstrap_servers: str) -> dict[str, str | int | bool]:
    return {
        "bootstrap.servers": bootstrap_servers,
        "group.id": "barnabas-bench",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        # By default librdkafka sleeps a second whenever its queue is full: that would be all one measures.
        "fetch.queue.backoff.ms": 10,
    }
