"""Apache Kafka's jars for the tests, from Maven Central: the Java client and what its dump tool needs.

Kept in `$BARNABAS_TEST_CACHE`, else `~/.cache/barnabas-tests`; each is checked against its known hash.
"""

import hashlib
import os
import subprocess
import urllib.request
from pathlib import Path

VERSION = "4.3.1"
_CENTRAL = "https://repo1.maven.org/maven2"
_SOURCE = Path(__file__).parent / "java" / "ClientDriver.java"
_JARS = {
    f"org/apache/kafka/kafka-clients/{VERSION}/kafka-clients-{VERSION}.jar": (
        "52501b7b47510c66f898871adaf6d2968ab7246561d44ced43643a8a587f0b36"
    ),
    f"org/apache/kafka/kafka-server-common/{VERSION}/kafka-server-common-{VERSION}.jar": (
        "d7c719f749579a399011f0df7414de8a78f10f074a6122caa550fdb141351575"
    ),
    f"org/apache/kafka/kafka-storage/{VERSION}/kafka-storage-{VERSION}.jar": (
        "97e3facddd2914a58f28ec91ef35f8da69963eab3651196e97f487924f6dac98"
    ),
    f"org/apache/kafka/kafka-tools/{VERSION}/kafka-tools-{VERSION}.jar": (
        "62f3c5dd7aa3442d4c5bc6a95f86e2502178ea09de8e27f74d9563bf955e253c"
    ),
    f"org/apache/kafka/kafka-tools-api/{VERSION}/kafka-tools-api-{VERSION}.jar": (
        "dcf6785742e0c8ab11a0fc09c62f1192e11e997dc629669a8db82aa40d933c31"
    ),
    "at/yawk/lz4/lz4-java/1.10.2/lz4-java-1.10.2.jar": (
        "252dabd586d22149a31661a8afc1a50747714eb1a298bd4a6e780c8c91a13866"
    ),
    "com/github/luben/zstd-jni/1.5.6-10/zstd-jni-1.5.6-10.jar": (
        "b6c3237e24b8252a5a9c3a0e1ae30ef8f323412e74bd358548b7a9e527d676df"
    ),
    "net/sf/jopt-simple/jopt-simple/5.0.4/jopt-simple-5.0.4.jar": (
        "df26cc58f235f477db07f753ba5a3ab243ebe5789d9f89ecf68dd62ea9a66c28"
    ),
    "org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar": (
        "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0"
    ),
    "org/xerial/snappy/snappy-java/1.1.10.7/snappy-java-1.1.10.7.jar": (
        "4c766cb3f855415ee734b2392949a0b6f12a60879334a74518deaf6270d32e36"
    ),
}
# A short life on a machine with few cores: no second compiler, no parallel collector.
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx256M")


def fetch_jars() -> Path:
    """The directory with the jars, downloaded when they are not there yet."""
    cache = Path(os.environ.get("BARNABAS_TEST_CACHE", Path.home() / ".cache" / "barnabas-tests"))
    directory = cache / f"apache-kafka-{VERSION}"
    directory.mkdir(parents=True, exist_ok=True)
    for path, expected in _JARS.items():
        jar = directory / Path(path).name
        if not jar.exists():
            _download(f"{_CENTRAL}/{path}", expected, jar)
    return directory


def compile_driver(jars: Path, classes: Path) -> None:
    command = ["javac", "--release", "17", "-d", str(classes), "-cp", f"{jars}/*", str(_SOURCE)]
    subprocess.run(command, check=True, timeout=120)


def java_command(jars: Path, *more: Path) -> list[str]:
    """Everything up to the name of the main class."""
    return ["java", *_JVM, "-cp", ":".join([f"{jars}/*", *map(str, more)])]


def _download(url: str, expected: str, target: Path) -> None:
    with urllib.request.urlopen(url, timeout=60) as response:
        content: bytes = response.read()
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ValueError(f"{url} has the SHA-256 {found}, expected {expected}")
    partial = target.with_suffix(f".{os.getpid()}")
    partial.write_bytes(content)
    partial.rename(target)
