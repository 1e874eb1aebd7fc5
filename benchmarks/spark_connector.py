"""Spark's own Kafka connector, beside which the data source is measured: jars from Maven Central, checked.

Its release 4.2.0 loads on PySpark 4.3. Not all that it depends on can be resolved, nor is it needed, so each
jar is fetched by itself.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.file_lock import file_lock

VERSION = "4.2.0"
JARS = {
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{VERSION}": (
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705"
    ),
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0": (
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767"
    ),
    "org.apache.kafka:kafka-clients:3.9.2": (
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8"
    ),
    "org.apache.commons:commons-pool2:2.12.1": (
        "5273c8bc8c0dca2211175c0d27efbd7228efae99689aac001a8e1ef8e872e9ef"
    ),
}


class ConnectorUnavailable(Exception):
    """The connector cannot be had on this machine; the message says why."""


def fetch_connector(cache: Path) -> list[Path]:
    """The jars for `spark.jars`. Raises ConnectorUnavailable."""
    directory = cache / f"spark-connector-{VERSION}"
    directory.mkdir(parents=True, exist_ok=True)
    with file_lock(cache / "fetching"):
        for coordinates, expected in JARS.items():
            if not (directory / _file_of(coordinates)).exists():
                _fetch(coordinates, expected, directory)
    return [directory / _file_of(coordinates) for coordinates in JARS]


def _file_of(coordinates: str) -> str:
    _, artifact, version = coordinates.split(":")
    return f"{artifact}-{version}.jar"


def _fetch(coordinates: str, expected: str, directory: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise ConnectorUnavailable("mvn (Apache Maven) is not installed, so its jars cannot be fetched")
    with tempfile.TemporaryDirectory(dir=directory) as fresh:
        command = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={coordinates}"]
        try:
            subprocess.run(
                [*command, f"-DoutputDirectory={fresh}"], check=True, capture_output=True, timeout=300
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise ConnectorUnavailable(
                f"fetching {coordinates} from Maven Central failed: {error}"
            ) from error
        jar = Path(fresh, _file_of(coordinates))
        found = hashlib.sha256(jar.read_bytes()).hexdigest()
        if found != expected:
            raise ConnectorUnavailable(f"{jar.name} has the SHA-256 {found}, expected {expected}")
        jar.rename(directory / jar.name)
