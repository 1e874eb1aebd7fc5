"""A cluster of the previous commit becomes one of this commit, broker by broker, under load.

What brokers keep in the metadata store and on disk, and what they send to each other, must be understood by
both. The sources of the previous commit come from git. They get another version number, so that a
registration shows which of them a broker runs.
"""

import io
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.replicated_topic import (
    ALL,
    PARTITIONS,
    TOPIC,
    Load,
    assert_logs_are_equal,
    assert_no_traceback,
    read_all,
    wait_for_isr,
)

from barnabas import __version__
from barnabas.metadata import nodes, paths
from barnabas.metadata.sqlite_store import SqliteStore
from barnabas.testing import Cluster

pytestmark = pytest.mark.needs("confluent_kafka", "git")

_ROOT = Path(__file__).resolve().parents[2]
_OLD_VERSION = "0.0.1"


@pytest.fixture
def old_sources(tmp_path: Path) -> Path:
    git = ["git", "-C", str(_ROOT)]
    if subprocess.run([*git, "rev-parse", "--verify", "HEAD~1"], check=False, capture_output=True).returncode:
        pytest.skip("git-history is missing; to get it: git fetch --unshallow")
    archive = subprocess.run([*git, "archive", "HEAD~1", "src"], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(tmp_path / "old", filter="data")
    init = tmp_path / "old" / "src" / "barnabas" / "__init__.py"
    text = init.read_text()
    changed = re.sub(r'__version__ = ".*"', f'__version__ = "{_OLD_VERSION}"', text)
    assert changed != text
    init.write_text(changed)
    return init.parents[1]


@pytest.fixture
def cluster(tmp_path: Path, old_sources: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with monkeypatch.context() as environment:
        inherited = os.environ.get("PYTHONPATH")
        environment.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(old_sources), inherited))))
        config = {"min.insync.replicas": 2, "offsets.topic.num.partitions": 3}
        cluster = Cluster(config=config, directory=tmp_path / "cluster")
        try:
            cluster.start()
        except BaseException:
            cluster.close()
            raise
    with cluster:
        yield cluster


def _versions(cluster: Cluster) -> list[str]:
    """Which version each broker runs, by its registration."""
    store = SqliteStore(cluster.directory / "store" / "metadata.db")
    try:
        registrations = (store.get(paths.registration(number))[0] for number in sorted(ALL))
        return [nodes.decode_registration(each).software for each in registrations]
    finally:
        store.close()


def test_brokers_of_the_previous_commit_are_replaced_one_by_one(cluster: Cluster) -> None:
    assert _versions(cluster) == [_OLD_VERSION] * 3
    cluster.create_topic(TOPIC, PARTITIONS)
    wait_for_isr(cluster, ALL)
    load = Load(cluster.bootstrap_servers)
    try:
        load.wait_for_more()
        for number in sorted(ALL):
            cluster.restart(number)
            wait_for_isr(cluster, ALL)
            load.wait_for_more()
    finally:
        load.stop()
    assert _versions(cluster) == [__version__] * 3
    assert load.errors == []
    values = read_all(cluster.bootstrap_servers, len(load.acknowledged))
    assert sorted(values) == sorted(load.acknowledged)
    assert_logs_are_equal(cluster)
    assert_no_traceback(cluster)
