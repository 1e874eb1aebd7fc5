"""The disk of a simulated broker: what a kill and a loss of power leave, and how it fails."""

import errno
import random
from pathlib import Path

import pytest
from tests.simulation.clock import NodeClock
from tests.simulation.disk import SimulatedDisk, read_open_file
from tests.simulation.scheduler import Scheduler

LOGS = Path("/data")


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk(NodeClock(Scheduler(1)))
    disk.makedirs(LOGS)
    return disk


def _write(disk: SimulatedDisk, name: str, data: bytes, *, sync: bool) -> None:
    file = disk.open(LOGS / name, create=True)
    file.write_at(0, [data])
    if sync:
        file.sync()
        disk.sync_dir(LOGS)


def test_kill_leaves_everything_that_was_written(disk: SimulatedDisk) -> None:
    _write(disk, "a", b"unsynced", sync=False)
    left = disk.image()
    disk.open(LOGS / "a").write_at(0, [b"changed!"])
    assert left.read_bytes(LOGS / "a") == b"unsynced"
    assert isinstance(left, SimulatedDisk)


def test_loss_of_power_leaves_what_was_synced(disk: SimulatedDisk) -> None:
    _write(disk, "synced", b"kept", sync=True)
    _write(disk, "unsynced", b"gone", sync=False)
    lost = 0
    for seed in range(20):
        left = disk.image_after_power_cut([LOGS], random.Random(seed))
        assert left.read_bytes(LOGS / "synced") == b"kept"
        lost += not left.exists(LOGS / "unsynced")
    assert 0 < lost < 20


def test_slow_sync_says_how_long_it_took(disk: SimulatedDisk) -> None:
    spent: list[float] = []
    disk.spend, disk.sync_seconds = spent.append, 0.25
    _write(disk, "a", b"x", sync=True)
    assert spent == [0.25, 0.25]


def test_full_disk_takes_no_byte(disk: SimulatedDisk) -> None:
    disk.fill()
    with pytest.raises(OSError) as raised:
        _write(disk, "a", b"x", sync=False)
    assert raised.value.errno == errno.ENOSPC
    disk.heal()
    _write(disk, "a", b"x", sync=True)


def test_lost_directory_fails_until_it_is_back(disk: SimulatedDisk) -> None:
    _write(disk, "a", b"x", sync=True)
    file = disk.open(LOGS / "a")
    disk.lose(LOGS)
    for action in (
        lambda: file.write_at(0, [b"y"]),
        lambda: file.read_at(0, 1),
        lambda: disk.listdir(LOGS),
        lambda: disk.open(LOGS / "b", create=True),
        lambda: disk.rename(LOGS / "a", LOGS / "c"),
        lambda: disk.sync_dir(LOGS),
    ):
        with pytest.raises(OSError, match="Input/output"):
            action()
    disk.heal()
    assert disk.read_bytes(LOGS / "a") == b"x"


def test_open_file_is_found_by_its_descriptor(disk: SimulatedDisk) -> None:
    _write(disk, "a", b"0123456789", sync=False)
    file = disk.open(LOGS / "a")
    assert file.fd < -1
    assert read_open_file(file.fd, 3, 4) == b"3456"


def test_wall_clocks_may_differ_and_monotonic_ones_do_not() -> None:
    scheduler = Scheduler(1)
    right, wrong = NodeClock(scheduler), NodeClock(scheduler, skew_ms=3_600_000)
    scheduler.run_for(10)
    assert wrong.now_ms() - right.now_ms() == 3_600_000
    assert right.monotonic() == wrong.monotonic() == pytest.approx(10)
