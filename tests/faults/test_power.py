"""The power goes: everything that was not synced is lost. What was acknowledged as flushed is there.

The broker runs in this process on a file system that forgets; protocol, sockets and threads are real.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.faulty_filesystem import FaultyFileSystem
from tests.integration.clients.raw import RawClient
from tests.integration.clients.requests import batch, produce

from barnabas.base.config.broker_config import BrokerConfig
from barnabas.broker.broker import Broker
from barnabas.broker.environment import Environment
from barnabas.records.batch import iter_headers
from barnabas.records.record import decode_records
from barnabas.storage.log import Log
from barnabas.testing.admin import Admin

TOPIC = {"flush.messages": 1, "internal.segment.bytes": 2000, "index.interval.bytes": 200}


def _config(directory: Path) -> BrokerConfig:
    return BrokerConfig.from_properties(
        {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": "/data",
            "barnabas.metadata.store.path": str(directory / "metadata.db"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "log.flush.offset.checkpoint.interval.ms": "20",
            "log.initial.task.delay.ms": "10",
        }
    )


async def _in_threads(*jobs: Callable[[], object]) -> None:
    await asyncio.gather(*(asyncio.to_thread(job) for job in jobs))


@pytest.mark.parametrize("seed", range(6))
def test_acknowledged_and_flushed_records_outlive_a_loss_of_power(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    fs = FaultyFileSystem()
    acknowledged: dict[int, list[bytes]] = {0: [], 1: []}

    async def life(number: int) -> None:
        broker = Broker(_config(tmp_path), Environment(fs=fs))
        await broker.start()
        if number == 0:
            await asyncio.to_thread(Admin("127.0.0.1", broker.port).create_topic, "t", 2, TOPIC)
        for partition, values in acknowledged.items():
            found = _values(broker, partition)
            # One more may be there than was acknowledged: it was on its way when the power went.
            assert found[: len(values)] == values
            acknowledged[partition] = found
        await _in_threads(
            *(lambda p=partition: _write(broker.port, p, acknowledged[p], rng) for partition in acknowledged)
        )
        # At this very moment: nothing is closed, flushed or checkpointed on the way out.
        fs.cut_power(rng if seed % 2 else None)
        await broker.stop(clean=False)

    _run(life, rounds=4)
    assert all(len(values) > 50 for values in acknowledged.values())


def _run(life: Callable[[int], Coroutine[Any, Any, None]], rounds: int) -> None:
    for number in range(rounds):
        asyncio.run(life(number))


def _write(port: int, partition: int, acknowledged: list[bytes], rng: random.Random) -> None:
    with RawClient(port) as client:
        for _ in range(rng.randint(15, 40)):
            value = b"%d-%d" % (partition, len(acknowledged))
            answer = produce(client, "t", batch(value), partition=partition)
            assert answer.error_code == 0
            assert answer.base_offset == len(acknowledged)
            acknowledged.append(value)


def _values(broker: Broker, partition: int) -> list[bytes]:
    """Read from the log: `sendfile` knows nothing of files in memory."""
    log = broker._partitions.get("t", partition).log
    assert log.high_watermark == log.log_end_offset
    return [record.value or b"" for data in _batches(log) for record in decode_records(data)]


def _batches(log: Log) -> list[bytes]:
    found, offset = [], log.log_start_offset
    while (part := log.read(offset, 1 << 20, up_to=log.log_end_offset)) is not None:
        data = part.read()
        for position, header in iter_headers(data):
            found.append(data[position : position + header.size])
            offset = header.next_offset
    return found
