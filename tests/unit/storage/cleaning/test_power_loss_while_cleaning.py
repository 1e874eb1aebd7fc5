"""The power goes at every single step of a cleaning: nothing is lost, nothing is doubled."""

import random

import pytest
from tests.fakes.faulty_filesystem import FaultyFileSystem, MemoryFile
from tests.unit.storage.cleaning.support import Compacted, rows
from tests.unit.storage.support import ROOT, TP

from barnabas.base.filesystem import Buffer, LogFile, StrPath
from barnabas.storage import names
from barnabas.storage.environment import LogEnvironment
from barnabas.storage.log_loader import create_log


class PowerCut(BaseException):
    """Nothing catches it."""


class CuttingFile(MemoryFile):
    def sync(self) -> None:
        self.fs.step()  # type: ignore[attr-defined]
        super().sync()


class CuttingFileSystem(FaultyFileSystem):
    """Ends the program before the step with a given number; a step changes a name or makes bytes durable."""

    def __init__(self) -> None:
        super().__init__()
        self.steps_left: int = -1

    def step(self) -> None:
        if self.steps_left == 0:
            raise PowerCut
        self.steps_left -= 1

    def open(self, path: StrPath, *, create: bool = False, read_only: bool = False) -> LogFile:
        if create and not self.exists(path):
            self.step()
        file = super().open(path, create=create, read_only=read_only)
        assert isinstance(file, MemoryFile)
        return CuttingFile(self, file.node, path)

    def write_bytes(self, path: StrPath, data: Buffer, *, sync: bool = False) -> None:
        self.step()
        super().write_bytes(path, data, sync=sync)

    def sync_dir(self, path: StrPath) -> None:
        self.step()
        super().sync_dir(path)

    def rename(self, source: StrPath, target: StrPath) -> None:
        self.step()
        super().rename(source, target)

    def unlink(self, path: StrPath, *, missing_ok: bool = True) -> None:
        if self.exists(path):
            self.step()
        super().unlink(path, missing_ok=missing_ok)


def _dirty_log() -> tuple[Compacted, CuttingFileSystem]:
    log = Compacted()
    fs = CuttingFileSystem()
    fs.makedirs(ROOT)
    log.logs.fs = fs
    log.logs.environment = LogEnvironment(fs, log.logs.clock)
    log.log = create_log(ROOT / str(TP), TP, None, log.config, log.logs.environment)
    rng = random.Random(1)
    for number in range(150):
        value = None if number % 11 == 0 else f"{number}" * rng.randint(1, 30)
        log.append(rows((f"k{rng.randrange(25)}", value)), producer_id=number % 3, producer_epoch=0,
                   base_sequence=number // 3)  # fmt: skip
        if number % 20 == 19:
            log.seal()
    log.seal()
    log.log.flush()
    return log, fs


def _newest(log: Compacted) -> dict[str | None, tuple[int, str | None]]:
    return {key: (offset, value) for offset, key, value in log.values()}


@pytest.mark.parametrize("seed", [None, 1])
def test_power_cut_at_every_step(seed: int | None) -> None:
    step, finished = 0, False
    while not finished:
        log, fs = _dirty_log()
        recovery_point, before = log.log.recovery_point, log.values()
        newest = _newest(log)
        sequences = {pid: entry.last_sequence for pid, entry in log.log.producers.entries.items()}
        fs.steps_left = step
        try:
            log.clean()
            finished = True
        except PowerCut:
            pass
        fs.steps_left = -1
        fs.cut_power(None if seed is None else random.Random(seed * 1000 + step))
        _assert_recovered(log, recovery_point, before, newest)
        found = log.log.producers.entries
        assert {pid: entry.last_sequence for pid, entry in found.items()} == sequences
        # And the next cleaning gets to the same end, whatever the cut left.
        log.checkpoint = None
        log.clean_all()
        assert {value[0] for value in log.values()} == {offset for offset, _ in newest.values()}
        step += 1
    assert step > 30


def _assert_recovered(
    log: Compacted,
    recovery_point: int,
    before: list[tuple[int, str | None, str | None]],
    newest: dict[str | None, tuple[int, str | None]],
) -> None:
    log.log = log.logs.open(clean=False, recovery_point=recovery_point)
    log.log.maybe_update_high_watermark(log.log.log_end_offset)
    after = log.values()
    offsets = [offset for offset, _, _ in after]
    assert offsets == sorted(set(offsets))
    assert set(after) <= set(before)
    assert _newest(log) == newest
    assert log.log.log_end_offset == before[-1][0] + 1
    left = [name for name in log.fs.listdir(log.log.directory) if name.endswith((names.CLEANED, names.SWAP))]
    assert left == []
