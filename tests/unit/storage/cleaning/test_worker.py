"""The worker's end of the conversation, over real pipes."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.base.config.log_config import LogConfig
from barnabas.records.builder import build_batch
from barnabas.records.record import Record
from barnabas.storage.cleaning.job import CleaningJob, CleaningStats, LastBatch, SourceSegment
from barnabas.storage.cleaning.worker import Conversation, serve
from barnabas.storage.txn_index import AbortedTxn


class Worker:
    """`serve` in a thread, and our ends of its pipes."""

    def __init__(self) -> None:
        source, self.to_worker = os.pipe()
        from_worker, target = os.pipe()
        self.answers = os.fdopen(from_worker, "rb")
        self.ended: list[str] = []
        self.thread = threading.Thread(target=self._run, args=(source, target))
        self.thread.start()

    def _run(self, source: int, target: int) -> None:
        try:
            serve(Conversation(source, target))
        except EOFError:
            self.ended.append("end of input")
        finally:
            os.close(source)
            os.close(target)

    def send(self, message: object) -> None:
        os.write(self.to_worker, json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, object]:
        answer: dict[str, object] = json.loads(self.answers.readline())
        return answer

    def close(self) -> None:
        os.close(self.to_worker)
        self.thread.join()
        self.answers.close()


@pytest.fixture
def worker() -> Iterator[Worker]:
    started = Worker()
    yield started
    started.close()
    assert started.ended == ["end of input"]


def _job(directory: Path, data: bytes, count: int) -> CleaningJob:
    (directory / "00000000000000000000.log").write_bytes(data)
    config = LogConfig()
    return CleaningJob(
        "t-0", str(directory), (SourceSegment(0, len(data)),), 0, count, 1000, 1000, config.segment_bytes,
        config.segment_index_bytes, config.index_interval_bytes, 1 << 20, 1 << 16,
        producers={5: LastBatch(-1, 3)}, aborted=(AbortedTxn(1, 2, 3, 4),),
    )  # fmt: skip


def _batch(count: int = 3) -> bytes:
    return build_batch([Record(n, 1, b"same", b"%d" % n) for n in range(count)])


def test_job_survives_its_way_over_the_pipe(tmp_path: Path) -> None:
    job = _job(tmp_path, _batch(), 3)
    assert CleaningJob.from_json(json.loads(json.dumps(job.to_json()))) == job


def test_every_cleaned_segment_waits_for_its_swap(worker: Worker, tmp_path: Path) -> None:
    worker.send({"clean": _job(tmp_path, _batch(), 3).to_json()})
    answer = worker.receive()
    size = (tmp_path / "00000000000000000000.log.cleaned").stat().st_size
    assert answer == {"cleaned": [0, size, False, [0]]}
    worker.send({"swapped": True})
    stats = CleaningStats.from_json(worker.receive()["done"])  # type: ignore[arg-type]
    assert (stats.records_read, stats.records_written) == (3, 1)


def test_abort_ends_a_job_and_not_the_worker(worker: Worker, tmp_path: Path) -> None:
    for _ in range(2):
        worker.send({"clean": _job(tmp_path, _batch(), 3).to_json()})
        assert "cleaned" in worker.receive()
        worker.send({"abort": True})
        assert worker.receive() == {"aborted": True}


def test_damage_is_distinguished_from_a_failing_disk(worker: Worker, tmp_path: Path) -> None:
    damaged = bytearray(_batch())
    damaged[-1] ^= 1
    worker.send({"clean": _job(tmp_path, bytes(damaged), 3).to_json()})
    assert worker.receive()["corrupt"] is True
    job = _job(tmp_path, _batch(), 3)
    (tmp_path / "00000000000000000000.log").unlink()
    worker.send({"clean": job.to_json()})
    assert worker.receive()["corrupt"] is False
