"""Apache Kafka's jars for the tests, fetched by Maven: the Java client, Connect, what the dump tool needs.

Kept in `$BARNABAS_TEST_CACHE`, else `~/.cache/barnabas-tests`; each is checked against its known hash.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.file_lock import file_lock
from tests.integration.clients.connect_jars import CONNECT_JARS
from tests.patience import PROGRAM_PATIENCE

VERSION = "4.3.1"
_SOURCES = sorted((Path(__file__).parent / "java").glob("*.java"))
_JARS = {
    f"org.apache.kafka:kafka-clients:{VERSION}": (
        "52501b7b47510c66f898871adaf6d2968ab7246561d44ced43643a8a587f0b36"
    ),
    # Without rocksdbjni, 70 MB: the stores of the tests are in memory.
    f"org.apache.kafka:kafka-streams:{VERSION}": (
        "bd73f3805e116f711e8456ee89a8a5b43ff5dcf5a5bb865afae29deae89e7c4b"
    ),
    f"org.apache.kafka:kafka-server-common:{VERSION}": (
        "d7c719f749579a399011f0df7414de8a78f10f074a6122caa550fdb141351575"
    ),
    f"org.apache.kafka:kafka-storage:{VERSION}": (
        "97e3facddd2914a58f28ec91ef35f8da69963eab3651196e97f487924f6dac98"
    ),
    f"org.apache.kafka:kafka-tools:{VERSION}": (
        "62f3c5dd7aa3442d4c5bc6a95f86e2502178ea09de8e27f74d9563bf955e253c"
    ),
    f"org.apache.kafka:kafka-tools-api:{VERSION}": (
        "dcf6785742e0c8ab11a0fc09c62f1192e11e997dc629669a8db82aa40d933c31"
    ),
    f"org.apache.kafka:kafka-group-coordinator:{VERSION}": (
        "4ab56d002e1624185c874199e9e0ffb243dbeb9f68b4d0cadf48ce2f617a1126"
    ),
    f"org.apache.kafka:kafka-coordinator-common:{VERSION}": (
        "66a86b8c89718216ffa72fe4e44b9d1bdf3472e4cb9200c36a0742a25febbdba"
    ),
    "com.fasterxml.jackson.core:jackson-core:2.21.2": (
        "12e8655b100267b44d0f14d01b1f5082a5105e616174dc4307be1a761e92407b"
    ),
    "com.fasterxml.jackson.core:jackson-databind:2.21.2": (
        "8c982f01f148d805f0aaac2339011244757e0df7c6ff8951f2fa3f433b8ed849"
    ),
    "com.fasterxml.jackson.core:jackson-annotations:2.21": (
        "53ca085f4a150f703f49e1aabd935bd03b43e1ea3d55d135438292af22cef56b"
    ),
    "at.yawk.lz4:lz4-java:1.10.2": "252dabd586d22149a31661a8afc1a50747714eb1a298bd4a6e780c8c91a13866",
    "com.github.luben:zstd-jni:1.5.6-10": "b6c3237e24b8252a5a9c3a0e1ae30ef8f323412e74bd358548b7a9e527d676df",
    "net.sf.jopt-simple:jopt-simple:5.0.4": (
        "df26cc58f235f477db07f753ba5a3ab243ebe5789d9f89ecf68dd62ea9a66c28"
    ),
    "org.slf4j:slf4j-api:1.7.36": "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
    "org.xerial.snappy:snappy-java:1.1.10.7": (
        "4c766cb3f855415ee734b2392949a0b6f12a60879334a74518deaf6270d32e36"
    ),
}
# A short life on a machine with few cores: no second compiler, no parallel collector.
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx256M")


class JarsUnavailable(Exception):
    """Maven could not bring the jars; the message is its own."""


def fetch_jars() -> Path:
    """The directory with the jars, fetched when they are not there yet; raises JarsUnavailable."""
    cache = Path(os.environ.get("BARNABAS_TEST_CACHE", Path.home() / ".cache" / "barnabas-tests"))
    directory = cache / f"apache-kafka-{VERSION}"
    with file_lock(cache / "fetching"):
        for where, jars in ((directory, _JARS), (_of_connect(directory), CONNECT_JARS)):
            if not all((where / _file_of(name)).exists() for name in jars):
                _fetch(where, jars)
    return directory


def _of_connect(directory: Path) -> Path:
    """Apart: the JVMs of all other tests need not look through an HTTP server."""
    return directory / "connect"


def _fetch(directory: Path, jars: Mapping[str, str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as fresh:
        _copy_by_maven(Path(fresh), jars)
        for name, expected in jars.items():
            jar = Path(fresh, _file_of(name))
            found = hashlib.sha256(jar.read_bytes()).hexdigest()
            if found != expected:
                raise ValueError(f"{jar.name} has the SHA-256 {found}, expected {expected}")
            jar.rename(directory / jar.name)


def _file_of(coordinates: str) -> str:
    _, artifact, version = coordinates.split(":")
    return f"{artifact}-{version}.jar"


def _copy_by_maven(target: Path, jars: Iterable[str]) -> None:
    pom = target / "pom.xml"
    pom.write_text(_pom(jars))
    options = [f"-DoutputDirectory={target}", "-DexcludeTransitive=true"]
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", *options]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stdout.splitlines() if line.startswith("[ERROR]")] or ["mvn failed"]
        raise JarsUnavailable(lines[0]) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JarsUnavailable(str(error)) from error


def _pom(jars: Iterable[str]) -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
        for group, artifact, version in (name.split(":") for name in jars)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>barnabas</groupId><artifactId>test-jars</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>"
    )


def compile_driver(jars: Path, classes: Path) -> None:
    command = ["javac", "--release", "17", "-d", str(classes), "-cp", f"{jars}/*", *map(str, _SOURCES)]
    subprocess.run(command, check=True, timeout=PROGRAM_PATIENCE)


def java_command(jars: Path, *more: Path) -> list[str]:
    """Everything up to the name of the main class."""
    return ["java", *_JVM, "-cp", ":".join([f"{jars}/*", *map(str, more)])]


def connect_command(jars: Path) -> list[str]:
    """The same for the programs of Kafka Connect."""
    return java_command(jars, _of_connect(jars) / "*")
