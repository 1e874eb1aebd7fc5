"""Start and memory: exec to the first successful request, resident memory idle and after the load."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.metrics import Metric, Target
from benchmarks.scenarios.base import Launcher

NAME = "start"
GROUP = "Start and memory"
SETTLE_SECONDS = 1.0

READY = Metric("ready_s", "exec to first successful request", "s", False, Target("value", "most", 0.5))
IDLE = Metric("idle_mb", "resident memory, idle", "MB", False, Target("value", "most", 60))
LOADED = Metric("loaded_mb", "resident memory after the load", "MB", False, Target("value", "most", 200))


def measure_start(launcher: Launcher, directory: Path) -> dict[str, float]:
    """One start on an empty directory, then a clean stop."""
    directory.mkdir(parents=True)
    broker = launcher.launch(directory)
    try:
        time.sleep(SETTLE_SECONDS)
        return {READY.key: broker.ready_seconds, IDLE.key: broker.rss_mb()}
    finally:
        broker.stop()
