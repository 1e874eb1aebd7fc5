"""The Python of Spark's workers, started in a third of the time: `PYSPARK_PYTHON=barnabas-spark-python`.

Spark puts archives with its own Python sources first on the path of every worker; what is imported from them
is compiled anew each time (measured: 1.5 s of CPU for a worker, 0.5 s from the installed package), and a
first query starts four or five workers, each of which has ten seconds to report back. The same package is
installed beside us, so the archives are left out. Nothing else changes.

`import barnabas.spark` sets `PYSPARK_PYTHON` to it where it is unset: Spark would take `python3` from the
PATH, which is another Python where an environment is not activated, and would find no data source there.
"""

import logging
import os
import sys
from pathlib import Path

_log = logging.getLogger("barnabas.spark")

_CHOSEN = "PYSPARK_PYTHON"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set where spark-submit started this Python: its JVM and executors have an environment of their own."""
_SCRIPT = "barnabas-spark-python"
_ARCHIVES = ("pyspark.zip", "py4j-")


def worker_python() -> str:
    """The value for `PYSPARK_PYTHON`: the script beside this Python, or this Python if there is no script."""
    script = Path(sys.executable).with_name(_SCRIPT)
    return str(script) if script.exists() else sys.executable


def choose_worker_python() -> None:
    """Spark's workers run this Python, unless the user chose one or spark-submit is in charge."""
    if _CHOSEN in os.environ or _SUBMITTED in os.environ:
        return
    os.environ[_CHOSEN] = worker_python()
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    if context is not None and context._active_spark_context is not None:  # noqa: SLF001  (PySpark has no other way)
        _log.warning(
            "PYSPARK_PYTHON was not set when the Spark session was made, so its workers run python3 from the "
            "PATH. Import barnabas.spark before the session is made, or set PYSPARK_PYTHON=%s",
            os.environ[_CHOSEN],
        )


def main() -> None:
    environment = dict(os.environ)
    if "PYTHONPATH" in environment and _is_installed():
        environment["PYTHONPATH"] = without_archives(environment["PYTHONPATH"])
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], environment)


def without_archives(paths: str) -> str:
    return os.pathsep.join(
        each for each in paths.split(os.pathsep) if not Path(each).name.startswith(_ARCHIVES)
    )


def _is_installed() -> bool:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return all(distribution(name) for name in ("pyspark", "py4j"))
    except PackageNotFoundError:
        return False
