"""Apicurio Registry, a schema registry that speaks Confluent's protocol, from Maven Central.

The last release that runs on Java 17. 109 MB, kept beside the other jars; its schemas are in memory.
"""

import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.file_lock import file_lock
from benchmarks.processes import free_ports
from tests.integration.spark.queries import eventually
from tests.integration.spark.spark_programs import SHORT_LIFE, Program
from tests.patience import PROGRAM_PATIENCE

_VERSION = "3.0.9"
_ARTIFACT = f"io.apicurio:apicurio-registry-app:{_VERSION}:tar.gz:all"
_SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
_JAR = f"apicurio-registry-app-{_VERSION}-runner.jar"


class ApicurioUnavailable(Exception):
    """It cannot be had on this machine; the message says why."""


def fetch_apicurio(cache: Path) -> Path:
    """The directory it is unpacked in. Raises ApicurioUnavailable."""
    directory = cache / f"apicurio-{_VERSION}"
    with file_lock(cache / "fetching-apicurio"):
        if not (directory / _JAR).exists():
            with tempfile.TemporaryDirectory(dir=cache) as fresh:
                _unpack(_download(Path(fresh)), Path(fresh, "unpacked"))
                shutil.rmtree(directory, ignore_errors=True)
                Path(fresh, "unpacked").rename(directory)
    return directory


def _download(target: Path) -> Path:
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={target}"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=PROGRAM_PATIENCE)
    except (OSError, subprocess.SubprocessError) as error:
        raise ApicurioUnavailable(f"fetching {_ARTIFACT} from Maven Central failed: {error}") from error
    archive = target / f"apicurio-registry-app-{_VERSION}-all.tar.gz"
    with archive.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != _SHA256:
        raise ApicurioUnavailable(f"{archive.name} has the SHA-256 {found}, expected {_SHA256}")
    return archive


def _unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(target, filter="data")


class Apicurio:
    def __init__(self, url: str) -> None:
        self.url: str = url

    def register(
        self, subject: str, kind: str, text: str, references: list[dict[str, Any]] | None = None
    ) -> int:
        """The id of the schema."""
        body = {"schema": text, "schemaType": kind, "references": references or []}
        request = urllib.request.Request(
            f"{self.url}/subjects/{subject}/versions",
            json.dumps(body).encode(),
            {"Content-Type": "application/vnd.schemaregistry.v1+json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=PROGRAM_PATIENCE) as answer:
                return int(json.load(answer)["id"])
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{error}: {error.read().decode()}") from error


def _answers(url: str, started: Program) -> bool:
    assert started.process.poll() is None, started.tail()
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=PROGRAM_PATIENCE):
            return True
    except OSError:
        return False


@contextmanager
def running_apicurio(program: Path, directory: Path) -> Iterator[Apicurio]:
    (port,) = free_ports(1)
    command = ["java", *SHORT_LIFE.split(), "-Xmx400m", f"-Dquarkus.http.port={port}"]
    command += ["-Dquarkus.http.host=127.0.0.1", "-jar", str(program / _JAR)]
    started = Program(command, directory / "apicurio.log", {"JAVA_TOOL_OPTIONS": ""})
    try:
        url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        eventually(lambda: _answers(url, started), PROGRAM_PATIENCE)
        yield Apicurio(url)
    finally:
        started.kill()
