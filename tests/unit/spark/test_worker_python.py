import os
import subprocess
import sys
from pathlib import Path

from barnabas.spark.worker_python import without_archives, worker_python


def test_only_sparks_archives_leave_the_path() -> None:
    paths = ["/spark/lib/pyspark.zip", "/spark/lib/py4j-0.10.9.9-src.zip", "/own", "/jobs/dependencies.zip"]
    assert without_archives(os.pathsep.join(paths)) == os.pathsep.join(["/own", "/jobs/dependencies.zip"])


def test_the_script_runs_this_python_with_its_arguments(tmp_path: Path) -> None:
    archive = tmp_path / "pyspark.zip"
    archive.write_bytes(b"")
    show = "import os, sys; print(sys.executable, sys.argv[1:], os.environ['PYTHONPATH'])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(archive), str(tmp_path)])}
    ran = subprocess.run(
        [worker_python(), "-c", show, "a", "b"], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split("\n")[0] == f"{sys.executable} ['a', 'b'] {tmp_path}"
