"""Random lives of a log with crashes and power cuts: what was flushed is there, all of it consistent."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes.faulty_filesystem import FaultyFileSystem
from tests.unit.storage.support import NOW, ROOT, TP, assert_consistent, batch, marker, read_batches

from barnabas.base.clock import ManualClock
from barnabas.base.config.log_config import LogConfig
from barnabas.storage.append_info import AppendOrigin
from barnabas.storage.log import Log
from barnabas.storage.logs import Logs, LogsSettings

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=100, segment_index_bytes=200)
STEPS = ("append", "append", "append", "idempotent", "txn", "end_txn", "epoch", "flush", "roll", "due_flush",
         "truncate", "checkpoint", "restart", "kill", "power", "torn_power")  # fmt: skip


@dataclass
class Life:
    rng: random.Random
    fs: FaultyFileSystem = field(default_factory=FaultyFileSystem)
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    epoch: int = 0

    def __post_init__(self) -> None:
        self.logs: Logs = self._start()
        self.log: Log = self.logs.create(TP, None)
        self.durable: list[bytes] = []

    def _start(self) -> Logs:
        logs = Logs(
            [ROOT], LogsSettings(1, "c", recovery_threads=1), lambda _: CONFIG, fs=self.fs, clock=self.clock
        )
        logs.open_all()
        return logs

    def step(self, name: str) -> None:
        self.clock.advance(self.rng.randrange(5))
        getattr(self, "_" + name)()

    def _append(self) -> None:
        data = batch(self.rng.randint(1, 3), size=self.rng.randint(1, 60), timestamp=self.clock.now_ms())
        self.log.append_as_leader(data, self.epoch)

    def _produce(self, pid: int, transactional: bool) -> None:
        entry = self.log.producers.entries.get(pid)
        sequence = 0 if entry is None else entry.last_sequence + 1
        if entry is not None and entry.txn_first_offset >= 0:
            transactional = True
        self.log.append_as_leader(
            batch(pid=pid, sequence=sequence, transactional=transactional, timestamp=self.clock.now_ms()),
            self.epoch,
        )

    def _idempotent(self) -> None:
        self._produce(self.rng.randint(1, 2), transactional=False)

    def _txn(self) -> None:
        self._produce(self.rng.randint(3, 4), transactional=True)

    def _end_txn(self) -> None:
        data = marker(self.rng.randint(3, 4), commit=self.rng.random() < 0.4)
        self.log.append_as_leader(data, self.epoch, origin=AppendOrigin.COORDINATOR)

    def _epoch(self) -> None:
        self.epoch += 1

    def _flush(self) -> None:
        self.log.flush()
        self._note_durable()

    def _due_flush(self) -> None:
        plan = self.log.due_flush_plan()
        if plan is not None:
            plan.run()
            self.log.flushed(plan)
            self._note_durable()

    def _note_durable(self) -> None:
        self.durable = [
            data for header, data in read_batches(self.log) if header.last_offset < self.log.recovery_point
        ]

    def _roll(self) -> None:
        self.log.roll()

    def _truncate(self) -> None:
        offsets = [header.base_offset for header, _ in read_batches(self.log)]
        if offsets:
            self.log.truncate_to(self.rng.choice(offsets))
            assert_consistent(self.log)
            self._note_durable()

    def _checkpoint(self) -> None:
        self.logs.checkpoints.write_all()

    def _restart(self) -> None:
        before = [data for _, data in read_batches(self.log)]
        self.logs.clean_shutdown()
        self.fs.cut_power()
        self.reopen()
        assert [data for _, data in read_batches(self.log)] == before

    def _kill(self) -> None:
        before = [data for _, data in read_batches(self.log)]
        self.logs.abandon()
        self.reopen()
        assert [data for _, data in read_batches(self.log)] == before

    def _power(self) -> None:
        self.fs.cut_power()
        self.reopen()

    def _torn_power(self) -> None:
        self.fs.cut_power(self.rng)
        self.reopen()

    def reopen(self) -> None:
        self.logs = self._start()
        log = self.logs.get(TP)
        self.log = log if log is not None else self.logs.create(TP, None)
        assert_consistent(self.log)
        content = [data for _, data in read_batches(self.log)]
        assert content[: len(self.durable)] == self.durable
        epochs = [header.partition_leader_epoch for header, _ in read_batches(self.log)]
        self.epoch = max([self.epoch, *epochs])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(STEPS), max_size=60), st.integers(0, 1 << 32))
def test_flushed_records_survive_any_crash(steps: list[str], seed: int) -> None:
    life = Life(random.Random(seed))
    for step in steps:
        life.step(step)
    assert_consistent(life.log)


@pytest.mark.parametrize("seed", range(40))
def test_flushed_records_survive_long_lives(seed: int) -> None:
    rng = random.Random(seed)
    life = Life(rng)
    for _ in range(150):
        life.step(rng.choice(STEPS))
    assert_consistent(life.log)
