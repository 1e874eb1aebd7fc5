import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.spark.worker_python import without_archives, worker_python

_IMPORTED = "import os, barnabas.spark; print(os.environ.get('PYSPARK_PYTHON'))"


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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, worker_python()),
        ({"PYSPARK_PYTHON": "/other/python"}, "/other/python"),
        ({"PYSPARK_GATEWAY_PORT": "4040"}, "None"),
    ],
    ids=["unset", "set", "spark-submit"],
)
def test_importing_the_package_chooses_this_python_where_none_is_chosen(
    given: dict[str, str], expected: str
) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
    ran = subprocess.run(
        [sys.executable, "-c", _IMPORTED],
        env={**environment, **given},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == expected
    assert not ran.stderr


def test_a_session_that_was_made_before_is_warned_about() -> None:
    """A stand-in for pyspark: a session takes ten seconds."""
    made = "import sys, types; p = types.ModuleType('pyspark'); sys.modules['pyspark'] = p; "
    made += "p.SparkContext = types.SimpleNamespace(_active_spark_context=object()); "
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
    ran = subprocess.run(
        [sys.executable, "-c", made + _IMPORTED],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Import barnabas.spark before the session is made" in ran.stderr
