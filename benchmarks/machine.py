"""The machine a run was made on, and how much of it was taken away meanwhile."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
from importlib import metadata
from pathlib import Path

from benchmarks.figures import TIMES


def describe_machine() -> list[str]:
    models = [line for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    model = models[0].partition(":")[2].strip() if models else platform.machine()
    memory = [int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")] or [0]
    system = f"{platform.system()} {platform.release()}"
    return [f"{os.cpu_count()} {TIMES} {model}", f"{memory[0] * 1024 / 1e9:.0f} GB memory", system]


def describe_versions() -> list[str]:
    versions = [f"Python {platform.python_version()}"]
    for name in ("uvloop", "confluent-kafka"):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"without {name}")
    return versions


def java_version() -> str:
    result = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    first = (result.stderr or result.stdout).strip().splitlines()[:1]
    return first[0].split(" 20")[0].replace('"', "").replace("version ", "") if first else "java"


def raise_file_limit() -> None:
    """As many open files as the system allows: children inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class CpuShares:
    """Where CPU time went since this was made, as percentages of all cores."""

    def __init__(self) -> None:
        self._start = self._read()

    def stolen_and_foreign(self) -> tuple[float, float]:
        """What the hypervisor gave away and what other processes took; ask when the brokers have ended."""
        stolen, busy, own, total = (now - then for now, then in zip(self._read(), self._start, strict=True))
        if not total:
            return 0.0, 0.0
        return 100 * stolen / total, max(0.0, 100 * (busy - own) / total)

    @staticmethod
    def _read() -> tuple[float, float, float, float]:
        ticks = os.sysconf("SC_CLK_TCK")
        fields = [
            int(field) / ticks for field in (_lines("/proc/stat") or ["cpu" + " 0" * 8])[0].split()[1:9]
        ]
        user, nice, system, idle, iowait, interrupt, soft_interrupt, stolen = fields
        usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        busy = user + nice + system + interrupt + soft_interrupt
        return stolen, busy, own, busy + idle + iowait + stolen


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
