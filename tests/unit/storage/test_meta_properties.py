from pathlib import Path
from uuid import UUID

import pytest
from tests.unit.storage.support import GOLDEN

from barnabas.base.filesystem import FileSystem
from barnabas.base.ids import decode_uuid, random_uuid
from barnabas.storage.meta_properties import (
    MalformedMetaProperties,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from barnabas.storage.partition_metadata import MalformedPartitionMetadata, read_topic_id, write_topic_id


def test_kafkas_file_is_understood() -> None:
    found = read_meta_properties(FileSystem(), GOLDEN / "log-dir")
    assert found == MetaProperties(1, "us-VxCvRSD-KPbWDYUjmXA", decode_uuid("ClK-d72PaRaOvzzD54oSGg"))


def test_the_zookeeper_years_wrote_a_broker_id(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("#\n#Fri\nversion=0\nbroker.id=3\n")
    assert read_meta_properties(FileSystem(), tmp_path) == MetaProperties(3, None, None)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    directory_id = random_uuid()
    write_meta_properties(
        FileSystem(), tmp_path, node_id=2, cluster_id="abc", directory_id=directory_id, now_ms=0
    )
    assert read_meta_properties(FileSystem(), tmp_path) == MetaProperties(2, "abc", directory_id)
    assert (tmp_path / "meta.properties").read_text().startswith("#\n#Thu Jan 01 00:00:00 UTC 1970\n")


def test_a_fresh_directory_has_none(tmp_path: Path) -> None:
    assert read_meta_properties(FileSystem(), tmp_path) is None


@pytest.mark.parametrize("text", ["version=2\n", "version=1\nnode.id=x\n", "version=1\ndirectory.id=?\n"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(MalformedMetaProperties):
        read_meta_properties(FileSystem(), tmp_path)


def test_partition_metadata_has_kafkas_bytes(tmp_path: Path) -> None:
    golden = GOLDEN / "log-dir" / "plain-0"
    topic_id = read_topic_id(FileSystem(), golden)
    assert isinstance(topic_id, UUID)
    write_topic_id(FileSystem(), tmp_path, topic_id)
    assert (tmp_path / "partition.metadata").read_bytes() == (golden / "partition.metadata").read_bytes()


@pytest.mark.parametrize("text", ["", "version: 0", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "x"])
def test_partition_metadata_without_an_id_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(MalformedPartitionMetadata):
        read_topic_id(FileSystem(), tmp_path)
