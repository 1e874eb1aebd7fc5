"""Spark's own Kafka connector, to compare with: fetched by Maven, kept and checked like the other jars.

The connector of 4.2 loads on PySpark 4.3; the one of 4.3 is not to be had.
"""

import hashlib
import subprocess
import tempfile
from pathlib import Path

from benchmarks.file_lock import file_lock
from tests.integration.clients.jars import JarsUnavailable, fetch_jars

CONNECTOR_JARS = {
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0": (
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


def fetch_connector() -> list[Path]:
    """Raises JarsUnavailable."""
    directory = fetch_jars().parent / "spark-connector"
    directory.mkdir(exist_ok=True)
    found = [directory / _file_of(name) for name in CONNECTOR_JARS]
    with file_lock(directory.parent / "fetching-spark-connector"):
        for name, expected in CONNECTOR_JARS.items():
            if not (directory / _file_of(name)).exists():
                _fetch(name, expected, directory)
    return found


def _file_of(coordinates: str) -> str:
    _, artifact, version = coordinates.split(":")
    return f"{artifact}-{version}.jar"


def _fetch(coordinates: str, expected: str, directory: Path) -> None:
    """One by one: not all that they depend on can be resolved, nor is it needed."""
    with tempfile.TemporaryDirectory(dir=directory.parent) as fresh:
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinates}"]
        try:
            subprocess.run(
                [*command, f"-DoutputDirectory={fresh}"], check=True, capture_output=True, timeout=300
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise JarsUnavailable(f"{coordinates}: {error}") from error
        jar = Path(fresh, _file_of(coordinates))
        found = hashlib.sha256(jar.read_bytes()).hexdigest()
        if found != expected:
            raise ValueError(f"{jar.name} has the SHA-256 {found}, expected {expected}")
        jar.rename(directory / jar.name)
