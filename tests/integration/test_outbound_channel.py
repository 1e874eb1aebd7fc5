"""The channel of one broker to another, with a real broker at the other end."""

import asyncio
from collections.abc import Iterator
from random import Random

import pytest
from tests.patience import PATIENCE

from barnabas.base.ids import TopicPartition
from barnabas.network.errors import BrokerDisconnected
from barnabas.network.outbound_channel import ChannelSettings, OutboundChannel
from barnabas.network.transport import Endpoint, tcp_connect
from barnabas.testing import Broker
from barnabas.wire.client_fetch import NEWEST, FetchResponse, fetch_request, parse_fetch_response
from barnabas.wire.fetch import FIRST_WITH_TOPIC_IDS, FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.message_codec import decode_body, message_request
from barnabas.wire.outgoing_request import RequestBuilder
from barnabas.wire.replica_requests import (
    LATEST_TIMESTAMP,
    EpochQuery,
    OffsetQuery,
    epoch_end_request,
    parse_epoch_ends,
    parse_replica_offsets,
    replica_fetch_request,
    replica_offsets_request,
)

TOPIC = "orders"
P0 = TopicPartition(TOPIC, 0)
UNKNOWN_LEADER_EPOCH = 75


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        running.create_topic(TOPIC)
        yield running


def _channel(broker: Broker) -> OutboundChannel:
    loop = asyncio.get_running_loop()
    settings = ChannelSettings("broker-7", request_timeout=PATIENCE, connection_setup_timeout=PATIENCE)
    return OutboundChannel(Endpoint("127.0.0.1", broker.port), settings, tcp_connect(loop), loop, Random(1))


def _produce(broker: Broker, *values: bytes) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})
    for value in values:
        producer.produce(TOPIC, value, partition=0)
    assert producer.flush(PATIENCE) == 0


async def _topic(channel: OutboundChannel) -> FetchTopic:
    response = await channel.send(message_request("metadata", {"topics": [{"name": TOPIC}]}))
    (topic,) = decode_body("metadata", response.version, response.body).topics
    return FetchTopic(
        TOPIC, topic.topic_id, [FetchPartition(0, 0, 8 << 20, topic.partitions[0].leader_epoch)]
    )


def _fetch(topics: list[FetchTopic], session_id: int, session_epoch: int) -> RequestBuilder:
    request = FetchRequest(-1, 0, 1, 64 << 20, 0, session_id, session_epoch, topics, [], "")
    return RequestBuilder(
        "fetch", 1, FIRST_WITH_TOPIC_IDS, NEWEST, lambda version: fetch_request(version, request)
    )


async def _fetched(channel: OutboundChannel, request: RequestBuilder) -> FetchResponse:
    response = await channel.send(request)
    return parse_fetch_response(response.version, response.body)


def test_records_are_fetched_in_a_session(broker: Broker) -> None:
    async def run() -> None:
        channel = _channel(broker)
        topic = await _topic(channel)
        full = await _fetched(channel, _fetch([topic], 0, 0))
        records = bytes(full.topics[0].partitions[0].records)
        assert [value in records for value in values] == [True, True]
        assert full.topics[0].partitions[0].high_watermark == 2
        assert full.session_id > 0
        moved = topic._replace(partitions=[topic.partitions[0]._replace(offset=2)])
        assert (await _fetched(channel, _fetch([moved], full.session_id, 1))).topics == []
        await asyncio.to_thread(_produce, broker, b"third")
        news = await _fetched(channel, _fetch([], full.session_id, 2))
        assert b"third" in bytes(news.topics[0].partitions[0].records)
        channel.close()

    values = (b"a" * 300_000, b"b" * 300_000)
    _produce(broker, *values)
    asyncio.run(run())


def test_broker_answers_a_replica(broker: Broker) -> None:
    """Broker 7 is no replica of the partition: its fetch is refused, its queries are answered."""

    async def run() -> None:
        channel = _channel(broker)
        topic = await _topic(channel)
        epoch = topic.partitions[0].leader_epoch
        request = FetchRequest(7, 0, 1, 1 << 20, 0, 0, 0, [topic], [], "", 12)
        refused = await _fetched(channel, replica_fetch_request(request))
        assert refused.topics[0].partitions[0].error_code == UNKNOWN_LEADER_EPOCH
        ends = await channel.send(epoch_end_request(7, [EpochQuery(P0, epoch, epoch)]))
        assert parse_epoch_ends(ends.version, ends.body)[P0] == (0, epoch, 3)
        listed = await channel.send(replica_offsets_request(7, [OffsetQuery(P0, epoch, LATEST_TIMESTAMP)]))
        assert parse_replica_offsets(listed.version, listed.body)[P0][:2] == (0, 3)
        channel.close()

    _produce(broker, b"1", b"2", b"3")
    asyncio.run(run())


def test_killed_broker_fails_requests_until_it_is_back(broker: Broker) -> None:
    async def run() -> None:
        channel = _channel(broker)
        await _topic(channel)
        await asyncio.to_thread(broker.kill)
        with pytest.raises(BrokerDisconnected):
            await _topic(channel)
        await asyncio.to_thread(broker.start)
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    assert (await _topic(channel)).topic_id is not None
                    break
                except BrokerDisconnected:
                    continue
        channel.close()

    asyncio.run(run())
